"""Where an experiment runs: its allocations on one or several sites, seen as one."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence

from ...lifecycle.outputs import references
from ...model.contract.runner import Allocation, Job, Sampler, SecretKeeper, Session
from ...model.contract.values import Command, Commands, Endpoint, Made, Node, Server, Surroundings
from ...model.contract.workload import Workload
from ...model.errors import BenchspecError, RunFailed
from ...model.results import Fact
from ...model.secrets import REFERENCE, Keeper, parse_reference, split_environment
from ...model.spec import Experiment, Role
from ...planning.allocation_request import demand_of
from .sites import on_site

REACHED_WITHIN_S = 10.0
"""How long a server that listens may take to be reached from a client's node."""


class Place:
    """The allocations of one experiment for one round. Roles on different sites are reached through
    their own allocation.

    Every method raises SiteLost when the connection to one of the sites is lost for good.
    """

    def __init__(
        self,
        experiment: Experiment,
        sessions: Mapping[str, Session],
        allocation_id: str,
        made: Callable[[str], Made] = lambda site: Made(),
    ) -> None:
        self.experiment = experiment
        self.allocation_id = allocation_id
        self.secrets: set[str] = set()
        self._allocations: dict[str, Allocation] = {}
        self._servers: list[Job] = []
        self._sessions = sessions
        self._site_of = {place.role: place.site for place in experiment.roles}
        try:
            for site in dict.fromkeys(self._site_of.values()):
                roles = [place for place in experiment.roles if place.site == site]
                with on_site(site):
                    self._allocations[site] = sessions[site].allocate(
                        roles, allocation_id, demand_of(experiment, made(site))
                    )
        except BaseException:
            self.abandon()
            raise

    def site_of(self, role: Role) -> str:
        """The site on which ``role`` is."""
        return self._site_of[role]

    def _of(self, role: Role) -> Allocation:
        return self._allocations[self._site_of[role]]

    def surroundings(self) -> Surroundings:
        """The endpoints and work directories of all roles."""
        parts = [allocation.surroundings() for allocation in self._allocations.values()]
        return Surroundings(
            endpoints={
                role: endpoint for part in parts for role, endpoint in part.endpoints.items()
            },
            workdirs={role: workdir for part in parts for role, workdir in part.workdirs.items()},
            devices={role: device for part in parts for role, device in part.devices.items()},
        )

    def nodes(self) -> dict[Role, Node]:
        """The node on which each role is now."""
        found: dict[Role, Node] = {}
        for site, allocation in self._allocations.items():
            with on_site(site):
                found |= allocation.nodes()
        return found

    def observe(self) -> dict[Role, Sequence[Fact]]:
        """What each role's node shows in this allocation alone."""
        peers, found = self.surroundings(), dict[Role, Sequence[Fact]]()
        for site, allocation in self._allocations.items():
            with on_site(site):
                found |= allocation.observe(peers)
        return found

    def prepare(self, workload: Workload) -> Commands:
        """Place the files, start the servers, see that every client's node reaches them; return the
        commands with their secrets resolved.

        Raises:
            BenchspecError: a server does not come up or is not reached, a file cannot be placed, a
                secret is missing.
        """
        commands = workload.commands(self.experiment, self.surroundings())
        _refuse_secrets(commands)
        for file in commands.files:
            with on_site(self.site_of(file.role)):
                self._of(file.role).put(file.role, file.name, file.data)
        for number, server in enumerate(commands.servers):
            self._serve(server, f"{self.allocation_id}-server{number}")
        for role in dict.fromkeys(client.role for client in commands.clients):
            for server in commands.servers:
                with on_site(self.site_of(role)):
                    self._of(role).reach(role, server.endpoint, REACHED_WITHIN_S)
        return dataclasses.replace(
            commands, clients=tuple(map(self._with_secrets, commands.clients))
        )

    def _serve(self, server: Server, job_id: str) -> None:
        ready = dataclasses.replace(server, command=self._with_secrets(server.command))
        with on_site(self.site_of(server.command.role)):
            self._servers.append(self._of(server.command.role).serve(ready, job_id))

    def _with_secrets(self, command: Command) -> Command:
        plain, secret = _split(command, self.site_of(command.role), self._sessions)
        self.secrets.update(secret.values())
        return (
            dataclasses.replace(command, env=plain, secrets={**command.secrets, **secret})
            if secret
            else command
        )

    def start(self, command: Command, job_id: str, not_before: float | None) -> Job:
        """Start one client where its role is; it begins at ``not_before`` (Unix s) if that is
        given.
        """
        with on_site(self.site_of(command.role)):
            return self._of(command.role).start(command, job_id, not_before=not_before)

    def sample(self, interval_s: float) -> dict[Role, Sampler]:
        """Start a monitor for every role."""
        samplers: dict[Role, Sampler] = {}
        for role, site in self._site_of.items():
            with on_site(site):
                samplers[role] = self._of(role).sample(role, interval_s)
        return samplers

    def release(self) -> None:
        """Release every allocation, even when one of them cannot be released; the first error is
        raised afterwards.
        """
        errors: list[BenchspecError] = []
        for site, allocation in self._allocations.items():
            try:
                with on_site(site):
                    allocation.release()
            except BenchspecError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def stop_servers(self) -> None:
        """End what would go on without a controller, and keep all files."""
        for server in self._servers:
            with contextlib.suppress(BenchspecError):
                server.cancel()

    def abandon(self, lost: str | None = None) -> None:
        """Release while another error is on its way, but not on the site that is ``lost``;
        `benchspec clean` finds what cannot be removed now.
        """
        self._allocations.pop(lost or "", None)
        with contextlib.suppress(BenchspecError):
            self.release()


