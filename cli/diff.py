"""``benchspec diff``."""

from __future__ import annotations

from pathlib import Path

import click

from .app import VERBS
from .options import SPEC_FILE, print_json
from .terminal import echo


@click.command("diff", short_help=VERBS["diff"])
@click.argument("old", type=SPEC_FILE)
@click.argument("new", type=SPEC_FILE)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(old: Path, new: Path, as_json: bool) -> None:
    """Show what differs in meaning between the specs OLD and NEW, and which results become incomparable. Comments and layout do not count.

    Executes nothing that either spec says.
    """
    from ..engine.diff import diff_specs, diff_to_json, diff_to_text
    from ..engine.load import load_spec
    from ..workloads.registry import WORKLOADS

    found = diff_specs(load_spec(old), load_spec(new), WORKLOADS)
    if as_json:
        print_json(diff_to_json(found))
    else:
        echo(diff_to_text(found))
