"""netperf between pods: its data connections have ports of their own, which a Service must let
through as it does the control port.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchspec.engine.model.contract.runner import Session
from benchspec.engine.model.spec import Experiment, Json, Placement, Role, RolePlace, TrafficPath
from benchspec.engine.planning.allocation_request import demand_of
from benchspec.workloads.netperf import workload as netperf
from tests.runners.kubernetes.conftest import BOTH, allocate

Connect = Callable[..., Session]


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        (TrafficPath.POD_TO_POD, {"test": "TCP_RR"}),
        (TrafficPath.POD_TO_SERVICE, {"test": "TCP_STREAM", "streams": 2}),
        (TrafficPath.POD_TO_SERVICE, {"test": "TCP_RR", "data_port": 12866}),
    ],
)
def test_netperf_measures_between_pods(
    connect: Connect, path: TrafficPath, parameters: dict[str, Json]
) -> None:
    known: dict[str, Json] = {"duration": "1 s", "cpu": False, **parameters}
    roles = tuple(RolePlace(role=role, site="here") for role in BOTH)
    experiment = Experiment(
        id="e",
        title="t",
        workload="w",
        tool="netperf",
        target="t",
        point=(),
        parameters=known,
        roles=roles,
        path=path,
        placement=Placement.ACROSS_NODES,
    )
    allocation = allocate(connect(), *BOTH, demand=demand_of(experiment))
    commands = netperf.commands(experiment, allocation.surroundings())
    allocation.serve(commands.servers[0], "server")
    allocation.reach(Role.CLIENT, commands.servers[0].endpoint, 60)
    jobs = [
        allocation.start(command, f"client{number}")
        for number, command in enumerate(commands.clients)
    ]
    for job in jobs:
        job.wait(90)
    found = {m.series: m.value for m in netperf.parse([job.collect() for job in jobs], known)}
    assert found[netperf.primary(known)] > 0
    allocation.release()
