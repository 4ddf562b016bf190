"""``benchspec clean``."""

from __future__ import annotations

from pathlib import Path

import click

from .app import VERBS
from .options import DIRECTORY


@click.command("clean", short_help=VERBS["clean"])
@click.argument("run", type=DIRECTORY)
def command(run: Path) -> None:
    """Remove whatever RUN left on its sites: processes, work directories. The run directory itself, with everything measured, stays.

    Nothing that benchspec did not create is touched; the sites are listed again afterwards.
    """
    from ..engine.errors import RunFailed
    from ..engine.execute.run import remove_leftovers
    from ..engine.journal import Journal
    from ..engine.load import build_spec
    from ..engine.rundir import RunDirectory
    from .execution import catalogue

    directory = RunDirectory.open(run)
    spec = build_spec(directory.resolved())
    with Journal(directory.journal_path) as journal:
        removed = remove_leftovers(spec, catalogue(), directory.run_id)
        still = remove_leftovers(spec, catalogue(), directory.run_id)
        journal.append("cleaned", {"removed": list(removed)})
    for name in removed:
        click.echo(f"removed {name}")
    if still:
        raise RunFailed(
            f"{len(still)} things came back while they were removed: {', '.join(still)}", where=str(run), remedy="run `benchspec clean` again"
        )
    click.echo(f"{run}: nothing of this run is left on its sites")
