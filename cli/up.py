"""``benchspec up``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .app import VERBS
from .options import (
    DIRECTORY,
    SPEC_FILE,
    host_keys_option,
    overrides_option,
    watching_options,
    yes_option,
)
from .output.consent import ask
from .output.progress import choose_observer
from .output.terminal import echo

ONLY = "Only these targets, as in target=aks. Repeatable."


@click.command("up", short_help=VERBS["up"])
@click.argument("spec", type=SPEC_FILE)
@overrides_option
@click.option("--only", multiple=True, metavar="SELECTOR", help=ONLY)
@click.option("--out", type=DIRECTORY, help="The directory to make.  [default: runs/NAME-up-TIME]")
@yes_option("Carry out the spec's own steps without asking.")
@host_keys_option
@watching_options("Print the directory only.")
def command(
    spec: Path, yes: bool, yes_to: str | None, json_lines: bool, quiet: bool, **chosen: Any
) -> None:
    """Bring up the targets of SPEC as their lifecycles say, and leave them standing.

    Every step is shown first: what it executes, on which host, from which file with which sha256.
    What stands is kept in a directory of its own, with a journal. Then `benchspec run SPEC` uses it
    as often as you like without bringing it up again, and `benchspec down SPEC` takes it down.
    Targets that stand already are left as they are; a target that does not come up is destroyed.
    What comes with every session (per: session) is left to the runs.
    """
    from ..api.targets import up

    with choose_observer(json_lines=json_lines, quiet=quiet) as observer:
        kept = up(spec, consent=ask(yes=yes, yes_to=yes_to, spec=spec), observer=observer, **chosen)
    if kept is None:
        echo("nothing to bring up: no target has a lifecycle for the run as a whole", err=True)
