"""``benchspec migrate``."""

from __future__ import annotations

from pathlib import Path

import click

from .app import VERBS
from .options import SPEC_FILE
from .output.terminal import echo


@click.command("migrate", short_help=VERBS["migrate"])
@click.argument("spec", type=SPEC_FILE)
def command(spec: Path) -> None:
    """Rewrite SPEC for the version of the spec language that this program speaks. There is one
    version so far, benchspec/v1.
    """
    from ..api.specs import migrate

    echo(f"{spec}: {migrate(spec)} is the current version; there is nothing to migrate")
