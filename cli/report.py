"""``benchspec report``."""

from __future__ import annotations

from pathlib import Path

import click

from .app import VERBS
from .options import DIRECTORY, RUN, SPEC_FILE, quiet_option
from .output.answer import show_written

TO_STDOUT = ("json", "csv", "summary", "openmetrics", "bencher")
FORMATS = ("markdown", "html", *TO_STDOUT, "parquet")
FORMAT = (
    "What to render, and nothing else; summary is the short Markdown of a pull-request comment."
    "  [default: the Markdown and the HTML page, and the answer in the terminal]"
)
OUT = "Where to write it.  [default: RUN/report; what is text for programs goes to stdout]"
TEMPLATE = "A Jinja2 template of your own for the Markdown page."
DOCS = "Write or refresh the page NAME.md in this folder of a documentation site instead."
PUBLISH = (
    "The same, in the folder that the spec's report.docs names, relative to the working directory."
)


@click.command("report", short_help=VERBS["report"])
@click.argument("run", type=RUN)
@click.option("--format", type=click.Choice(FORMATS), help=FORMAT)
@click.option("--out", "-o", type=DIRECTORY, help=OUT)
@click.option("--template", type=SPEC_FILE, help=TEMPLATE)
@click.option("--docs", type=DIRECTORY, help=DOCS)
@quiet_option("Print the page's path only.")
@click.option("--publish", "publishing", is_flag=True, help=PUBLISH)
def command(
    run: Path,
    format: str | None,
    out: Path | None,
    template: Path | None,
    docs: Path | None,
    publishing: bool,
    quiet: bool,
) -> None:
    """Render RUN, a run directory or a bundle, again: offline, from its journal and raw files
    alone, after every sum was checked.

    The same run gives the same bytes. A flipped byte anywhere is exit code 9.
    """
    from ..api.reporting import publish, render, report, write_pages

    if publishing or docs is not None:
        click.echo(publish(run, docs))
    elif out is None and format in TO_STDOUT:
        for content in render(run, format, template=template).values():
            click.echo(content, nl=False)
    elif format is None and (written := write_pages(run, out=out, template=template)):
        show_written(written, quiet=quiet)
    else:
        click.echo(report(run, format or "markdown", out=out, template=template))
