"""``benchspec clean``."""

from __future__ import annotations

from pathlib import Path

import click

from .app import VERBS
from .options import DIRECTORY
from .terminal import echo


@click.command("clean", short_help=VERBS["clean"])
@click.argument("run", type=DIRECTORY)
@click.option("--yes", "-y", is_flag=True, help="Carry out the spec's own destroy steps without asking.")
def command(run: Path, yes: bool) -> None:
    """Remove whatever RUN left on its sites: processes, work directories. The run directory itself, with everything measured, stays.

    Targets that the run brought up and did not destroy are destroyed as their lifecycle says; the steps are shown first. Nothing else that
    benchspec did not create is touched; the sites are listed again afterwards.
    """
    from ..engine.errors import RunFailed
    from ..engine.execute.lifecycle import destroy_standing, standing_steps
    from ..engine.execute.run import remove_leftovers
    from ..engine.execute.step_places import describe_step
    from ..engine.journal import Journal
    from ..engine.load import build_spec
    from ..engine.rundir import SCRIPTS, RunDirectory
    from .execution import catalogue
    from .progress import choose_observer
    from .run import confirm

    directory = RunDirectory.open(run)
    spec = build_spec(directory.resolved())
    with Journal(directory.journal_path) as journal:
        steps = standing_steps(spec, journal.records)
        confirm([describe_step(step, str((directory.path / SCRIPTS).resolve())) for step in steps], yes=yes)
        with choose_observer(json_lines=False, quiet=False) as observer:
            failed = destroy_standing(directory, spec, catalogue().runner, journal, observer)
        removed = remove_leftovers(spec, catalogue(), directory.run_id)
        still = remove_leftovers(spec, catalogue(), directory.run_id)
        journal.append("cleaned", {"removed": list(removed)})
    for name in removed:
        echo(f"removed {name}")
    if failed:
        raise RunFailed("; ".join(failed), where=str(run), remedy="remove by hand what it left, or run `benchspec clean` again")
    if still:
        raise RunFailed(
            f"{len(still)} things came back while they were removed: {', '.join(still)}", where=str(run), remedy="run `benchspec clean` again"
        )
    echo(f"{run}: nothing of this run is left on its sites")
