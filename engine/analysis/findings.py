"""Findings that the analysis itself gives: limits (F4xx), noise and order (F5xx). They accompany
numbers and never change them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..model.results import Finding, FindingLevel, RunData, Trial, TrialKind, TrialStatus
from ..model.spec import Experiment, Order
from ..model.units import Dimension, scale_for
from ..planning.validity_gates import PLACEMENT, describe
from .model import Analysis, Cell, Contrast, LimitCheck, LimitState

FLAG_CODES: Mapping[str, str] = {
    "noisy": "F501",
    "outliers": "F502",
    "two modes": "F503",
    "drift": "F504",
    "autocorrelated": "F505",
    "no spread": "F506",
    "one allocation": "F507",
    "arithmetic mean": "F508",
}
"""Finding code of each flag of a summary, by the words before its colon."""

LIMIT_CODES: Mapping[LimitState, str] = {
    LimitState.BOUND: "F401",
    LimitState.CREDIT: "F402",
    LimitState.ON_CREDIT: "F402",
    LimitState.EXCEEDS: "F403",
    LimitState.UNDECIDED: "F404",
    LimitState.ABOVE_ATTAINABLE: "F405",
}
NOTICEABLE_STEAL = 0.01
FULL_CPUS = 0.95
"""A role's CPUs that were busy or stolen for this share of a trial had nothing left to give."""
TOLERATED_SKEW_S = 0.1
"""Clients that begin this far apart began together."""

_MOST_NAMED = 5
_NOTES = frozenset({"outliers", "autocorrelated", "one allocation", "arithmetic mean", "no spread"})
_NOT_AS_DOCUMENTED = frozenset({LimitState.EXCEEDS, LimitState.ABOVE_ATTAINABLE})
_ASSUMED_MTU = "an MTU that was assumed and is not that of the path, "
_CAUSES = {
    "storage": (
        "a cache in the path, a larger disk class than documented, or a limit that is a guarantee"
        " and not a cap"
    ),
    "network": (
        "both ends on one node, a larger machine type, a burst allowance, or a limit that is a"
        " guarantee and not a cap"
    ),
}


def findings_of(run: RunData, analysis: Analysis) -> tuple[Finding, ...]:
    """All findings on the summaries and contrasts of ``analysis``, in the order of its cells, then
    its contrasts.
    """
    steal = (
        _StealBySession(run.trials)
        if any(cell.summary and cell.summary.outliers for cell in analysis.cells if cell.primary)
        else None
    )
    found: list[Finding] = [
        *_order_findings(run, analysis),
        *_placement_findings(run),
        *_skew_findings(run),
        *_full_cpu_findings(run, analysis),
        *_failure_findings(run),
        *_unjudged_findings(run),
        *_precision_findings(run, analysis),
    ]
    for cell in analysis.cells:
        found.extend(
            _limit_finding(cell, check) for check in cell.limits if check.state in LIMIT_CODES
        )
        if cell.primary:
            found.extend(_flag_findings(cell, steal))
            found.extend(_without_figure(cell))
    found.extend(_ambiguous_primaries(run, analysis))
    for contrast in analysis.contrasts:
        found.extend(_contrast_findings(contrast))
    return tuple(found)


def _order_findings(run: RunData, analysis: Analysis) -> Iterator[Finding]:
    if (
        run.spec.method.order is Order.SEQUENTIAL
        and analysis.contrasts
        and "imported" not in run.manifest
    ):
        yield Finding(
            code="F510",
            level=FindingLevel.WARNING,
            message=(
                "order confounded: the targets were measured one after the other, so a drift of the"
                " environment looks like a difference"
            ),
        )


def _placement_findings(run: RunData) -> Iterator[Finding]:
    for experiment, trials in _by_experiment(
        run, lambda trial: any(gate.name == PLACEMENT and not gate.passed for gate in trial.gates)
    ):
        reasons = dict.fromkeys(
            describe(gate)
            for trial in trials
            for gate in trial.gates
            if gate.name == PLACEMENT and not gate.passed
        )
        message = (
            f"{experiment.cell} on {experiment.target}: {_numbers(trials)}: {'; '.join(reasons)}"
        )
        yield Finding(
            code="F202",
            level=FindingLevel.ERROR,
            message=message,
            target=experiment.target,
            experiment_id=experiment.id,
        )


