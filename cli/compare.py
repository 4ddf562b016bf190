"""``benchspec compare``."""

from __future__ import annotations

from pathlib import Path

import click

from .app import VERBS
from .options import DIRECTORY, RUN, json_option, quiet_option
from .output.answer import show_written
from .output.documents import print_json

BASE = "With one run: the target to compare the others of its environment with."
TARGET = "With two runs: the one target to compare.  [default: all they share]"
OUT = "Where the pages are written.  [default: report/ of the last run]"
REQUIRE = "Exit with 8 when a primary comparison establishes nothing."


@click.command("compare", short_help=VERBS["compare"])
@click.argument("runs", nargs=-1, required=True, type=RUN)
@click.option("--baseline", help=BASE)
@click.option("--target", help=TARGET)
@click.option("--out", "-o", type=DIRECTORY, help=OUT)
@json_option("Print JSON, and write no pages.")
@quiet_option("Print the paths of the pages only.")
@click.option("--require-verdict", is_flag=True, help=REQUIRE)
def command(
    runs: tuple[Path, ...],
    baseline: str | None,
    target: str | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    require_verdict: bool,
) -> None:
    """Compare two RUNS (the first is the base), target by target, or the targets of one RUN with
    another baseline.

    Offline, from the run directories, or bundles of them, alone. Runs that differ in a fact the
    spec says must match are refused with exit code 7, and so are runs that shared a node: where a
    trial of each went on at the same time, each is in the other's figures.
    """
    from ..api.comparison import compare

    found = compare(*runs, baseline=baseline, target=target)
    if as_json:
        print_json(found.to_json())
    else:
        for written in found.write_pages(out).values():
            show_written(written, quiet=quiet)
    found.require_comparable()
    if require_verdict:
        found.require_verdicts()
