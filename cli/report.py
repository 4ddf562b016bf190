"""``benchspec report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .app import VERBS
from .options import DIRECTORY

if TYPE_CHECKING:
    from ..engine.analysis.model import Analysis
    from ..engine.results import RunData

TO_STDOUT = ("json", "csv", "summary")


@click.command("report", short_help=VERBS["report"])
@click.argument("run", type=DIRECTORY)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["markdown", "html", "json", "csv", "summary"]),
    default="markdown",
    show_default=True,
    help="What to render; summary is the short Markdown of a pull-request comment.",
)
@click.option("--out", "-o", type=DIRECTORY, help="Where to write it.  [default: RUN/report; json, csv and summary go to stdout]")
@click.option("--template", type=click.Path(path_type=Path, dir_okay=False), help="A Jinja2 template of your own for the Markdown page.")
@click.option("--docs", type=DIRECTORY, help="Write or refresh the page NAME.md in this folder of a documentation site instead.")
@click.option("--publish", is_flag=True, help="The same, in the folder that the spec's report.docs names, relative to the working directory.")
def command(run: Path, format_: str, out: Path | None, template: Path | None, docs: Path | None, publish: bool) -> None:
    """Render RUN, a run directory, again: offline, from its journal and raw files alone, after every sum was checked.

    The same run gives the same bytes. A flipped byte anywhere is exit code 9.
    """
    from ..engine.readback import read_run
    from ..engine.rundir import RunDirectory
    from ..reports.render import render_report, write_report
    from .execution import analyse_run

    data = read_run(run)
    analysis = analyse_run(data)
    if publish and docs is None:
        docs = _own_folder(data)
    if docs is not None:
        click.echo(_write_docs(data, analysis, docs))
        return
    own = RunDirectory.open(run).template if format_ == "markdown" else None
    files = render_report(data, analysis, format_, template=template or own)
    if out is None and format_ in TO_STDOUT:
        for content in files.values():
            click.echo(content, nl=False)
        return
    target = out or run / "report"
    write_report(files, target)
    click.echo(target / next(iter(files)))


def _own_folder(run: RunData) -> Path:
    from ..engine.errors import UsageError

    if run.spec.report.docs is None:
        raise UsageError("the spec names no folder for its page", remedy="add `report: {docs: FOLDER}` to it, or give --docs FOLDER")
    return Path(run.spec.report.docs)


def _write_docs(run: RunData, analysis: Analysis, folder: Path) -> Path:
    """Refresh the region of an existing page, or make the page."""
    from ..reports.docs_pages import render_docs, update_docs
    from ..reports.render import write_report

    name = run.spec.name
    page = folder / f"{name}.md"
    if page.exists():
        text, figures = update_docs(page.read_text(encoding="utf-8"), run, analysis, name)
        write_report({page.name: text.encode(), **figures}, folder)
    else:
        write_report(render_docs(run, analysis, name), folder)
    return page
