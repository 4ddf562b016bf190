"""``benchspec up``."""

from __future__ import annotations

from pathlib import Path

import click

from .app import VERBS
from .options import DIRECTORY, SPEC_FILE, host_keys_option, load_and_plan, overrides_option
from .terminal import echo


@click.command("up", short_help=VERBS["up"])
@click.argument("spec", type=SPEC_FILE)
@overrides_option
@click.option("--only", multiple=True, metavar="SELECTOR", help="Only these targets, as in target=aks. Repeatable.")
@click.option("--out", type=DIRECTORY, help="The directory to make.  [default: runs/NAME-up-TIME]")
@click.option("--yes", "-y", is_flag=True, help="Carry out the spec's own steps without asking.")
@host_keys_option
@click.option("--json-lines", is_flag=True, help="Print events as JSON lines on stdout.")
@click.option("--quiet", "-q", is_flag=True, help="Print the directory only.")
def command(spec: Path, overrides: tuple[str, ...], only: tuple[str, ...], out: Path | None, yes: bool, json_lines: bool, quiet: bool) -> None:
    """Bring up the targets of SPEC as their lifecycles say, and leave them standing.

    Every step is shown first: what it executes, on which host, from which file with which sha256. What stands is kept in a directory of its own,
    with a journal. Then `benchspec run SPEC` uses it as often as you like without bringing it up again, and `benchspec down SPEC` takes it down.
    Targets that stand already are left as they are; a target that does not come up is destroyed. What comes with every session (per: session)
    is left to the runs.
    """
    from ..engine.execute.run import find_problems
    from ..engine.execute.upkeep import bring_up, has_upkeep, hold
    from .execution import catalogue, refuse_problems
    from .progress import choose_observer
    from .run import confirm, create_directory, own_steps, read_scripts, script_source
    from .standing import choose_upkeep, planned_targets, standing_targets

    loaded, plan = load_and_plan(spec, overrides, None, only, 10_000)
    refuse_problems(find_problems(plan, loaded.spec, catalogue()))
    targets = [name for name in planned_targets(plan) if has_upkeep(loaded.spec.target(name))]
    if not targets:
        echo("nothing to bring up: no target has a lifecycle for the run as a whole", err=True)
        return
    scripts = read_scripts(loaded)
    standing = None if out is not None else choose_upkeep(loaded.spec.name, None)
    if standing is not None:
        with hold(standing, loaded.spec, standing_targets(standing), scripts):
            pass  # only what was brought up by this very spec is added to
    confirm(list(own_steps(loaded.spec, plan, script_source(loaded.path.parent, scripts), standing)), yes=yes)
    directory = standing or create_directory(loaded, plan, out, scripts=scripts, purpose="up")
    with choose_observer(json_lines=json_lines, quiet=quiet) as observer:
        bring_up(directory, loaded.spec, targets, catalogue(directory).runner, observer)
    echo(directory.path)
