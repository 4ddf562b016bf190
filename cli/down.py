"""``benchspec down``."""

from __future__ import annotations

from pathlib import Path

import click

from ..api.settings import RUNS
from .app import VERBS
from .options import host_keys_option, json_option, yes_option
from .output.consent import ask
from .output.progress import choose_observer
from .output.terminal import echo


@click.command("down", short_help=VERBS["down"])
@click.argument("spec", metavar="SPEC|DIRECTORY", type=click.Path(path_type=Path))
@yes_option("Carry out the spec's own destroy steps without asking.")
@host_keys_option
@json_option("Print what was done and what is left as JSON.")
def command(
    spec: Path, yes: bool, yes_to: str | None, accept_new_host_keys: bool, as_json: bool
) -> None:
    """Take down what `benchspec up`, or `run --keep`, left standing: of SPEC (looked for in runs/),
    or in DIRECTORY.

    The destroy steps are shown first, as they were when the targets were brought up. Afterwards
    everything else that is left of them is removed, which is verified by listing. What cannot be
    done now, as on a host that is away, is told; the same command tries it again.
    """
    from ..api.targets import down
    from .output.cleanup import show_cleanup

    with choose_observer(json_lines=False, quiet=as_json) as observer:
        cleanup = down(
            spec,
            consent=ask(yes=yes, yes_to=yes_to),
            accept_new_host_keys=accept_new_host_keys,
            observer=observer,
        )
    if not cleanup.outcomes and not as_json:
        echo(f"nothing of {spec} stands in {RUNS}/", err=True)
        return
    show_cleanup(cleanup, as_json=as_json)
    cleanup.require_clean()
