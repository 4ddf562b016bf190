"""``benchspec explain``."""

from __future__ import annotations

import click

from .app import VERBS
from .output.terminal import echo


@click.command("explain", short_help=VERBS["explain"])
@click.argument("what", default="spec")
def command(what: str) -> None:
    """Explain WHAT: a field by its path, a fact (net.mtu), a diagnostic (BS214), a finding (F101)
    or an exit code (exit-5).

    Paths are written as in a spec: `targets[].cvm`, `targets.NAME.cvm`, `workloads[].with`,
    `fio.bs`, `local.workdir`.
    """
    from ..api.explanation import explain

    echo(explain(what))
