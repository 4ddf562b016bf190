"""``benchspec new``."""

from __future__ import annotations

from pathlib import Path

import click

from .app import VERBS
from .options import SPEC_FILE
from .output.progress import choose_observer
from .output.questions import asker

OUT = "The file to write."


@click.command("new", short_help=VERBS["new"])
@click.option("--title", help="The question, which becomes the page's title.")
@click.option("--where", help="Where it is measured: here, ssh or kubernetes.")
@click.option("--targets", help="What is compared, as in 'old, new'; the first is the baseline.")
@click.option("--tool", help="What measures: command, fio, iperf3, netperf or openssl-speed.")
@click.option(
    "--places", help="What differs: each one's command, directory, CPUs, host, context or class."
)
@click.option("--time", help="How long it may take: look (minutes) or publish.")
@click.option("--out", "-o", type=SPEC_FILE, default="benchmark.yaml", show_default=True, help=OUT)
@click.option("--force", is_flag=True, help="Overwrite the file.")
def command(out: Path, force: bool, **given: str | None) -> None:
    """Ask six questions and write a spec with comments, for this machine, hosts over SSH or
    clusters. What an option says is not asked.

    Without a terminal every question takes its default, which is shown with the question.
    """
    from ..api.new_spec import new

    with choose_observer(json_lines=False, quiet=True) as observer:
        new(**given, out=out, force=force, ask=asker(), observer=observer)
    click.echo(
        f"now: benchspec validate {out}; benchspec plan {out}; benchspec run {out}", err=True
    )
