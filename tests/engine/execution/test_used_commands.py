"""Commands for the journal: what an allocation chose is replaced, what the spec names is not."""

from __future__ import annotations

from dataclasses import replace

from benchspec.engine.execution.used_commands import describe_commands
from benchspec.engine.model.contract.values import (
    Command,
    Commands,
    Endpoint,
    PlacedFile,
    Server,
    Surroundings,
)
from benchspec.engine.model.results import UsedCommands
from benchspec.engine.model.spec import Experiment, Role, RolePlace

EXPERIMENT = Experiment(
    id="0" * 64,
    target="t",
    workload="w",
    title="W",
    point=(),
    tool="iperf3",
    parameters={"duration": "1 s"},
    roles=(RolePlace(role=Role.CLIENT, site="t"), RolePlace(role=Role.SERVER, site="t")),
)


def told(top: str, host: str, port: int, **parameters: str) -> UsedCommands:
    """The commands as an allocation below ``top`` would have them."""
    endpoint = Endpoint(host=host, port=port)
    surroundings = Surroundings(
        endpoints={Role.SERVER: endpoint},
        workdirs={Role.CLIENT: f"{top}/c", Role.SERVER: f"{top}/c/server"},
        devices={Role.CLIENT: "/dev/xvdz"},
    )
    client = Command(
        argv=("tool", f"--to={host}:{port}", f"{top}/c/job", "/dev/xvdz", f"{port}1", f"{host}9"),
        role=Role.CLIENT,
        timeout_s=1.0,
        env={"PEER": f"{top}/c/server/socket"},
        secrets={"TOKEN": "canary-4711"},
        cpus=(1,),
    )
    server = Command(argv=("served", "-p", str(port)), role=Role.SERVER, timeout_s=1.0)
    file = PlacedFile(role=Role.CLIENT, name="job", data=f"[job]\nhost={host}\n".encode())
    return describe_commands(
        replace(EXPERIMENT, parameters={**EXPERIMENT.parameters, **parameters}),
        Commands(
            clients=(client,), servers=(Server(command=server, endpoint=endpoint),), files=(file,)
        ),
        surroundings,
    )


def test_two_allocations_of_one_experiment_are_told_alike() -> None:
    used = told("/tmp/a1", "10.0.0.1", 4000)
    assert used.clients[0].argv[:4] == (
        "tool",
        "--to=${host:server}:${port:server}",
        "${workdir}/job",
        "${device:client}",
    )
    assert used.clients[0].argv[4:] == ("40001", "10.0.0.19"), "parts of longer numbers stay"
    assert used.clients[0].env == {"PEER": "${workdir:server}/socket"}
    assert used.servers[0].argv == ("served", "-p", "${port:server}")
    assert used.files == told("/var/tmp/b", "10.0.0.2", 5000).files
    assert used.servers == told("/var/tmp/b", "10.0.0.2", 5000).servers


def test_a_secret_is_a_name_and_cpus_are_told() -> None:
    used = told("/tmp/a1", "10.0.0.1", 4000)
    assert used.clients[0].secrets == ("TOKEN",)
    assert used.clients[0].cpus == (1,)
    assert "canary-4711" not in str(used)


def test_what_the_spec_names_itself_stays() -> None:
    used = told("/tmp/a1", "10.0.0.1", 4000, url="http://10.0.0.1:4000/")
    assert used.clients[0].argv[1] == "--to=10.0.0.1:4000"


def test_a_file_that_is_no_text_has_the_sum_of_its_bytes() -> None:
    commands = Commands(
        clients=(), files=(PlacedFile(role=Role.CLIENT, name="b", data=b"\xff\x00"),)
    )
    used = describe_commands(EXPERIMENT, commands, Surroundings(endpoints={}, workdirs={}))
    assert used.files[0].sha256.startswith("ea5dbf9596d187e9")
