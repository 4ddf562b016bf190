"""``benchspec resume``."""

from __future__ import annotations

from pathlib import Path

import click

from .app import VERBS
from .options import DIRECTORY


@click.command("resume", short_help=VERBS["resume"])
@click.argument("run", type=DIRECTORY)
@click.option("--yes", "-y", is_flag=True, help="Run the spec's own commands without asking.")
@click.option("--allow-drift", is_flag=True, help="Measure even where the spec's claims are contradicted; the page says so.")
@click.option("--install-tools", is_flag=True, help="Install missing tools with the host's package manager, after saying which.")
@click.option("--json-lines", is_flag=True, help="Print events as JSON lines on stdout.")
@click.option("--quiet", "-q", is_flag=True, help="Print the page's path only.")
def command(run: Path, yes: bool, allow_drift: bool, install_tools: bool, json_lines: bool, quiet: bool) -> None:
    """Go on with RUN, a run directory.

    Finished trials are kept, a job that outlived its controller is collected, and the rest follows in the planned order.
    """
    from ..engine.execute.run import Options, find_problems
    from ..engine.load import build_spec
    from ..engine.readback import read_plan
    from ..engine.rundir import SCRIPTS, RunDirectory
    from .execution import carry_out, catalogue, refuse_problems
    from .run import confirm, own_commands, own_steps

    directory = RunDirectory.open(run)
    spec, plan = build_spec(directory.resolved()), read_plan(directory)
    refuse_problems(find_problems(plan, spec, catalogue()))
    confirm([*own_commands(plan), *own_steps(spec, plan, directory.path / SCRIPTS)], yes=yes)
    carry_out(directory, spec, plan, Options(allow_drift=allow_drift, install_tools=install_tools), json_lines=json_lines, quiet=quiet)
