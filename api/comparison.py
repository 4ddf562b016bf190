"""Two runs compared target by target, or the targets of one run with another baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ..engine.analysis.model import Analysis, Contrast
from ..engine.analysis.reasons import FactsDiffer
from ..engine.execution.checks.occupancy import occupations, overlaps
from ..engine.model.errors import Inconclusive, NotComparable, UsageError
from ..engine.model.results import RunData
from ..engine.store.directory import RunDirectory
from ..engine.store.journal import read_records
from ..engine.store.merge import common_targets, merge_runs, rebase
from ..engine.store.read_run import read_run
from ..reports.output.export import encode_contrasts
from ..reports.wording.reasons import write_no_verdict
from ..reports.wording.verdict_words import settled
from .bundles import opened, pages_of
from .reporting import Written, analyse_run, write_pages_of
from .settings import File


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One comparison: a target of two runs, or a run with another baseline. ``folder`` is where its
    pages are written unless another is named.
    """

    run: RunData
    analysis: Analysis
    folder: Path

    def write_pages(self, folder: File | None = None) -> Written:
        """Write the Markdown and the HTML page of the comparison; what they answer comes with them.
        Raises StorageError.
        """
        target = self.folder if folder is None else Path(folder)
        return write_pages_of(self.run, self.analysis, target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Comparisons by the name of the target, or of the baseline."""

    by_name: Mapping[str, Compared]

    def write_pages(self, folder: File | None = None) -> Mapping[str, Written]:
        """Write the pages of every comparison: into ``folder``, where there are several into a
        folder of each name in it. None: ``report`` of the last run. Raises StorageError.
        """
        alone = len(self.by_name) == 1
        return {
            name: one.write_pages(
                None if folder is None else Path(folder) if alone else Path(folder) / name
            )
            for name, one in self.by_name.items()
        }

    @property
    def primary(self) -> Iterator[Contrast]:
        """The contrasts of primary metrics, which carry verdicts."""
        for one in self.by_name.values():
            yield from (contrast for contrast in one.analysis.contrasts if contrast.primary)

    def to_json(self) -> dict[str, object]:
        """What `benchspec compare --json` prints."""
        found = {
            name: encode_contrasts(one.analysis.contrasts) for name, one in self.by_name.items()
        }
        return {"comparisons": found}

    def require_comparable(self) -> None:
        """Raise NotComparable when a primary comparison is void because a fact that must match
        differs.
        """
        for contrast in self.primary:
            reason = None if contrast.verdict is None else contrast.verdict.reason
            if isinstance(reason, FactsDiffer):
                raise NotComparable(
                    write_no_verdict(reason),
                    where=contrast.cell,
                    remedy="measure under the same conditions",
                )

    def require_verdicts(self) -> None:
        """Raise Inconclusive when a primary comparison establishes nothing: neither a direction nor
        that both lie inside the margin.
        """
        if not all(settled(contrast) for contrast in self.primary):
            raise Inconclusive(
                "not every primary comparison carries a verdict",
                remedy="measure more sessions; the sentences above say how many",
            )


def compare(*runs: File, baseline: str | None = None, target: str | None = None) -> Comparison:
    """Compare two run directories or bundles (the first is the base), on ``target`` or on all that
    they share, or the targets of one with another ``baseline``. Offline, from them alone.

    A comparison that is void or establishes nothing is in the result; its ``require_`` methods
    raise for it.

    Raises:
        UsageError: other than two runs, or one with a baseline; no such target.
        NotComparable: the runs shared a node, or have nothing in common.
        IntegrityError: a stored byte is not what was written.
    """
    with ExitStack() as stack:
        directories = [stack.enter_context(opened(run)) for run in runs]
        return _compare([*map(Path, runs)], directories, baseline, target)


def _compare(
    paths: Sequence[Path], directories: Sequence[Path], baseline: str | None, target: str | None
) -> Comparison:
    """``paths`` are the runs as they were named, which pages are written beside."""
    read = [read_run(path) for path in directories]
    match read, baseline:
        case [run], str():
            compared = {baseline: rebase(run, baseline)}
            folder = pages_of(paths[0]) / "baseline"
        case [before, after], None:
            names = (target,) if target else common_targets(before, after)
            if not names:
                raise UsageError(
                    "the two runs have no target in common", remedy="name two runs of one spec"
                )
            _require_apart(directories, read, names)
            compared = {name: merge_runs(before, after, name) for name in names}
            folder = pages_of(paths[1]) / f"against-{directories[0].resolve().name}"
        case _:
            raise UsageError(
                "expected two runs, or one run and --baseline TARGET",
                remedy="see `benchspec compare --help`",
            )
    return Comparison(
        by_name={
            name: Compared(run=run, analysis=analyse_run(run), folder=folder / name)
            for name, run in compared.items()
        }
    )


def _require_apart(paths: Sequence[Path], runs: Sequence[RunData], targets: Sequence[str]) -> None:
    """Raises NotComparable when a trial of each run, one of them of ``targets``, had one node at
    the same time.
    """
    measured = {
        experiment.id
        for run in runs
        for experiment in run.experiments
        if experiment.target in targets
    }
    journals = (
        (run.run_id, read_records(RunDirectory.open(path).journal_path)[0])
        for path, run in zip(paths, runs, strict=True)
    )
    occupied = [one for run_id, records in journals for one in occupations(run_id, records)]
    between = (pair for pair in overlaps(occupied) if pair.first.run_id != pair.second.run_id)
    shared = [
        pair for pair in between if {pair.first.experiment_id, pair.second.experiment_id} & measured
    ]
    if shared:
        more = f", and {len(shared) - 1} more such pairs" if len(shared) > 1 else ""
        raise NotComparable(
            f"{shared[0]}{more}",
            remedy="measure the runs one after the other, or on nodes of their own",
        )
