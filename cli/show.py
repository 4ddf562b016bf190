"""``benchspec show``."""

from __future__ import annotations

import click

from .app import VERBS
from .options import json_option


@click.command("show", short_help=VERBS["show"])
@click.argument("run")
@json_option()
def command(run: str, as_json: bool) -> None:
    """Show RUN, a run directory or the id of a run in the index: how it ended, its trials and
    findings, the table of verdicts and the sentences. Every sum is checked; nothing is written.
    """
    from ..api.one_run import show
    from .output.documents import print_json
    from .output.history import show_run

    shown = show(run)
    if as_json:
        print_json(shown.to_json())
    else:
        show_run(shown)
