"""The local runner's front: pure questions about a plan, and the way to a session on this host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...engine.model.contract.values import Commands, Leftover, Problem, RenderedFile, Surroundings
from ...engine.model.results import Finding
from ...engine.model.spec import Experiment, Placement, Role, Site, Step, TrafficPath
from ...engine.planning.cluster_steps import problems_without_cluster
from . import doctor, launch, leftovers, record, render
from .session import LocalSession
from .sink import sink_directory
from .state import places

_PATHS = frozenset({None, TrafficPath.LOOPBACK, TrafficPath.HOST_TO_HOST})
_PLACEMENTS = frozenset({Placement.ANY, Placement.SAME_NODE})


class LocalRunner:
    """Runs programs on the host that benchspec itself runs on."""

    KIND = "local"

    def unsupported(self, experiment: Experiment, site: Site) -> Sequence[Problem]:
        """Why this experiment cannot run here: paths through pods, nodes that this one host has not
        got, CPUs that do not exist.
        """
        problems = []
        if experiment.path not in _PATHS:
            problems.append(
                Problem(
                    message=(
                        f"found path {experiment.path}, expected loopback: one host has neither"
                        " pods nor services"
                    ),
                    remedy="leave `path` out, or put the target on a runner of kind kubernetes",
                )
            )
        if experiment.placement not in _PLACEMENTS:
            problems.append(
                Problem(
                    message=(
                        f"found placement {experiment.placement}, expected same-node or any: the"
                        " local runner has one node"
                    ),
                    remedy="leave `placement` out, or put the target on several hosts",
                )
            )
        pinned = {
            place.cpus for place in experiment.roles if place.cpus and place.site == site.name
        }
        return [
            *problems,
            *(launch.cpu_problem(cpus) for cpus in sorted(pinned) if not launch.available(cpus)),
        ]

    def unsupported_step(self, step: Step, site: Site) -> Sequence[Problem]:
        """Why this lifecycle step cannot be carried out here: Kubernetes objects, and nodes that
        this one host has not got.
        """
        if problems := problems_without_cluster(step):
            return problems
        if Role.CONTROL_PLANE in (step.on if isinstance(step.on, tuple) else (step.on,)):
            message = (
                f"step {step.name}: found on: {Role.CONTROL_PLANE}, but this host has no control"
                " plane"
            )
            return [Problem(message=message, remedy="use on: controller")]
        return []

    def step_hosts(self, site: Site) -> Mapping[Role, str]:
        """Every role is on this host."""
        return dict.fromkeys(Role, "this machine")

    def check(self, site: Site) -> Sequence[Finding]:
        """Doctor: shell, kernel, rights, disk space, CPUs."""
        return doctor.check(site)

    def render(
        self, experiment: Experiment, site: Site, commands: Commands
    ) -> Sequence[RenderedFile]:
        """The files that would be placed and the commands that would be executed, shell-quoted."""
        return render.render(experiment, site, commands)

    def placeholders(self, experiment: Experiment, site: Site) -> Surroundings:
        """Stand-in endpoints and directories for rendering."""
        return render.placeholders(experiment, site)

    def connect(self, site: Site, run_id: str) -> LocalSession:
        """Make the run's directories. Raises StorageError when they cannot be written."""
        where = places(site, run_id)
        where.create()
        record.begin(where)
        return LocalSession(run_id, where, sink_directory(site, run_id))

    def leftovers(self, site: Site, run_id: str) -> Sequence[Leftover]:
        """The processes and directories of that run that still exist on this host."""
        return leftovers.find(site, run_id)

    def remove(self, site: Site, leftover: Leftover) -> None:
        """Remove one leftover; never anything benchspec did not create."""
        leftovers.remove(site, leftover)
