"""The workloads there are, by the tool name of a spec. Nothing is imported before it is asked for;
plug-ins only for names not listed here.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module

from ..engine.model.contract.workload import Workload
from ..engine.model.errors import SpecError
from ..engine.model.results import Metric
from ..engine.model.spec import Experiment

ENTRY_POINTS = "benchspec.workloads"
"""The entry-point group in which other distributions offer workloads: ``tool-name = module`` or
``module:object``.
"""

MODULES: Mapping[str, str] = {
    "command": "command",
    "diskspd": "diskspd",
    "fio": "fio",
    "fortio": "fortio",
    "iperf3": "iperf3",
    "k6": "k6",
    "netperf": "netperf",
    "openssl-speed": "openssl_speed",
    "pgbench": "pgbench",
    "redis-benchmark": "redis_benchmark",
    "sockperf": "sockperf",
    "stress-ng": "stress_ng",
    "sysbench": "sysbench",
    "vault-benchmark": "vault_benchmark",
    "wrk": "wrk",
}
"""Tool name to the folder of this package whose module ``workload`` it is."""


def get_workload(name: str) -> Workload:
    """The workload of the tool ``name``.

    Raises:
        SpecError: nobody offers it, or what is offered does not satisfy the protocol.
    """
    module = MODULES.get(name)
    found = (
        import_module(f".{module}.workload", __package__)
        if module is not None
        else _plugged_in(name)
    )
    if not isinstance(found, Workload):
        raise SpecError(
            f"the plug-in for the tool {name!r} is no workload: it lacks"
            f" {', '.join(_missing(found))}"
        )
    return found


def _plugged_in(name: str) -> object:
    from importlib.metadata import entry_points  # 20 ms that only plug-ins pay

    for entry in entry_points(group=ENTRY_POINTS, name=name):
        try:
            loaded: object = entry.load()
        except Exception as error:  # a stranger's module may raise anything when it is imported
            raise SpecError(
                f"the plug-in {entry.value} for the tool {name!r} cannot be imported:"
                f" {type(error).__name__}: {error}"
            ) from error
        return loaded
    known = tool_names()
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise SpecError(f"found unknown tool {name!r}, expected one of {', '.join(known)}{hint}")


def _missing(found: object) -> list[str]:
    expected = (
        *Workload.__annotations__,
        "metrics",
        "tools",
        "primary",
        "duration_s",
        "commands",
        "parse",
    )
    return [member for member in expected if not hasattr(found, member)]


def tool_names() -> tuple[str, ...]:
    """Every tool name, plug-ins included, sorted."""
    from importlib.metadata import entry_points

    return tuple(sorted({*MODULES, *(entry.name for entry in entry_points(group=ENTRY_POINTS))}))


class _Workloads(Mapping[str, Workload]):
    """Imports a module when its name is looked up; unknown names raise KeyError."""

    def __getitem__(self, name: str) -> Workload:
        if name not in MODULES and name not in tool_names():
            raise KeyError(name)
        return get_workload(name)

    def __iter__(self) -> Iterator[str]:
        return iter(tool_names())

    def __len__(self) -> int:
        return len(tool_names())


WORKLOADS: Mapping[str, Workload] = _Workloads()
"""Every workload by tool name, imported when it is looked up."""


def metrics_of(experiments: Iterable[Experiment]) -> Mapping[str, Sequence[Metric]]:
    """The metrics of each experiment's tool and parameters, by experiment id. Raises SpecError for
    an unknown tool.
    """
    return {
        experiment.id: get_workload(experiment.tool).metrics(experiment.parameters)
        for experiment in experiments
    }
