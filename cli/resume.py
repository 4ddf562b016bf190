"""``benchspec resume``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .app import VERBS
from .options import DIRECTORY, host_keys_option, measuring_options, watching_options
from .output.consent import ask
from .output.progress import choose_observer


@click.command("resume", short_help=VERBS["resume"])
@click.argument("run", type=DIRECTORY)
@measuring_options
@host_keys_option
@watching_options("Print the page's path only.")
def command(
    run: Path, yes: bool, yes_to: str | None, json_lines: bool, quiet: bool, **chosen: Any
) -> None:
    """Go on with RUN, a run directory.

    Finished trials are kept, a job that outlived its controller is collected, and the rest follows
    in the planned order. Targets that the run used as `benchspec up` left them are used again if
    they still stand, and brought up (and destroyed) by the run itself if they do not.
    """
    from ..api.runs import resume

    with choose_observer(json_lines=json_lines, quiet=quiet) as observer:
        resume(run, consent=ask(yes=yes, yes_to=yes_to), observer=observer, **chosen)
