"""``benchspec plan``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .app import VERBS
from .options import DIRECTORY, SPEC_FILE, load_and_plan, overrides_option, plan_options, print_json
from .terminal import echo

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..engine.plan import Plan
    from ..engine.ports import RenderedFile, Surroundings
    from ..engine.spec import Experiment, LoadedSpec, Site


@click.command("plan", short_help=VERBS["plan"])
@click.argument("spec", type=SPEC_FILE)
@overrides_option
@plan_options
@click.option("--json", "as_json", is_flag=True, help="Print the whole plan as JSON.")
@click.option("--render", type=DIRECTORY, help="Write every command and file that would be used into this directory.")
def command(
    spec: Path, overrides: tuple[str, ...], only: tuple[str, ...], seed: int | None, max_experiments: int, as_json: bool, render: Path | None
) -> None:
    """Expand SPEC into experiments and show their order, the time and price they take, and which margins this many sessions cannot reach.

    Needs no network and executes nothing.
    """
    from ..engine.plan import plan_to_json

    loaded, plan = load_and_plan(spec, overrides, seed, only, max_experiments)
    if render is not None:
        count = _render(loaded, plan, render)
        echo(f"{count} files written to {render}", err=True)
    if as_json:
        print_json(plan_to_json(plan))
    else:
        _print(loaded, plan)


def _print(loaded: LoadedSpec, plan: Plan) -> None:
    from .run import own_steps, read_scripts, script_source
    from .tables import print_table

    echo(f"{loaded.spec.title}: {len(plan.experiments)} experiments, {len(plan.order)} allocations, seed {plan.seed}")
    print_table(
        ("id", "target", "workload", "point", "primary metric"),
        [(e.short_id, e.target, e.workload, ", ".join(f"{k}={v}" for k, v in e.point), e.primary) for e in plan.experiments],
    )
    names = {e.id: f"{e.target}/{e.cell}" for e in plan.experiments}
    echo("\nOrder")
    sessions: dict[int, list[str]] = {}
    for allocation in plan.order:
        sessions.setdefault(allocation.session, []).append(names[allocation.experiment_id])
    for session, order in list(sessions.items())[:3]:
        echo(f"  session {session}: {'  '.join(order)}")
    if len(sessions) > 3:
        echo(f"  ... and {len(sessions) - 3} more sessions, each in its own random order (--json lists them all)")
    steps = list(own_steps(loaded.spec, plan, script_source(loaded.path.parent, read_scripts(loaded))))
    if steps:
        echo("\nSteps, in the order of each target")
    for step in steps:
        echo(f"  {step}")
    echo(f"\nTime: about {format_duration(plan.estimate_s)}")
    for target, amount in (plan.price or {}).items():
        echo(f"Price: {target} about {amount}")
    for note in plan.notes:
        echo(f"Note: {note}")


def format_duration(seconds: float) -> str:
    """A duration for people."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"


def _render(loaded: LoadedSpec, plan: Plan, directory: Path) -> int:
    """Write what each experiment would execute, on every site of its target; return how many files that made."""
    from ..engine.rundir import write_durably

    count = 0
    for experiment in plan.experiments:
        folder = directory / experiment.target / experiment.short_id
        sites = {s.name: s for s in loaded.spec.target(experiment.target).sites.values()}
        surroundings = _surroundings(experiment, sites.values())
        for site in sites.values():
            for file in _files_of(experiment, site, surroundings):
                (folder / file.name).parent.mkdir(parents=True, exist_ok=True)
                write_durably(folder / file.name, file.data)
                count += 1
    return count


def _surroundings(experiment: Experiment, sites: Iterable[Site]) -> Surroundings:
    """Stand-ins for the endpoints and directories of all roles, each as its site's runner would give them."""
    from ..engine.errors import Unsupported
    from ..engine.ports import Endpoint, Surroundings
    from ..runners.registry import get_runner

    found = Surroundings(endpoints={}, workdirs={})
    for site in sites:
        here = [place.role for place in experiment.roles if place.site == site.name]
        try:
            given = get_runner(site.runner).placeholders(experiment, site)
        except Unsupported:
            given = Surroundings(
                endpoints={role: Endpoint(host=f"ADDRESS-OF-{role.value.upper()}", port=20000 + index) for index, role in enumerate(here)},
                workdirs={role: f"/var/tmp/benchspec-RUN/{role.value}" for role in here},
            )
        found = Surroundings(
            endpoints={**found.endpoints, **{role: of for role, of in given.endpoints.items() if role in here}},
            workdirs={**found.workdirs, **{role: of for role, of in given.workdirs.items() if role in here}},
            devices={**found.devices, **{role: of for role, of in given.devices.items() if role in here}},
        )
    return found


def _files_of(experiment: Experiment, site: Site, surroundings: Surroundings) -> Sequence[RenderedFile]:
    """What the site's runner would make; for a runner that is not there yet the workload's own commands, with a note that says so."""
    from ..engine.errors import Unsupported
    from ..engine.ports import Commands, RenderedFile
    from ..runners.registry import get_runner
    from ..workloads.registry import get_workload

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
        note = f"{error.message}: these are the workload's own commands; what that runner would create around them is not shown.\n"
        return [*get_runner("local").render(experiment, site, commands), RenderedFile(name="NOTE.txt", data=note.encode())]
    return runner.render(experiment, site, commands)