def keeper_of(session: Session | None) -> Keeper | None:
    """Who reads the secrets that the session's site keeps; None where it keeps none."""
    return session.read_secret if isinstance(session, SecretKeeper) else None


def secrets_of(
    experiment: Experiment, workload: Workload, sessions: Mapping[str, Session]
) -> frozenset[str]:
    """The secrets that the programs of a trial get, clients and servers, each read from the site of
    its own role, as :meth:`Place.prepare` does.

    No allocation is needed: which program gets which secret does not depend on addresses and
    directories, for which stand-ins do.

    Raises:
        RunFailed: one of them is not there any more, or its site is not.
        SiteLost: the connection to its site is lost.
    """
    if not references(experiment.parameters, "secret"):
        return frozenset()
    site_of = {place.role: place.site for place in experiment.roles}
    stand_ins = Surroundings(
        endpoints={role: Endpoint(host=role.value, port=1) for role in site_of},
        workdirs=dict.fromkeys(site_of, "."),
    )
    commands = workload.commands(experiment, stand_ins)
    programs = (*commands.clients, *(server.command for server in commands.servers))
    return frozenset(
        value for one in programs for value in _split(one, site_of[one.role], sessions)[1].values()
    )


def _split(
    command: Command, site: str, sessions: Mapping[str, Session]
) -> tuple[dict[str, str], dict[str, str]]:
    """The plain and the secret part of a command's environment, whose role is on ``site``."""
    session = sessions.get(site)
    if session is None and any(map(parse_reference, command.env.values())):
        raise RunFailed("is gone, and a secret with it", where=f"site {site}")
    with on_site(site):
        return split_environment(command.env, keeper_of(session))


def _refuse_secrets(commands: Commands) -> None:
    """A reference is replaced in the environment only; elsewhere its bare text would be what is
    measured with.
    """
    told = [
        argument
        for command in (*commands.clients, *(s.command for s in commands.servers))
        for argument in command.argv
    ]
    for text in (*told, *(file.data.decode("utf-8", "replace") for file in commands.files)):
        if (found := REFERENCE.search(text)) is not None:
            raise RunFailed(
                f"found {found[0]} in an argument or a file, where a secret would be seen",
                remedy="let the program read it from `env`",
            )
