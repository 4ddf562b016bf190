"""``benchspec clean``."""

from __future__ import annotations

from pathlib import Path

import click

from ..api.settings import RUNS
from .app import VERBS
from .options import DIRECTORY, host_keys_option, json_option, yes_option
from .output.consent import ask
from .output.progress import choose_observer

ALL = f"Clean every run directory in RUN, a folder.  [default: {RUNS}]"


@click.command("clean", short_help=VERBS["clean"])
@click.argument("run", type=DIRECTORY, required=False)
@click.option("--all", "everything", is_flag=True, help=ALL)
@yes_option("Carry out the spec's own destroy steps without asking.")
@host_keys_option
@json_option("Print what was done and what is left as JSON.")
def command(
    run: Path | None,
    everything: bool,
    yes: bool,
    yes_to: str | None,
    accept_new_host_keys: bool,
    as_json: bool,
) -> None:
    """Remove whatever RUN left on its sites: processes, work directories. The run directory itself,
    with everything measured, stays.

    Targets that the run brought up and did not destroy are destroyed as their lifecycle says; the
    steps are shown first. Nothing else that benchspec did not create is touched; the sites are
    listed again afterwards. What is left is told, with the reason: a host that is away keeps nobody
    from cleaning the others, and the same command tries again. Exit code 4 if something is left.

    With --all, runs that another process carries out are left alone, and so is what `benchspec up`
    or `run --keep` left standing on purpose.
    """
    from ..api.cleaning import clean, clean_all
    from ..engine.model.errors import UsageError
    from .output.cleanup import show_cleanup

    if run is None and not everything:
        raise UsageError("found no run to clean", remedy="name a run directory, or give --all")
    clean_these = clean_all if everything else clean
    with choose_observer(json_lines=False, quiet=as_json) as observer:
        cleanup = clean_these(
            run or RUNS,
            consent=ask(yes=yes, yes_to=yes_to),
            accept_new_host_keys=accept_new_host_keys,
            observer=observer,
        )
    show_cleanup(cleanup, as_json=as_json)
    cleanup.require_clean()
