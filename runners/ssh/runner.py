"""The SSH runner's front: pure questions about a plan, and the way to sessions on hosts that are
there already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from ...engine.model.contract.values import Commands, Leftover, Problem, RenderedFile, Surroundings
from ...engine.model.errors import UsageError
from ...engine.model.results import Finding
from ...engine.model.spec import Experiment, Placement, Role, Site, Step, TrafficPath
from ...engine.planning.cluster_steps import problems_without_cluster
from . import render
from .hosts import crew as hosts
from .hosts import leftovers
from .options import SiteOptions, site_options
from .session import SshSession, connect

_PATHS = frozenset({None, TrafficPath.LOOPBACK, TrafficPath.HOST_TO_HOST})


class Doctor(Protocol):
    """The part that looks at hosts before a run."""

    def check(self, site: Site) -> Sequence[Finding]:
        """What would make a run fail there, cannot be done, or adds noise."""
        ...


class SshRunner:
    """Runs roles on hosts reached over SSH; they need nothing but a POSIX sh and the usual
    programs.
    """

    KIND = "ssh"

    def unsupported(self, experiment: Experiment, site: Site) -> Sequence[Problem]:
        """Why this experiment cannot run here: paths through pods, roles without a host, roles that
        lie otherwise than wanted.
        """
        options = site_options(site)
        roles = [place.role for place in experiment.roles if place.site == site.name]
        return [
            *_path_problems(experiment),
            *_site_problems(options),
            *_role_problems(options, roles),
            *_placement_problems(experiment, options, roles),
        ]

    def unsupported_step(self, step: Step, site: Site) -> Sequence[Problem]:
        """Why this lifecycle step cannot be carried out here: Kubernetes objects, and roles without
        a host.
        """
        return problems_without_cluster(step) or list(_site_problems(site_options(site)))

    def step_hosts(self, site: Site) -> Mapping[Role, str]:
        """The hosts by role."""
        return {
            role: hosts.host_name(host)
            for role, host in hosts.hosts_of_roles(site_options(site)).items()
        }

    def parts(self, site: Site) -> Sequence[Site]:
        """One site per host."""
        return hosts.parts(site)

    def keep_host_keys(self, kept: Path | None, *, accept_new: bool) -> None:
        """Let the host keys in ``kept`` bind, and take new ones on faith only if the user said
        so.
        """
        hosts.POOL.trust.keep(kept, accept_new=accept_new)

    def check(self, site: Site) -> Sequence[Finding]:
        """Doctor: reachability, keys, rights, disk, clocks, of every host."""
        return cast(Doctor, import_module(".doctor", __package__)).check(site)

    def render(
        self, experiment: Experiment, site: Site, commands: Commands
    ) -> Sequence[RenderedFile]:
        """The files that would be placed and the commands that would be executed, shell-quoted."""
        return render.render(experiment, site, commands)

    def placeholders(self, experiment: Experiment, site: Site) -> Surroundings:
        """Stand-in endpoints and directories for rendering."""
        return render.placeholders(experiment, site)

    def connect(self, site: Site, run_id: str) -> SshSession:
        """Connect to all hosts at once and take them for this run alone. Raises TransportLost,
        Locked.
        """
        return connect(site, run_id)

    def leftovers(self, site: Site, run_id: str) -> Sequence[Leftover]:
        """The processes, directories and locks of that run that still exist on the hosts."""
        return leftovers.find(site, run_id)

    def remove(self, site: Site, leftover: Leftover) -> None:
        """Remove one leftover; never anything benchspec did not create."""
        leftovers.remove(site, leftover)


def _path_problems(experiment: Experiment) -> Iterator[Problem]:
    if experiment.path not in _PATHS:
        yield Problem(
            message=(
                f"found path {experiment.path}, expected host-to-host or loopback: these hosts have"
                " neither pods nor services"
            ),
            remedy="correct `path`, or put the target on a runner of kind kubernetes",
        )


def _site_problems(options: SiteOptions) -> Iterator[Problem]:
    for name, host in options.hosts.items():
        if host.shell != "posix":
            yield Problem(
                message=(
                    f"host {name}: found shell {host.shell}, expected posix: this version runs"
                    " nothing on Windows hosts"
                ),
                remedy=(
                    "use a host with a POSIX shell; `plan --render` shows what would be run on"
                    " Windows"
                ),
            )
        try:
            hosts.workdir(options, host)
        except UsageError as error:
            yield Problem(message=str(error), remedy="write it from the root on, such as /mnt/data")


def _role_problems(options: SiteOptions, roles: Sequence[Role]) -> Iterator[Problem]:
    known = hosts.hosts_of_roles(options)
    for role in roles:
        if role not in known:
            names = ", ".join(options.hosts)
            yield Problem(
                message=f"site {options.name}: role {role} has no host; there are {names}",
                remedy=f"add `{role}:` to `hosts`; two roles may name the same host",
            )


def _placement_problems(
    experiment: Experiment, options: SiteOptions, roles: Sequence[Role]
) -> Iterator[Problem]:
    """What the names of the hosts tell already; that two names are one machine shows only when they
    are asked (their machine-id).
    """
    known = hosts.hosts_of_roles(options)
    names = {hosts.host_name(known[role]) for role in roles if role in known}
    elsewhere = any(place.site != options.name for place in experiment.roles)
    if len(roles) < 2:
        return
    if experiment.placement is Placement.ACROSS_NODES and len(names) == 1 and not elsewhere:
        yield Problem(
            message=f"found placement across-nodes, but all roles are on {names.pop()}",
            remedy="name different hosts for the roles",
        )
    elif (
        experiment.placement is Placement.SAME_NODE or experiment.path is TrafficPath.LOOPBACK
    ) and len(names) > 1:
        wanted = (
            "placement same-node"
            if experiment.placement is Placement.SAME_NODE
            else "path loopback"
        )
        yield Problem(
            message=f"found {wanted}, but the roles are on {', '.join(sorted(names))}",
            remedy="name one host for all roles",
        )
