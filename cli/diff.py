"""``benchspec diff``."""

from __future__ import annotations

from pathlib import Path

import click

from .app import VERBS
from .options import SPEC_FILE, json_option
from .output.documents import print_json
from .output.terminal import echo


@click.command("diff", short_help=VERBS["diff"])
@click.argument("old", type=SPEC_FILE)
@click.argument("new", type=SPEC_FILE)
@json_option()
def command(old: Path, new: Path, as_json: bool) -> None:
    """Show what differs in meaning between the specs OLD and NEW, and which results become
    incomparable; and what NEW asks for beyond measuring that OLD does not. Comments and layout do
    not count.

    Executes nothing that either spec says.
    """
    from ..api.specs import diff, diff_capabilities
    from ..engine.planning.semantic_diff.diff import diff_to_json, diff_to_text

    found = diff(old, new)
    added, removed = diff_capabilities(old, new)
    if as_json:
        of_both = {
            "added": [one.to_json() for one in added],
            "removed": [one.to_json() for one in removed],
        }
        print_json({**diff_to_json(found), "capabilities": of_both})
        return
    echo(diff_to_text(found))
    for words, changed in (("newly asks for", added), ("no longer asks for", removed)):
        for one in changed:
            echo(f"{words}: {one.kind}: {one}")