def _skew_findings(run: RunData) -> Iterator[Finding]:
    for experiment, trials in _by_experiment(
        run,
        lambda trial: (
            trial.status is TrialStatus.VALID and (trial.start_skew_s or 0.0) > TOLERATED_SKEW_S
        ),
    ):
        worst = max(trial.start_skew_s or 0.0 for trial in trials)
        message = (
            f"{experiment.cell} on {experiment.target}: {_numbers(trials)}: the clients began up to"
            f" {1000 * worst:.0f} ms apart"
        )
        yield Finding(
            code="F301",
            level=FindingLevel.WARNING,
            message=message,
            target=experiment.target,
            experiment_id=experiment.id,
        )


def _by_experiment(
    run: RunData, chosen: Callable[[Trial], bool]
) -> Iterator[tuple[Experiment, list[Trial]]]:
    """The measured trials that are ``chosen``, by experiment, in the order of the plan."""
    found: dict[str, list[Trial]] = {}
    for trial in run.trials:
        if trial.kind is TrialKind.MEASURED and chosen(trial):
            found.setdefault(trial.experiment_id, []).append(trial)
    return (
        (experiment, found[experiment.id])
        for experiment in run.experiments
        if experiment.id in found
    )


def _numbers(trials: Sequence[Trial]) -> str:
    """``trial 7`` or ``trials 7, 9 and 3 more``."""
    first = ", ".join(str(trial.sequence) for trial in trials[:_MOST_NAMED])
    more = f" and {len(trials) - _MOST_NAMED} more" if len(trials) > _MOST_NAMED else ""
    return f"trial{'s' if len(trials) > 1 else ''} {first}{more}"


def _limit_finding(cell: Cell, check: LimitCheck) -> Finding:
    limit = check.limit
    on = f" of the {limit.applies_to}" if limit.applies_to else ""
    exceeds = check.state is LimitState.EXCEEDS
    state = check.state.value if exceeds else f"is {check.state.value}"
    message = (
        f"{cell.cell} on {cell.target}: {cell.series} {state}:"
        f" {_share(check.share_of_documented)} of the documented {limit.metric}{on},"
        f" {_share(check.share_of_attainable)} of what is attainable ({check.efficiency_basis};"
        f" {limit.source}, {limit.as_of})"
    )
    if exceeds:
        causes = _CAUSES.get(
            limit.metric.partition(".")[0], "a limit that is a guarantee and not a cap"
        )
        message += f"; possible causes: {_ASSUMED_MTU if check.assumed else ''}{causes}"
    elif check.state is LimitState.ABOVE_ATTAINABLE:
        cause = _ASSUMED_MTU if check.assumed else ""
        message += f"; possible causes: {cause}an encapsulation that this path does not have"
    elif check.state is LimitState.UNDECIDED:
        message += "; the sessions lie on both sides of where the limit begins to explain a result"
    return _of_cell(
        LIMIT_CODES[check.state],
        FindingLevel.WARNING if check.state in _NOT_AS_DOCUMENTED else FindingLevel.NOTE,
        cell,
        message,
    )


def _share(ratio: float) -> str:
    """``94.1 %``; what is less than the whole is never written as 100 %."""
    text = f"{100 * ratio:.1f}"
    return (
        f"{math.floor(ratio * 10_000) / 100:.2f} %"
        if text == "100.0" and ratio < 1
        else f"{text} %"
    )


def _flag_findings(cell: Cell, steal: _StealBySession | None) -> Iterator[Finding]:
    summary = cell.summary
    if summary is None:
        return
    for flag in summary.flags:
        word = flag.partition(":")[0]
        text = flag
        if word == "outliers":
            text += (
                "; without these sessions"
                f" {_instead(summary.centre_without_outliers, summary.centre, cell.metric.unit)}"
            )
            text += steal.cause(cell.experiment_id, summary.outliers) if steal else ""
        level = FindingLevel.NOTE if word in _NOTES else FindingLevel.WARNING
        yield _of_cell(
            FLAG_CODES[word], level, cell, f"{cell.cell} on {cell.target}: {cell.series}: {text}"
        )
    if summary.centre_with_invalid is not None:
        message = (
            f"{cell.cell} on {cell.target}: {cell.series}: {_invalid_count(cell)} trials are"
            " invalid and left out; "
        )
        message += (
            f"with them {_instead(summary.centre_with_invalid, summary.centre, cell.metric.unit)}"
        )
        yield _of_cell("F512", FindingLevel.WARNING, cell, message)


