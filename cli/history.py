"""``benchspec history``."""

from __future__ import annotations

import click

from .app import VERBS
from .options import json_option

ALL = "All series, not primary ones alone."
STEADY = "Exit with 3 when a newest result is outside of what was expected, or of an unknown level."


@click.command("history", short_help=VERBS["history"])
@click.argument("spec")
@click.option("--all", "everything", is_flag=True, help=ALL)
@click.option("--require-steady", is_flag=True, help=STEADY)
@json_option()
def command(spec: str, everything: bool, require_steady: bool, as_json: bool) -> None:
    """Show how the results of SPEC, a file or the name of a spec, went on from run to run: each
    target, workload and metric with its interval, where the level changed, and which results lie
    outside of what those before let expect.

    Nothing is said of a level before it has five results. Changes that are known stand in acks.yaml
    beside SPEC, each with a reason and the day until which it counts.
    """
    from ..api.past_runs import history
    from .output.documents import print_json
    from .output.history import show_history

    found = history(spec, everything=everything)
    if as_json:
        print_json(found.to_json())
    else:
        show_history(found)
    if require_steady:
        found.require_steady()
