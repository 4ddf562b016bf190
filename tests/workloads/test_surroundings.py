"""What every workload asks of its surroundings: nothing assumes one host, one file system or
IPv4.
"""

from collections.abc import Mapping

import pytest

from benchspec.engine.model.contract.values import Commands, Endpoint, Surroundings
from benchspec.engine.model.spec import Json, Role
from benchspec.workloads.registry import get_workload
from tests.workloads.planned import experiment
from tests.workloads.tools import TOOLS, examples_of, tools_with_schema

MORE: Mapping[str, list[dict[str, Json]]] = {
    "command": [{"run": ["true"], "files": {"a.txt": "x"}}],
    "fortio": [{}, {"server": "nginx"}],
    "iperf3": [{}, {"protocol": "udp", "family": "ipv6"}],
    "netperf": [{"streams": 3}, {"test": "UDP_RR", "family": "ipv6"}],
    "vault-benchmark": [
        {"address": "http://vault.example:8200", "tests": [{"type": "transit_sign", "weight": 100}]}
    ],
    "sockperf": [{}, {"mode": "throughput", "protocol": "tcp"}],
}
"""Parameters to plan with besides the examples of the schemas."""
CASES = [
    (tool, parameters)
    for tool in TOOLS
    if tool in tools_with_schema()
    for parameters in (*examples_of(tool), *MORE.get(tool, ()))
]
HOSTS = {
    Role.SERVER: "2001:db8::53",
    Role.CLIENT: "2001:db8::1",
    Role.LOAD_GENERATOR: "2001:db8::2",
}


def planned(tool: str, parameters: dict[str, Json]) -> Commands:
    endpoints = {role: Endpoint(host=host, port=20000) for role, host in HOSTS.items()}
    workdirs = {role: f"/private/of-{role}" for role in HOSTS}
    return get_workload(tool).commands(
        experiment(tool, parameters), Surroundings(endpoints=endpoints, workdirs=workdirs)
    )


@pytest.mark.parametrize(("tool", "parameters"), CASES)
def test_nothing_of_one_role_names_the_directory_of_another(
    tool: str, parameters: dict[str, Json]
) -> None:
    commands = planned(tool, parameters)
    for command in (*commands.clients, *(server.command for server in commands.servers)):
        others = [f"/private/of-{role}" for role in HOSTS if role is not command.role]
        assert not [word for word in command.argv for other in others if other in word]


@pytest.mark.parametrize(("tool", "parameters"), CASES)
def test_clients_connect_to_the_server_and_to_no_loopback(
    tool: str, parameters: dict[str, Json]
) -> None:
    commands = planned(tool, parameters)
    words = [word for command in commands.clients for word in command.argv]
    assert not [word for word in words if "127.0.0.1" in word or "localhost" in word]
    if commands.servers:
        assert all(
            any("2001:db8::53" in word for word in client.argv) for client in commands.clients
        )
        assert all(
            server.endpoint == Endpoint(host="2001:db8::53", port=20000)
            for server in commands.servers
        )


@pytest.mark.parametrize(("tool", "parameters"), CASES)
def test_every_program_is_a_tool_that_its_role_needs(
    tool: str, parameters: dict[str, Json]
) -> None:
    """A host is asked only for what runs on it, and for all that does; a shell is on every one."""
    commands, tools = planned(tool, parameters), get_workload(tool).tools(parameters)
    for command in (*commands.clients, *(server.command for server in commands.servers)):
        assert command.argv[0] == "sh" or [
            t
            for t in tools
            if t.executable == command.argv[0] and (not t.roles or command.role in t.roles)
        ]
    used = {
        command.role
        for command in (*commands.clients, *(server.command for server in commands.servers))
    }
    assert all(set(t.roles) <= used for t in tools)


@pytest.mark.parametrize(("tool", "parameters"), CASES)
def test_roles_of_commands_are_roles_of_the_workload(
    tool: str, parameters: dict[str, Json]
) -> None:
    commands = planned(tool, parameters)
    roles = set(get_workload(tool).ROLES)
    assert {file.role for file in commands.files} | {
        client.role for client in commands.clients
    } <= roles
