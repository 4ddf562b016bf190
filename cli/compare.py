"""``benchspec compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .app import VERBS
from .options import DIRECTORY, print_json
from .terminal import echo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..engine.analysis.model import Analysis, Contrast
    from ..engine.results import RunData


@click.command("compare", short_help=VERBS["compare"])
@click.argument("runs", nargs=-1, required=True, type=DIRECTORY)
@click.option("--baseline", help="With one run: the target to compare the others of its environment with.")
@click.option("--target", help="With two runs: the one target to compare.  [default: all they share]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--require-verdict", is_flag=True, help="Exit with 8 when a primary comparison establishes nothing.")
def command(runs: tuple[Path, ...], baseline: str | None, target: str | None, as_json: bool, require_verdict: bool) -> None:
    """Compare two RUNS (the first is the base), target by target, or the targets of one RUN with another baseline.

    Offline, from the run directories alone. Runs that differ in a fact the spec says must match are refused with exit code 7, and so are runs
    that shared a node: where a trial of each went on at the same time, each is in the other's figures.
    """
    from ..engine.errors import UsageError
    from ..engine.merge import common_targets, merge_runs, rebase
    from ..engine.readback import read_run

    read = [read_run(path) for path in runs]
    match read, baseline:
        case [run], str():
            compared = {baseline: rebase(run, baseline)}
        case [before, after], None:
            names = (target,) if target else common_targets(before, after)
            if not names:
                raise UsageError("the two runs have no target in common", remedy="name two runs of one spec")
            _require_apart(runs, read, names)
            compared = {name: merge_runs(before, after, name) for name in names}
        case _:
            raise UsageError("expected two runs, or one run and --baseline TARGET", remedy="see `benchspec compare --help`")
    _show(compared, as_json=as_json, require_verdict=require_verdict)


def _require_apart(paths: Sequence[Path], runs: Sequence[RunData], targets: Sequence[str]) -> None:
    """Raises NotComparable when a trial of each run, one of them of ``targets``, had one node at the same time."""
    from ..engine.errors import NotComparable
    from ..engine.execute.occupancy import occupations, overlaps
    from ..engine.journal import read_records
    from ..engine.rundir import RunDirectory

    measured = {experiment.id for run in runs for experiment in run.experiments if experiment.target in targets}
    journals = ((run.run_id, read_records(RunDirectory.open(path).journal_path)[0]) for path, run in zip(paths, runs, strict=True))
    occupied = [one for run_id, records in journals for one in occupations(run_id, records)]
    between = (pair for pair in overlaps(occupied) if pair.first.run_id != pair.second.run_id)
    shared = [pair for pair in between if {pair.first.experiment_id, pair.second.experiment_id} & measured]
    if shared:
        more = f", and {len(shared) - 1} more such pairs" if len(shared) > 1 else ""
        raise NotComparable(f"{shared[0]}{more}", remedy="measure the runs one after the other, or on nodes of their own")


def _show(compared: dict[str, RunData], *, as_json: bool, require_verdict: bool) -> None:
    from ..engine.codec import encode
    from ..reports.view import build_view
    from .execution import analyse_run

    analyses = {name: analyse_run(run) for name, run in compared.items()}
    if as_json:
        print_json({"comparisons": {name: encode(analysis.contrasts) for name, analysis in analyses.items()}})
    else:
        for name, run in compared.items():
            echo(f"{name}:" if len(compared) > 1 else f"{run.spec.title}:")
            for statement in build_view(run, analyses[name]).summary:
                echo(f"  - {statement}")
    _judge(list(analyses.values()), require_verdict=require_verdict)


def _judge(analyses: Sequence[Analysis], *, require_verdict: bool) -> None:
    """Raise what the exit code shall say."""
    from ..engine.analysis.model import Void
    from ..engine.errors import Inconclusive, NotComparable

    primary = [contrast for analysis in analyses for contrast in analysis.contrasts if contrast.primary]
    for contrast in primary:
        if contrast.verdict is not None and contrast.verdict.void is Void.NOT_COMPARABLE:
            raise NotComparable(contrast.verdict.reason or "the targets differ", where=contrast.cell, remedy="measure under the same conditions")
    if require_verdict and any(_is_open(contrast) for contrast in primary):
        raise Inconclusive("not every primary comparison carries a verdict", remedy="measure more sessions; the sentences above say how many")


def _is_open(contrast: Contrast) -> bool:
    from ..engine.analysis.model import Difference

    verdict = contrast.verdict
    return verdict is None or verdict.void is not None or verdict.difference is Difference.NONE_ESTABLISHED
