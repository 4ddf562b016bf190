"""A spec read and planned, and what its plan would execute written to files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..engine.language.load import load_spec
from ..engine.lifecycle.spec_files import read_scripts
from ..engine.model.contract.runner import CONTROLLER_KIND
from ..engine.model.contract.values import Commands, Endpoint, RenderedFile, Surroundings
from ..engine.model.errors import Unsupported
from ..engine.model.spec import Experiment, Json, LoadedSpec, Site
from ..engine.planning.plan import Plan, plan_to_json
from ..engine.planning.plan import plan as make_plan
from ..engine.store.directory import write_durably
from ..runners.registry import get_runner
from ..workloads.registry import WORKLOADS, get_workload
from .capabilities import asked_of_plan
from .consent import Asked
from .own_commands import own_steps, script_source
from .settings import MOST_EXPERIMENTS, File


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A spec with its plan."""

    loaded: LoadedSpec
    plan: Plan

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets of the plan's experiments, each once."""
        return tuple(dict.fromkeys(experiment.target for experiment in self.plan.experiments))

    def steps(self) -> Iterator[str]:
        """The lifecycle steps that a run would carry out, as lines for reading. Raises SpecError
        when a step's file cannot be read.
        """
        source = script_source(self.loaded.path.parent, read_scripts(self.loaded))
        return own_steps(self.loaded.spec, self.plan, source)

    def capabilities(self) -> Asked:
        """What a run asks for before anything is created: all that it does beyond measuring in
        work directories of its own. Raises SpecError when a step's file cannot be read.
        """
        return asked_of_plan(self.loaded, self.plan)

    def to_json(self) -> dict[str, Json]:
        """The plan as `benchspec plan --json` prints it."""
        return dict(plan_to_json(self.plan))


def plan(
    spec: File,
    *,
    overrides: Sequence[str] = (),
    only: Sequence[str] = (),
    seed: int | None = None,
    max_experiments: int = MOST_EXPERIMENTS,
) -> Planned:
    """Expand ``spec`` into experiments with their order, the time (s) and price they take, and what
    the design cannot show. Needs no network and executes nothing.

    ``overrides`` are ``PATH=VALUE`` as for ``--set``; ``only`` are selectors such as
    ``target=aks``, of which an experiment matches all kinds; ``seed`` orders the blocks instead of
    the spec's.

    Raises:
        SpecError: the spec cannot be used; an InvalidSpec has all diagnostics.
        UsageError: a selector matches nothing, or there are more than ``max_experiments``.
    """
    loaded = load_spec(Path(spec), overrides=overrides)
    made = make_plan(loaded, WORKLOADS, seed=seed, only=only, max_experiments=max_experiments)
    return Planned(loaded=loaded, plan=made)


def render_plan(planned: Planned, directory: File) -> int:
    """Write every command and file that each experiment would use, on every site of its target,
    into ``directory``; return how many files that made. Raises StorageError.
    """
    count = 0
    for experiment in planned.plan.experiments:
        folder = Path(directory) / experiment.target / experiment.short_id
        sites = {s.name: s for s in planned.loaded.spec.target(experiment.target).sites.values()}
        surroundings = _surroundings(experiment, sites.values())
        for site in sites.values():
            for file in _files_of(experiment, site, surroundings):
                (folder / file.name).parent.mkdir(parents=True, exist_ok=True)
                write_durably(folder / file.name, file.data)
                count += 1
    return count


def _surroundings(experiment: Experiment, sites: Iterable[Site]) -> Surroundings:
    """Stand-ins for the endpoints and directories of all roles, each as its site's runner would
    give them.
    """
    found = Surroundings(endpoints={}, workdirs={})
    for site in sites:
        here = [place.role for place in experiment.roles if place.site == site.name]
        try:
            given = get_runner(site.runner).placeholders(experiment, site)
        except Unsupported:
            given = Surroundings(
                endpoints={
                    role: Endpoint(host=f"ADDRESS-OF-{role.value.upper()}", port=20000 + index)
                    for index, role in enumerate(here)
                },
                workdirs={role: f"/var/tmp/benchspec-RUN/{role.value}" for role in here},
            )
        found = Surroundings(
            endpoints={
                **found.endpoints,
                **{role: of for role, of in given.endpoints.items() if role in here},
            },
            workdirs={
                **found.workdirs,
                **{role: of for role, of in given.workdirs.items() if role in here},
            },
            devices={
                **found.devices,
                **{role: of for role, of in given.devices.items() if role in here},
            },
        )
    return found


def _files_of(
    experiment: Experiment, site: Site, surroundings: Surroundings
) -> Sequence[RenderedFile]:
    """What the site's runner would make; for a runner that is not there yet the workload's own
    commands, with a note that says so.
    """
    whole = get_workload(experiment.tool).commands(experiment, surroundings)
    here = {place.role for place in experiment.roles if place.site == site.name}
    commands = Commands(
        clients=tuple(one for one in whole.clients if one.role in here),
        servers=tuple(one for one in whole.servers if one.command.role in here),
        files=tuple(one for one in whole.files if one.role in here),
    )
    try:
        runner = get_runner(site.runner)
    except Unsupported as error:
        note = (
            f"{error.message}: these are the workload's own commands; what that runner would create"
            " around them is not shown.\n"
        )
        return [
            *get_runner(CONTROLLER_KIND).render(experiment, site, commands),
            RenderedFile(name="NOTE.txt", data=note.encode()),
        ]
    return runner.render(experiment, site, commands)
