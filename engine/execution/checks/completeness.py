"""Whether every planned trial of a run gave a result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from ...model.errors import Incomplete
from ...model.failures import FailureClass
from ...model.results import Trial, TrialKind, TrialStatus
from ...model.spec import Experiment
from ..slots import Slot


def require_complete(
    planned: Sequence[Slot],
    trials: Iterable[Trial],
    experiments: Mapping[str, Experiment],
    left_out: Collection[str] = (),
) -> None:
    """Raises Incomplete when planned trials gave no result, naming how many of how many, where, and
    of which class their failures are.

    ``planned``: the slots of the plan, not those that make up for others. A trial that was measured
    in another's place counts for it, and one of an added session for any of its experiment.
    ``left_out``: experiments that do not count.
    """
    wanted = Counter(
        slot.experiment_id
        for slot in planned
        if slot.kind is TrialKind.MEASURED and slot.experiment_id not in left_out
    )
    got: Counter[str] = Counter()
    failed: dict[str, Counter[FailureClass]] = {}
    for trial in _last_words(trials):
        if trial.status in (TrialStatus.VALID, TrialStatus.INVALID):
            got[trial.experiment_id] += 1
        elif trial.failure is not None:
            failed.setdefault(trial.experiment_id, Counter())[trial.failure] += 1
    missing: Counter[str] = Counter()
    classes: dict[str, Counter[FailureClass]] = {}
    for experiment_id, number in wanted.items():
        lacking = max(0, number - got[experiment_id])
        if lacking:
            target = experiments[experiment_id].target
            missing[target] += lacking
            classes.setdefault(target, Counter()).update(failed.get(experiment_id, {}))
    if not missing:
        return
    where = "; ".join(
        f"{target}: {number}{_told(classes[target])}" for target, number in missing.items()
    )
    again = any(each.is_from_outside for found in classes.values() for each in found)
    raise Incomplete(
        f"incomplete: {missing.total()} of {wanted.total()} planned trials gave no result"
        f" ({where})",
        remedy=(
            "`benchspec resume` measures again what failed for a reason from outside"
            if again
            else "see the trials' errors on the page; what failed by itself is not measured again"
        ),
    )


def _last_words(trials: Iterable[Trial]) -> list[Trial]:
    """The measured trials in whose place no other was measured."""
    measured = [trial for trial in trials if trial.kind is TrialKind.MEASURED]
    replaced = {trial.replaces for trial in measured}
    return [trial for trial in measured if trial.sequence not in replaced]


def _told(classes: Mapping[FailureClass, int]) -> str:
    words = [f"{number} {each.value}" for each, number in sorted(classes.items())]
    return f", failures: {', '.join(words)}" if words else ""
