"""``benchspec bundle``."""

from __future__ import annotations

from pathlib import Path

import click

from .app import VERBS
from .options import SPEC_FILE

OUT = "The file to write.  [default: NAME.tar.gz in the working directory]"


@click.command("bundle", short_help=VERBS["bundle"])
@click.argument("run")
@click.option("--out", "-o", type=SPEC_FILE, help=OUT)
def command(run: str, out: Path | None) -> None:
    """Write RUN, a run directory or the id of a run in the index, into one file with the sum of
    each of its files. The same run gives the same bytes.

    `verify`, `report`, `compare` and `show` take the bundle like a directory; `tar xzf` unpacks it.
    Pages are left out: they can be made at any time.
    """
    from ..api.bundles import bundle
    from .output.terminal import echo

    echo(bundle(run, out))
