"""What an experiment asks of its allocations: where its roles may lie, and which volumes and ports
its workload says that it needs.
"""

from __future__ import annotations

from ...workloads.registry import MODULES, get_workload
from ..model.contract.values import Demand, Made
from ..model.contract.workload import (
    ListensOnPorts,
    MeasuresDevices,
    NamesPorts,
    SpeaksHttp,
    Workload,
    WritesVolumes,
)
from ..model.spec import Experiment, Role

NOTHING_MADE = Made()


def volumes_of(experiment: Experiment) -> tuple[Role, ...]:
    """The roles in which its workload writes to volumes (:class:`WritesVolumes`); the others get
    none made for them.
    """
    workload = get_workload(experiment.tool)
    return tuple(workload.VOLUMES) if isinstance(workload, WritesVolumes) else ()


def demand_of(experiment: Experiment, made: Made = NOTHING_MADE) -> Demand:
    """What the experiment asks for where its target has ``made`` objects: ports as the workload
    says.
    """
    workload = get_workload(experiment.tool)
    return Demand(
        path=experiment.path,
        placement=experiment.placement,
        image=experiment.image,
        storage=experiment.storage,
        volumes=volumes_of(experiment),
        ports=workload.ports(experiment.parameters) if isinstance(workload, ListensOnPorts) else 1,
        fixed_ports=tuple(workload.fixed_ports(experiment.parameters))
        if isinstance(workload, NamesPorts)
        else (),
        made=made,
    )


def speaks_http(tool: str) -> bool:
    """Whether the tool's load can be HTTP (:class:`SpeaksHttp`)."""
    return _speaks_http(get_workload(tool))


def http_tools() -> tuple[str, ...]:
    """The built-in tools that speak HTTP, sorted: imports all of them, for a message."""
    return tuple(name for name in sorted(MODULES) if _speaks_http(get_workload(name)))


def _speaks_http(workload: Workload) -> bool:
    return isinstance(workload, SpeaksHttp) and workload.HTTP


def measures_devices(tool: str) -> bool:
    """Whether the tool can measure a raw device (:class:`MeasuresDevices`)."""
    workload = get_workload(tool)
    return isinstance(workload, MeasuresDevices) and workload.DEVICES
