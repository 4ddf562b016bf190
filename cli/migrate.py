"""``benchspec migrate``."""

from __future__ import annotations

from pathlib import Path

import click

from .app import VERBS
from .options import SPEC_FILE
from .terminal import echo


@click.command("migrate", short_help=VERBS["migrate"])
@click.argument("spec", type=SPEC_FILE)
def command(spec: Path) -> None:
    """Rewrite SPEC for the version of the spec language that this program speaks. There is one version so far, benchspec/v1."""
    from ..engine.load import load_spec

    loaded = load_spec(spec)
    echo(f"{spec}: {loaded.spec.api_version} is the current version; there is nothing to migrate")
