"""What the SSH runner would place and execute for one trial, host by host, as files people can read
and shells can run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...engine.model.contract.values import Command, Commands, Endpoint, RenderedFile, Surroundings
from ...engine.model.spec import Experiment, Role, RolePlace, Site, TrafficPath
from ...engine.planning.shell_script import to_script
from ..agent.start import cpu_list
from . import render_windows
from .hosts.allocation import FIRST_PORT, LOOPBACK
from .hosts.crew import host_name, hosts_of_roles, workdir
from .hosts.directories import STATE
from .options import HostOptions, SiteOptions, site_options

WINDOWS = "powershell"


def placeholders(experiment: Experiment, site: Site) -> Surroundings:
    """Stand-in ports and work directories on the hosts of the roles; the real ones differ in every
    allocation.
    """
    options = site_options(site)
    hosts = {
        role: host
        for role, host in hosts_of_roles(options).items()
        if any(place.role is role for place in experiment.roles)
    }
    own = experiment.path is TrafficPath.LOOPBACK
    return Surroundings(
        endpoints={
            role: Endpoint(
                host=LOOPBACK if own else host.address or host.host, port=FIRST_PORT + index
            )
            for index, (role, host) in enumerate(hosts.items())
        },
        workdirs={role: _workdir(options, host, role) for role, host in hosts.items()},
    )


def _workdir(options: SiteOptions, host: HostOptions, role: Role) -> str:
    if host.shell == WINDOWS:
        return render_windows.workdir(host.workdir or options.workdir or "", role)
    return f"{workdir(options, host) or STATE}/benchspec-RUN/{role}"


def render(experiment: Experiment, site: Site, commands: Commands) -> list[RenderedFile]:
    """One file per placed file, server and client of this site, in the order in which they are
    used.
    """
    hosts = hosts_of_roles(site_options(site))
    names = {role: host_name(host) for role, host in hosts.items()}
    windows = frozenset(role for role, host in hosts.items() if host.shell == WINDOWS)
    here = frozenset(place.role for place in experiment.roles if place.site == site.name)
    workdirs, cpus = placeholders(experiment, site).workdirs, _cpus(experiment.roles)
    files = [
        RenderedFile(name=f"files/{placed.role}/{placed.name}", data=placed.data)
        for placed in commands.files
        if placed.role in here
    ]
    for index, server in enumerate(commands.servers, 1):
        if (role := server.command.role) in here:
            ready = (
                f"ready when {server.endpoint.host} port {server.endpoint.port} listens, within"
                f" {server.ready_timeout_s:g} s"
            )
            files.append(
                _script(
                    f"server-{index}-{role}",
                    server.command,
                    names.get(role, "?"),
                    workdirs,
                    cpus,
                    ready,
                    role in windows,
                )
            )
    for index, client in enumerate(commands.clients, 1):
        if client.role in here:
            remark = f"killed after {client.timeout_s:g} s"
            known = names.get(client.role, "?")
            files.append(
                _script(
                    f"client-{index}-{client.role}",
                    client,
                    known,
                    workdirs,
                    cpus,
                    remark,
                    client.role in windows,
                )
            )
    return files


def _cpus(places: Sequence[RolePlace]) -> Mapping[Role, tuple[int, ...]]:
    return {place.role: place.cpus for place in places}


def _script(
    name: str,
    command: Command,
    host: str,
    workdirs: Mapping[Role, str],
    cpus: Mapping[Role, tuple[int, ...]],
    remark: str,
    windows: bool,
) -> RenderedFile:
    chosen = command.cpus or cpus.get(command.role, ())
    if windows:
        return render_windows.script(
            f"{name}.ps1", command, host, workdirs[command.role], chosen, remark
        )
    pinned = ("taskset", "-c", cpu_list(chosen)) if chosen else ()
    return to_script(
        f"{name}.sh",
        command,
        f"role {command.role} on host {host}; {remark}",
        workdirs.get(command.role),
        pinned=pinned,
    )
