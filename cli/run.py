"""``benchspec run``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .app import VERBS
from .options import (
    DIRECTORY,
    SPEC_FILE,
    host_keys_option,
    keep_option,
    measuring_options,
    overrides_option,
    plan_options,
    watching_options,
)
from .output.consent import ask
from .output.progress import choose_observer

UP = (
    "Use what `benchspec up --out` left standing in this directory.  [default: looked for in runs/]"
)


@click.command("run", short_help=VERBS["run"])
@click.argument("spec", type=SPEC_FILE)
@overrides_option
@plan_options
@click.option("--out", type=DIRECTORY, help="The run directory to make.  [default: runs/NAME-TIME]")
@measuring_options
@host_keys_option
@keep_option
@click.option("--up", type=DIRECTORY, help=UP)
@watching_options("Print the page's path only.")
def command(
    spec: Path, yes: bool, yes_to: str | None, json_lines: bool, quiet: bool, **chosen: Any
) -> None:
    """Measure what SPEC says, keep every raw byte, and write a page with figures and verdicts.

    Whatever the spec does beyond measuring is shown first and asked for: programs that it executes,
    files it destroys, secrets and where they go, hosts and URLs that get load, rights it takes. A
    run that is cut short goes on with `benchspec resume`. The verdicts are printed at the end, with
    links to the pages.

    Targets that `benchspec up` left standing are used as they are, and left standing. Others are
    brought up and, whatever happens, destroyed, unless --keep says otherwise.
    """
    from ..api.runs import run

    with choose_observer(json_lines=json_lines, quiet=quiet) as observer:
        run(spec, consent=ask(yes=yes, yes_to=yes_to, spec=spec), observer=observer, **chosen)
