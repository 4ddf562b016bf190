"""``benchspec report``."""

from __future__ import annotations

from pathlib import Path

import click

from .app import VERBS
from .options import DIRECTORY


@click.command("report", short_help=VERBS["report"])
@click.argument("run", type=DIRECTORY)
@click.option("--format", "format_", type=click.Choice(["markdown", "html", "json", "csv"]), default="markdown", show_default=True, help="What to render.")
@click.option("--out", "-o", type=DIRECTORY, help="Where to write it.  [default: RUN/report; json and csv go to stdout]")
@click.option("--template", type=click.Path(path_type=Path, dir_okay=False), help="A Jinja2 template of your own for the Markdown page.")
def command(run: Path, format_: str, out: Path | None, template: Path | None) -> None:
    """Render RUN, a run directory, again: offline, from its journal and raw files alone, after every sum was checked.

    The same run gives the same bytes. A flipped byte anywhere is exit code 9.
    """
    from ..engine.readback import read_run
    from ..reports.render import render_report, write_report
    from .execution import analyse_run

    data = read_run(run)
    files = render_report(data, analyse_run(data), format_, template=template)
    if out is None and format_ in ("json", "csv"):
        for content in files.values():
            click.echo(content, nl=False)
        return
    target = out or run / "report"
    write_report(files, target)
    main = next(name for name in files if not name.startswith("figures/"))
    click.echo(target / main)
