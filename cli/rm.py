"""``benchspec rm``."""

from __future__ import annotations

import sys

import click

from .app import VERBS
from .options import json_option


def _agree(what: str) -> bool:
    from ..engine.model.errors import UsageError

    if not sys.stdin.isatty():
        raise UsageError(
            f"this removes {what}, and there is no terminal to ask on",
            remedy="run again with --yes if that is meant",
        )
    return click.confirm(f"Remove {what}?", abort=True, err=True)


@click.command("rm", short_help=VERBS["rm"])
@click.argument("run")
@click.option("--yes", "-y", is_flag=True, help="Remove it without asking.")
@json_option("Print what was removed as JSON.")
def command(run: str, yes: bool, as_json: bool) -> None:
    """Remove RUN, a run directory or the id of a run in the index, with everything that was
    measured, and its rows in the index. It asks first.

    A run that another process writes is refused, and so is one that was cut short or whose targets
    still stand: only its directory says what is left on its sites, and `clean` or `down` need that.
    """
    from ..api.removal import rm
    from .output.documents import print_json
    from .output.terminal import echo

    removed = rm(run, consent=None if yes else _agree)
    if as_json:
        print_json(removed.to_json())
    else:
        echo(f"removed {removed.path}")
    if removed.unindexed:
        echo(removed.unindexed, err=True)
