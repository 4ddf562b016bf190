"""Findings that the analysis itself gives: limits (F4xx), noise and order (F5xx). They accompany numbers and never change them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ..gates import PLACEMENT, describe
from ..results import Finding, FindingLevel, RunData, Trial, TrialKind, TrialStatus
from ..spec import Experiment, Order
from ..units import Dimension, scale_for
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

LIMIT_CODES: Mapping[LimitState, str] = {LimitState.BOUND: "F401", LimitState.CREDIT: "F402", LimitState.EXCEEDS: "F403"}
NOTICEABLE_STEAL = 0.01
FULL_CPUS = 0.95
"""A role's CPUs that were busy or stolen for this share of a trial had nothing left to give."""
TOLERATED_SKEW_S = 0.1
"""Clients that begin this far apart began together."""

_MOST_NAMED = 5
_NOTES = frozenset({"outliers", "autocorrelated", "one allocation", "arithmetic mean", "no spread"})
_CAUSES = {
    "storage": "a cache in the path, a larger disk class than documented, or a limit that is a guarantee and not a cap",
    "network": "both ends on one node, a larger machine type, a burst allowance, or a limit that is a guarantee and not a cap",
}


def findings_of(run: RunData, analysis: Analysis) -> tuple[Finding, ...]:
    """All findings on the summaries and contrasts of ``analysis``, in the order of its cells, then its contrasts."""
    steal = _StealBySession(run.trials) if any(cell.summary and cell.summary.outliers for cell in analysis.cells if cell.primary) else None
    found: list[Finding] = [*_order_findings(run, analysis), *_placement_findings(run), *_skew_findings(run), *_full_cpu_findings(run, analysis)]
    for cell in analysis.cells:
        found.extend(_limit_finding(cell, check) for check in cell.limits if check.state in LIMIT_CODES)
        if cell.primary:
            found.extend(_flag_findings(cell, steal))
    found.extend(_ambiguous_primaries(run, analysis))
    for contrast in analysis.contrasts:
        found.extend(_contrast_findings(contrast))
    return tuple(found)


def _order_findings(run: RunData, analysis: Analysis) -> Iterator[Finding]:
    if run.spec.method.order is Order.SEQUENTIAL and analysis.contrasts and "imported" not in run.manifest:
        yield Finding(
            code="F510",
            level=FindingLevel.WARNING,
            message="order confounded: the targets were measured one after the other, so a drift of the environment looks like a difference",
        )


def _placement_findings(run: RunData) -> Iterator[Finding]:
    for experiment, trials in _by_experiment(run, lambda trial: any(gate.name == PLACEMENT and not gate.passed for gate in trial.gates)):
        reasons = dict.fromkeys(describe(gate) for trial in trials for gate in trial.gates if gate.name == PLACEMENT and not gate.passed)
        message = f"{experiment.cell} on {experiment.target}: {_numbers(trials)}: {'; '.join(reasons)}"
        yield Finding(code="F202", level=FindingLevel.ERROR, message=message, target=experiment.target, experiment_id=experiment.id)


def _skew_findings(run: RunData) -> Iterator[Finding]:
    for experiment, trials in _by_experiment(run, lambda trial: trial.status is TrialStatus.VALID and (trial.start_skew_s or 0.0) > TOLERATED_SKEW_S):
        worst = max(trial.start_skew_s or 0.0 for trial in trials)
        message = f"{experiment.cell} on {experiment.target}: {_numbers(trials)}: the clients began up to {1000 * worst:.0f} ms apart"
        yield Finding(code="F301", level=FindingLevel.WARNING, message=message, target=experiment.target, experiment_id=experiment.id)


def _by_experiment(run: RunData, chosen: Callable[[Trial], bool]) -> Iterator[tuple[Experiment, list[Trial]]]:
    """The measured trials that are ``chosen``, by experiment, in the order of the plan."""
    found: dict[str, list[Trial]] = {}
    for trial in run.trials:
        if trial.kind is TrialKind.MEASURED and chosen(trial):
            found.setdefault(trial.experiment_id, []).append(trial)
    return ((experiment, found[experiment.id]) for experiment in run.experiments if experiment.id in found)


def _numbers(trials: Sequence[Trial]) -> str:
    """``trial 7`` or ``trials 7, 9 and 3 more``."""
    first = ", ".join(str(trial.sequence) for trial in trials[:_MOST_NAMED])
    more = f" and {len(trials) - _MOST_NAMED} more" if len(trials) > _MOST_NAMED else ""
    return f"trial{'s' if len(trials) > 1 else ''} {first}{more}"


