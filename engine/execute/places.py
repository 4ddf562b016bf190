"""Where an experiment runs: its allocations on one or several sites, seen as one."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Mapping

from ...workloads.registry import get_workload
from ..errors import BenchspecError, RunFailed
from ..ports import Allocation, Command, Commands, Demand, Job, Sampler, Session, Surroundings, Workload
from ..secrets import REFERENCE, split_environment
from ..spec import Experiment, Role


class Place:
    """The allocations of one experiment for one round. Roles on different sites are reached through their own allocation."""

    def __init__(self, experiment: Experiment, sessions: Mapping[str, Session], allocation_id: str) -> None:
        self.experiment = experiment
        self.allocation_id = allocation_id
        self.secrets: set[str] = set()
        self._allocations: dict[str, Allocation] = {}
        self._servers: list[Job] = []
        try:
            for site in dict.fromkeys(place.site for place in experiment.roles):
                roles = [place for place in experiment.roles if place.site == site]
                self._allocations[site] = sessions[site].allocate(roles, allocation_id, _demand(experiment))
        except BaseException:
            self.release()
            raise

    def _of(self, role: Role) -> Allocation:
        site = next(place.site for place in self.experiment.roles if place.role is role)
        return self._allocations[site]

    def surroundings(self) -> Surroundings:
        """The endpoints and work directories of all roles."""
        parts = [allocation.surroundings() for allocation in self._allocations.values()]
        return Surroundings(
            endpoints={role: endpoint for part in parts for role, endpoint in part.endpoints.items()},
            workdirs={role: workdir for part in parts for role, workdir in part.workdirs.items()},
        )

    def prepare(self, workload: Workload) -> Commands:
        """Place the files, start the servers and wait for them; return the commands with their secrets resolved.

        Raises:
            BenchspecError: a server does not come up, a file cannot be placed, a secret is missing.
        """
        commands = workload.commands(self.experiment, self.surroundings())
        _refuse_secrets(commands)
        for file in commands.files:
            self._of(file.role).put(file.role, file.name, file.data)
        for number, server in enumerate(commands.servers):
            ready = dataclasses.replace(server, command=self._with_secrets(server.command))
            self._servers.append(self._of(server.command.role).serve(ready, f"{self.allocation_id}-server{number}"))
        time.sleep(max((server.settle_s for server in commands.servers), default=0.0))
        return dataclasses.replace(commands, clients=tuple(map(self._with_secrets, commands.clients)))

    def _with_secrets(self, command: Command) -> Command:
        plain, secret = split_environment(command.env)
        self.secrets.update(secret.values())
        return dataclasses.replace(command, env=plain, secrets={**command.secrets, **secret}) if secret else command

    def start(self, command: Command, job_id: str) -> Job:
        """Start one client where its role is."""
        return self._of(command.role).start(command, job_id)

    def sample(self, interval_s: float) -> dict[Role, Sampler]:
        """Start a monitor for every role."""
        return {place.role: self._of(place.role).sample(place.role, interval_s) for place in self.experiment.roles}

    def release(self) -> None:
        """Release every allocation, even when one of them cannot be released; the first error is raised afterwards."""
        errors: list[BenchspecError] = []
        for allocation in self._allocations.values():
            try:
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

    def abandon(self) -> None:
        """Release while another error is on its way; what cannot be released now is found by `benchspec clean`."""
        with contextlib.suppress(BenchspecError):
            self.release()


def _demand(experiment: Experiment) -> Demand:
    """A workload that writes to volumes says in which roles (``VOLUMES``); the others get none made for them."""
    volumes = getattr(get_workload(experiment.tool), "VOLUMES", ())
    return Demand(path=experiment.path, placement=experiment.placement, image=experiment.image, storage=experiment.storage, volumes=tuple(volumes))


def _refuse_secrets(commands: Commands) -> None:
    """A reference is replaced in the environment only; elsewhere its bare text would be what is measured with."""
    told = [argument for command in (*commands.clients, *(s.command for s in commands.servers)) for argument in command.argv]
    for text in (*told, *(file.data.decode("utf-8", "replace") for file in commands.files)):
        if (found := REFERENCE.search(text)) is not None:
            raise RunFailed(f"found {found[0]} in an argument or a file, where a secret would be seen", remedy="let the program read it from `env`")
