"""``benchspec resume``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .app import VERBS
from .options import DIRECTORY, host_keys_option

if TYPE_CHECKING:
    from ..engine.rundir import RunDirectory


@click.command("resume", short_help=VERBS["resume"])
@click.argument("run", type=DIRECTORY)
@click.option("--yes", "-y", is_flag=True, help="Run the spec's own commands without asking.")
@click.option("--allow-drift", is_flag=True, help="Measure even where the spec's claims are contradicted; the page says so.")
@click.option("--install-tools", is_flag=True, help="Install missing tools with the host's package manager, after saying which.")
@host_keys_option
@click.option("--json-lines", is_flag=True, help="Print events as JSON lines on stdout.")
@click.option("--quiet", "-q", is_flag=True, help="Print the page's path only.")
def command(run: Path, yes: bool, allow_drift: bool, install_tools: bool, json_lines: bool, quiet: bool) -> None:
    """Go on with RUN, a run directory.

    Finished trials are kept, a job that outlived its controller is collected, and the rest follows in the planned order. Targets that the run
    used as `benchspec up` left them are used again if they still stand, and brought up (and destroyed) by the run itself if they do not.
    """
    from ..engine.execute.run import Options, find_problems
    from ..engine.load import build_spec
    from ..engine.readback import read_plan
    from ..engine.rundir import RunDirectory
    from .execution import carry_out, catalogue, refuse_problems
    from .run import confirm, copied_scripts, own_commands, own_steps
    from .standing import adopted_before, held

    directory = RunDirectory.open(run)
    refuse_upkeep(directory)
    refuse_imported(directory)
    spec, plan = build_spec(directory.resolved()), read_plan(directory)
    refuse_problems(find_problems(plan, spec, catalogue()))
    standing = adopted_before(directory)
    confirm([*own_commands(plan), *own_steps(spec, plan, copied_scripts(directory), standing)], yes=yes)
    options = Options(allow_drift=allow_drift, install_tools=install_tools)
    with held(standing, spec, plan, directory) as adopted:
        carry_out(directory, spec, plan, options, json_lines=json_lines, quiet=quiet, adopted=adopted)


def refuse_upkeep(directory: RunDirectory) -> None:
    """What `up` made measures nothing. Raises UsageError."""
    from ..engine.errors import UsageError

    if directory.is_upkeep:
        remedy = "measure what stands with `benchspec run SPEC`, or take it down with `benchspec down`"
        raise UsageError("this directory keeps what `benchspec up` brought up, it is no run", where=str(directory.path), remedy=remedy)


def refuse_imported(directory: RunDirectory) -> None:
    """What another program measured cannot go on. Raises UsageError."""
    from ..engine.errors import UsageError
    from ..engine.execute.imported import is_imported

    if is_imported(directory):
        remedy = "import it again with further files"
        raise UsageError("this directory holds imported results, nothing that benchspec could go on with", where=str(directory.path), remedy=remedy)
