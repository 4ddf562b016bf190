"""``benchspec index``."""

from __future__ import annotations

from pathlib import Path

import click

from .app import VERBS
from .options import DIRECTORY, json_option

REBUILD = "Forget what else is in the index, also what others put into a shared one."


@click.command("index", short_help=VERBS["index"])
@click.argument("directories", nargs=-1, type=DIRECTORY)
@click.option("--rebuild", is_flag=True, help=REBUILD)
@json_option("Print what was done as JSON.")
def command(directories: tuple[Path, ...], rebuild: bool, as_json: bool) -> None:
    """Load DIRECTORIES, run directories or folders of such, into the index that `list` and
    `history` read.  [default: runs]

    Run directories have everything: an index that was lost, or could not be reached when a run
    ended, is made of them again. It is SQLite in the user's state directory, or the PostgreSQL that
    BENCHSPEC_STORE names (postgresql+psycopg://USER@HOST/DATABASE).
    """
    from ..api.indexing import index
    from .output.documents import print_json
    from .output.terminal import echo

    done = index(*directories, rebuild=rebuild)
    if as_json:
        print_json(done.to_json())
        return
    for path, reason in done.skipped.items():
        echo(f"{path}: left out: {reason}", err=True)
    echo(f"{done.count} runs loaded into {done.place}")
