"""What the local runner would place and execute for one trial, as files people can read and shells
can run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...engine.model.contract.values import Command, Commands, Endpoint, RenderedFile, Surroundings
from ...engine.model.spec import Experiment, Role, RolePlace, Site
from ...engine.planning.shell_script import to_script
from .ports import LOOPBACK

_FIRST_PORT = 20000


def placeholders(experiment: Experiment, site: Site) -> Surroundings:
    """Stand-in ports and work directories; the real ones differ in every allocation."""
    workdir = site.options.get("workdir")
    top = f"{workdir if isinstance(workdir, str) else '/var/tmp'}/benchspec-RUN"
    roles = [place.role for place in experiment.roles]
    return Surroundings(
        endpoints={
            role: Endpoint(host=LOOPBACK, port=_FIRST_PORT + index)
            for index, role in enumerate(roles)
        },
        workdirs={role: f"{top}/{role}" for role in roles},
    )


def render(experiment: Experiment, site: Site, commands: Commands) -> list[RenderedFile]:
    """One file per placed file, server and client, in the order in which they are used."""
    workdirs, cpus = placeholders(experiment, site).workdirs, _cpus(experiment.roles)
    files = [
        RenderedFile(name=f"files/{placed.role}/{placed.name}", data=placed.data)
        for placed in commands.files
    ]
    for index, server in enumerate(commands.servers, 1):
        ready = (
            f"ready when {server.endpoint.host} port {server.endpoint.port} listens, within"
            f" {server.ready_timeout_s:g} s"
        )
        files.append(
            _script(
                f"server-{index}-{server.command.role}.sh", server.command, workdirs, cpus, ready
            )
        )
    for index, client in enumerate(commands.clients, 1):
        files.append(
            _script(
                f"client-{index}-{client.role}.sh",
                client,
                workdirs,
                cpus,
                f"killed after {client.timeout_s:g} s",
            )
        )
    return files


def _cpus(places: Sequence[RolePlace]) -> Mapping[Role, tuple[int, ...]]:
    return {place.role: place.cpus for place in places}


def _script(
    name: str,
    command: Command,
    workdirs: Mapping[Role, str],
    cpus: Mapping[Role, tuple[int, ...]],
    remark: str,
) -> RenderedFile:
    chosen = command.cpus or cpus.get(command.role, ())
    pinned = ("taskset", "--cpu-list", ",".join(map(str, chosen))) if chosen else ()
    return to_script(
        name, command, f"role {command.role}; {remark}", workdirs.get(command.role), pinned=pinned
    )