def _full_cpu_findings(run: RunData, analysis: Analysis) -> Iterator[Finding]:
    """Roles whose CPUs were full in most trials that are about a path or a disk; what one role
    measures without either is its CPUs.
    """
    primary = {
        cell.experiment_id: cell
        for cell in analysis.cells
        if cell.primary and cell.summary is not None
    }
    for experiment, trials in _by_experiment(run, lambda trial: trial.status is TrialStatus.VALID):
        cell = primary.get(experiment.id)
        if cell is None or (len(experiment.roles) < 2 and not cell.metric.limits):
            continue
        for role in sorted({role for trial in trials for role in trial.usage}):
            full = [
                share
                for trial in trials
                if (share := _taken(trial.usage.get(role, {}))) >= FULL_CPUS
            ]
            if 2 * len(full) > len(trials):
                message = (
                    f"{cell.cell} on {cell.target}: the CPUs of the {role} were full in {len(full)}"
                    f" of {len(trials)} valid trials "
                )
                message += (
                    f"(busy or stolen {100 * sum(full) / len(full):.0f} % of the time), so"
                    f" {cell.series} may show what they allow"
                )
                yield _of_cell("F522", FindingLevel.NOTE, cell, message)


def _failure_findings(run: RunData) -> Iterator[Finding]:
    """Cells whose targets lost different shares of their trials for good."""
    replaced = {trial.replaces for trial in run.trials}
    made: Counter[str] = Counter()
    lost: dict[str, Counter[str]] = {}
    for trial in run.trials:
        if trial.kind is TrialKind.MEASURED and trial.sequence not in replaced:
            made[trial.experiment_id] += 1
            if trial.status is TrialStatus.FAILED:
                word = trial.failure.value if trial.failure else "of unknown class"
                lost.setdefault(trial.experiment_id, Counter())[word] += 1
    cells: dict[str, list[Experiment]] = {}
    for experiment in run.experiments:
        if made[experiment.id]:
            cells.setdefault(experiment.cell, []).append(experiment)
    for cell, mine in cells.items():
        counts = {one.id: lost.get(one.id, Counter[str]()) for one in mine}
        if len({counts[one.id].total() / made[one.id] for one in mine}) > 1:
            told = "; ".join(
                f"{one.target} {counts[one.id].total()} of {made[one.id]}{_in_words(counts[one.id])}"
                for one in mine
            )
            yield Finding(
                code="F514",
                level=FindingLevel.WARNING,
                message=f"{cell}: trials that failed for good: {told}",
            )


def _precision_findings(run: RunData, analysis: Analysis) -> Iterator[Finding]:
    wished = run.spec.method.precision
    if wished is None or not run.complete:
        return
    for cell in analysis.cells:
        summary = cell.summary
        if not cell.primary or summary is None or summary.interval is None or not summary.centre:
            continue
        reached = (summary.interval.high - summary.interval.low) / 2 / abs(summary.centre)
        if reached > wished.half_width:
            message = (
                f"{cell.cell} on {cell.target}: {cell.series}: the interval's half-width is"
                f" {100 * reached:.3g} % of the value, and {100 * wished.half_width:.3g} % were"
                f" wished, after {len(summary.values)} sessions"
            )
            yield _of_cell("F590", FindingLevel.WARNING, cell, message)


def _in_words(classes: Mapping[str, int]) -> str:
    words = [f"{number} {word}" for word, number in sorted(classes.items())]
    return f" ({', '.join(words)})" if words else ""


def _unjudged_findings(run: RunData) -> Iterator[Finding]:
    for experiment, trials in _by_experiment(
        run, lambda trial: any(gate.ticks is not None for gate in trial.gates)
    ):
        example = next(gate for gate in trials[0].gates if gate.ticks is not None)
        yield Finding(
            code="F591",
            level=FindingLevel.NOTE,
            message=f"{experiment.cell} on {experiment.target}: {_numbers(trials)}: "
            + describe(example),
            target=experiment.target,
            experiment_id=experiment.id,
        )


def _taken(usage: Mapping[str, float]) -> float:
    return usage.get("cpu.busy", 0.0) + usage.get("cpu.steal", 0.0)


