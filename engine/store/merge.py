"""Two runs seen as one with two targets that were measured in turn: then everything that holds
within a run holds between runs.

Sessions of different runs do not pair, so the order is sequential and the intervals are Welch's.
Pure.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from ..model.errors import NotComparable, UsageError
from ..model.results import FactSet, RunData, Trial
from ..model.spec import Comparison, Experiment, Order, Spec, Target

BEFORE, AFTER = "before", "after"


def common_targets(before: RunData, after: RunData) -> tuple[str, ...]:
    """Targets both runs have, in the order of ``before``."""
    known = {target.name for target in after.spec.targets}
    return tuple(target.name for target in before.spec.targets if target.name in known)


def merge_runs(before: RunData, after: RunData, target: str) -> RunData:
    """One run in which ``target`` of each run stands as the target ``before`` and ``after``, the
    former being the baseline.

    Raises:
        UsageError: a run has no such target.
        NotComparable: the runs share no cell of it.
    """
    sides = {BEFORE: before, AFTER: after}
    experiments = {side: _of_target(run, target) for side, run in sides.items()}
    shared = {e.cell for e in experiments[BEFORE]} & {e.cell for e in experiments[AFTER]}
    if not shared:
        raise NotComparable(
            f"the two runs measured nothing in common on target {target!r}",
            remedy="compare runs of the same workloads",
        )
    offset = max((trial.sequence for trial in before.trials), default=0)
    sessions = max((trial.session for trial in before.trials), default=0)
    kept = {
        side: tuple(_renamed(e, side) for e in found if e.cell in shared)
        for side, found in experiments.items()
    }
    ids = {
        (side, old.id): new.id
        for side in sides
        for old, new in zip(
            [e for e in experiments[side] if e.cell in shared], kept[side], strict=True
        )
    }
    trials = (
        *_trials(before, BEFORE, ids, offset=0, sessions=0),
        *_trials(after, AFTER, ids, offset=offset, sessions=sessions),
    )
    return RunData(
        run_id=f"{before.run_id} and {after.run_id}",
        manifest=after.manifest,
        document=after.document,
        spec=_spec(before, after, target),
        experiments=(*kept[BEFORE], *kept[AFTER]),
        trials=trials,
        facts=_facts(sides, target),
        complete=before.complete and after.complete,
        runs_a_side=1,
    )


def _of_target(run: RunData, target: str) -> tuple[Experiment, ...]:
    if all(t.name != target for t in run.spec.targets):
        raise UsageError(
            f"run {run.run_id} has no target {target!r}",
            remedy=f"choose one of {', '.join(t.name for t in run.spec.targets)}",
        )
    return tuple(e for e in run.experiments if e.target == target)


def _renamed(experiment: Experiment, side: str) -> Experiment:
    return dataclasses.replace(experiment, target=side, id=f"{experiment.id}-{side}")


def _trials(
    run: RunData, side: str, ids: Mapping[tuple[str, str], str], *, offset: int, sessions: int
) -> tuple[Trial, ...]:
    return tuple(
        dataclasses.replace(
            trial,
            experiment_id=ids[side, trial.experiment_id],
            sequence=trial.sequence + offset,
            session=trial.session + sessions,
        )
        for trial in run.trials
        if (side, trial.experiment_id) in ids
    )


def _facts(sides: Mapping[str, RunData], target: str) -> tuple[FactSet, ...]:
    return tuple(
        dataclasses.replace(f, target=side)
        for side, run in sides.items()
        for f in run.facts
        if f.target == target
    )


def _spec(before: RunData, after: RunData, target: str) -> Spec:
    sides: Sequence[Target] = [
        dataclasses.replace(
            run.spec.target(target),
            name=side,
            title=f"{run.spec.target(target).title} ({side})",
            environment=None,
        )
        for side, run in ((BEFORE, before), (AFTER, after))
    ]
    declared = after.spec.compare
    compare = Comparison(
        baseline=BEFORE,
        equivalence=declared.equivalence if declared else 0.02,
        must_match=declared.must_match if declared else (),
    )
    method = dataclasses.replace(after.spec.method, order=Order.SEQUENTIAL, precision=None)
    return dataclasses.replace(after.spec, targets=tuple(sides), compare=compare, method=method)


def rebase(run: RunData, baseline: str) -> RunData:
    """``run`` with another baseline of the environment that ``baseline`` is in; other environments
    keep theirs.

    Raises:
        UsageError: it has no such target, or no other one in that environment.
    """
    _of_target(run, baseline)
    spec, compare = run.spec, run.spec.compare or Comparison(baseline=baseline)
    environment = spec.target(baseline).environment
    if all(target.environment != environment for target in spec.targets if target.name != baseline):
        raise UsageError(
            f"run {run.run_id} has no other target in the environment of {baseline!r}",
            remedy="choose one that has another beside it",
        )
    elsewhere = tuple(
        name for name in compare.baselines if spec.target(name).environment != environment
    )
    compare = dataclasses.replace(
        compare, baseline=(*elsewhere, baseline) if elsewhere else baseline
    )
    return dataclasses.replace(run, spec=dataclasses.replace(spec, compare=compare))
