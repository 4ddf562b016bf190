"""``benchspec verify``."""

from __future__ import annotations

import click

from .app import VERBS
from .options import json_option


@click.command("verify", short_help=VERBS["verify"])
@click.argument("run")
@json_option()
def command(run: str, as_json: bool) -> None:
    """Check every sum of RUN: a run directory, a bundle, or the id of a run in the index.

    A byte that is not what was written is exit code 9, and the message names its file. Of a
    directory the page's template has no sum, since a page may be made with a changed one.
    """
    from ..api.bundles import verify
    from .output.documents import print_json
    from .output.terminal import echo

    checked = verify(run)
    if as_json:
        print_json(checked.to_json())
    else:
        echo(f"{checked.path}: {checked.run_id}, {checked.files} files, as they were written")