def _limit_finding(cell: Cell, check: LimitCheck) -> Finding:
    limit = check.limit
    on = f" of the {limit.applies_to}" if limit.applies_to else ""
    documented, attainable = 100 * check.share_of_documented, 100 * check.share_of_attainable
    exceeds = check.state is LimitState.EXCEEDS
    state = check.state.value if exceeds else f"is {check.state.value}"
    message = (
        f"{cell.cell} on {cell.target}: {cell.series} {state}: {documented:.1f} % of the documented {limit.metric}{on}, "
        f"{attainable:.1f} % of what is attainable ({check.efficiency_basis}; {limit.source}, {limit.as_of})"
    )
    if exceeds:
        message += f"; possible causes: {_CAUSES.get(limit.metric.partition('.')[0], 'a limit that is a guarantee and not a cap')}"
    return _of_cell(LIMIT_CODES[check.state], FindingLevel.WARNING if exceeds else FindingLevel.NOTE, cell, message)


def _flag_findings(cell: Cell, steal: _StealBySession | None) -> Iterator[Finding]:
    summary = cell.summary
    if summary is None:
        return
    for flag in summary.flags:
        word = flag.partition(":")[0]
        text = flag
        if word == "outliers":
            text += f"; without these sessions {_instead(summary.centre_without_outliers, summary.centre, cell.metric.unit)}"
            text += steal.cause(cell.experiment_id, summary.outliers) if steal else ""
        level = FindingLevel.NOTE if word in _NOTES else FindingLevel.WARNING
        yield _of_cell(FLAG_CODES[word], level, cell, f"{cell.cell} on {cell.target}: {cell.series}: {text}")
    if summary.centre_with_invalid is not None:
        message = f"{cell.cell} on {cell.target}: {cell.series}: {_invalid_count(cell)} trials are invalid and left out; "
        message += f"with them {_instead(summary.centre_with_invalid, summary.centre, cell.metric.unit)}"
        yield _of_cell("F512", FindingLevel.WARNING, cell, message)


def _full_cpu_findings(run: RunData, analysis: Analysis) -> Iterator[Finding]:
    """Roles whose CPUs were full in most trials that are about a path or a disk; what one role measures without either is its CPUs."""
    primary = {cell.experiment_id: cell for cell in analysis.cells if cell.primary and cell.summary is not None}
    for experiment, trials in _by_experiment(run, lambda trial: trial.status is TrialStatus.VALID):
        cell = primary.get(experiment.id)
        if cell is None or (len(experiment.roles) < 2 and not cell.metric.limits):
            continue
        for role in sorted({role for trial in trials for role in trial.usage}):
            full = [share for trial in trials if (share := _taken(trial.usage.get(role, {}))) >= FULL_CPUS]
            if 2 * len(full) > len(trials):
                message = f"{cell.cell} on {cell.target}: the CPUs of the {role} were full in {len(full)} of {len(trials)} valid trials "
                message += f"(busy or stolen {100 * sum(full) / len(full):.0f} % of the time), so {cell.series} may show what they allow"
                yield _of_cell("F522", FindingLevel.NOTE, cell, message)


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
            message = f"{experiment.cell} on {experiment.target}: several series are called {experiment.primary}, so none carries a verdict"
            yield Finding(
                code="F513",
                level=FindingLevel.WARNING,
                message=f"{message}; name one with its labels under `primary`",
                target=experiment.target,
                experiment_id=experiment.id,
            )


def _contrast_findings(contrast: Contrast) -> Iterator[Finding]:
    if contrast.primary and contrast.test_dependent:
        yield Finding(
            code="F511",
            level=FindingLevel.WARNING,
            message=f"{contrast.cell}, {contrast.target} against {contrast.baseline}: {contrast.series}: test-dependent: "
            "the t test and the rank test disagree on whether there is a difference",
            target=contrast.target,
        )


def _of_cell(code: str, level: FindingLevel, cell: Cell, message: str) -> Finding:
    return Finding(code=code, level=level, message=message, target=cell.target, experiment_id=cell.experiment_id)


class _StealBySession:
    """The highest CPU steal that monitors saw in each session, as a candidate cause of outliers."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        self._worst: dict[tuple[str, int], float] = {}
        for trial in trials:
            seen = [figures["cpu.steal"] for figures in trial.usage.values() if "cpu.steal" in figures]
            if seen and trial.kind is TrialKind.MEASURED:
                key = trial.experiment_id, trial.session
                self._worst[key] = max(self._worst.get(key, 0.0), *seen)

    def cause(self, experiment_id: str, sessions: Sequence[int]) -> str:
        """A clause naming the steal in those sessions, where it was noticeable."""
        worst = max((self._worst.get((experiment_id, session), 0.0) for session in sessions), default=0.0)
        return f"; CPU steal reached {100 * worst:.1f} % there" if worst >= NOTICEABLE_STEAL else ""
