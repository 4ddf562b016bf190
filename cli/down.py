"""``benchspec down``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .app import VERBS
from .options import RUNS, host_keys_option
from .terminal import echo

if TYPE_CHECKING:
    from ..engine.rundir import RunDirectory


@click.command("down", short_help=VERBS["down"])
@click.argument("spec", metavar="SPEC|DIRECTORY", type=click.Path(path_type=Path))
@click.option("--yes", "-y", is_flag=True, help="Carry out the spec's own destroy steps without asking.")
@host_keys_option
@click.option("--json", "as_json", is_flag=True, help="Print what was done and what is left as JSON.")
def command(spec: Path, yes: bool, as_json: bool) -> None:
    """Take down what `benchspec up`, or `run --keep`, left standing: of SPEC (looked for in runs/), or in DIRECTORY.

    The destroy steps are shown first, as they were when the targets were brought up. Afterwards everything else that is left of them is removed,
    which is verified by listing. What cannot be done now, as on a host that is away, is told; the same command tries it again.
    """
    from .clean import clean_all

    found = _find(spec)
    if not found and not as_json:
        echo(f"nothing of {spec} stands in {RUNS}/", err=True)
    else:
        clean_all(found, {}, yes=yes, as_json=as_json)


def _find(spec: Path) -> list[RunDirectory]:
    from ..engine.errors import UsageError
    from ..engine.execute.upkeep import find_upkeep
    from ..engine.load import load_spec
    from ..engine.rundir import RunDirectory

    if not spec.is_dir():
        return find_upkeep(load_spec(spec).spec.name, RUNS)
    directory = RunDirectory.open(spec)
    if not directory.is_upkeep:
        remedy = f"`benchspec down SPEC` takes down what `up` or `run --keep` left standing, `benchspec clean {spec}` removes what this run left"
        raise UsageError(f"found a run, expected a spec, or a directory that keeps what stands ({RUNS}/NAME-up-TIME)", where=str(spec), remedy=remedy)
    return [directory]