def _instead(value: float | None, shown: float, unit: str) -> str:
    """``47.642 instead of 47.317 Mbit/s``: both in the unit in which they read well."""
    values = [shown] if value is None else [value, shown]
    factor, name = scale_for(values, Dimension(unit)) if unit in tuple(Dimension) else (1.0, unit)
    first = "none" if value is None else f"{value / factor:.5g}"
    return f"{first} instead of {shown / factor:.5g} {name}"


def _invalid_count(cell: Cell) -> str:
    measured = sum(cell.counts.values())
    return f"{measured - cell.counts.get('valid', 0)} of {measured}"


def _ambiguous_primaries(run: RunData, analysis: Analysis) -> Iterator[Finding]:
    settled = {cell.experiment_id for cell in analysis.cells if cell.primary}
    for experiment in run.experiments:
        if experiment.primary and experiment.id not in settled:
            message = (
                f"{experiment.cell} on {experiment.target}: several series are called"
                f" {experiment.primary}, so none carries a verdict"
            )
            yield Finding(
                code="F513",
                level=FindingLevel.WARNING,
                message=f"{message}; name one with its labels under `primary`",
                target=experiment.target,
                experiment_id=experiment.id,
            )


def _without_figure(cell: Cell) -> Iterator[Finding]:
    valid = cell.counts.get(TrialStatus.VALID.value, 0)
    with_it = cell.summary.trials if cell.summary is not None else 0
    if with_it < valid:
        message = (
            f"{cell.cell} on {cell.target}: {valid - with_it} of {valid} valid trials did not"
            f" report {cell.series}, so the figures rest on {with_it}"
        )
        yield _of_cell("F518", FindingLevel.WARNING, cell, message)


def _left_out(contrast: Contrast) -> Iterator[Finding]:
    if not (contrast.primary and contrast.paired and any(contrast.left_out)):
        return
    sides = zip((contrast.baseline, contrast.target), contrast.left_out, strict=True)
    missing = " and ".join(
        f"{_sessions(sessions)} of {name}" for name, sessions in sides if sessions
    )
    yield Finding(
        code="F517",
        level=FindingLevel.WARNING,
        message=(
            f"{contrast.cell}, {contrast.target} against {contrast.baseline}: {contrast.series}:"
            f" {missing} left out of the comparison, since the other side has no such session"
        ),
        target=contrast.target,
    )


def _sessions(numbers: Sequence[int]) -> str:
    first = ", ".join(map(str, numbers[:_MOST_NAMED]))
    more = f" and {len(numbers) - _MOST_NAMED} more" if len(numbers) > _MOST_NAMED else ""
    return f"session{'s' if len(numbers) > 1 else ''} {first}{more}"


def _contrast_findings(contrast: Contrast) -> Iterator[Finding]:
    yield from _left_out(contrast)
    if contrast.primary and contrast.test_dependent:
        yield Finding(
            code="F511",
            level=FindingLevel.WARNING,
            message=(
                f"{contrast.cell}, {contrast.target} against {contrast.baseline}:"
                f" {contrast.series}: test-dependent: the t test and the rank test disagree on"
                " whether there is a difference"
            ),
            target=contrast.target,
        )


def _of_cell(code: str, level: FindingLevel, cell: Cell, message: str) -> Finding:
    return Finding(
        code=code,
        level=level,
        message=message,
        target=cell.target,
        experiment_id=cell.experiment_id,
    )


class _StealBySession:
    """The highest CPU steal that monitors saw in each session, as a candidate cause of outliers."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        self._worst: dict[tuple[str, int], float] = {}
        for trial in trials:
            seen = [
                figures["cpu.steal"] for figures in trial.usage.values() if "cpu.steal" in figures
            ]
            if seen and trial.kind is TrialKind.MEASURED:
                key = trial.experiment_id, trial.session
                self._worst[key] = max(self._worst.get(key, 0.0), *seen)

    def cause(self, experiment_id: str, sessions: Sequence[int]) -> str:
        """A clause naming the steal in those sessions, where it was noticeable."""
        worst = max(
            (self._worst.get((experiment_id, session), 0.0) for session in sessions), default=0.0
        )
        return f"; CPU steal reached {100 * worst:.1f} % there" if worst >= NOTICEABLE_STEAL else ""
