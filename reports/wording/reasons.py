"""The words of reasons: why there is no verdict, no value, or nothing to say of a sweep.

Without titles a target is called by its name, as the exports do.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import assert_never

from ...engine.analysis.model import Verdict
from ...engine.analysis.reasons import (
    AtLimit,
    BothAtLimit,
    Cause,
    FactDiffers,
    FactsDiffer,
    FactUnknown,
    FailedGates,
    FailuresDiffer,
    FewRuns,
    FewSessions,
    FewSharedSessions,
    FewValidSessions,
    MeanIsZero,
    MeanNearZero,
    MeanNotPositive,
    Mismatch,
    NoLevel,
    NoPoint,
    NoRate,
    NoRatio,
    NotDeclared,
    NotReported,
    NotRun,
    NoValidTrial,
    NoValue,
    NoVerdict,
    OnePoint,
    OutOfRange,
    Shown,
    Skipped,
    SmokeMode,
    TrialError,
    TrialsNotValid,
)
from ...engine.model.results import TrialStatus
from ...engine.model.spec import Role, TrafficPath
from .numbers import scale_column

NO_TITLES: Mapping[str, str] = MappingProxyType({})
_SMOKE = "smoke mode runs everything once and carries no verdict"


def write_no_verdict(reason: NoVerdict, titles: Mapping[str, str] = NO_TITLES) -> str:
    """Why a comparison carries no verdict; ``titles`` is what targets are called on the page."""
    match reason:
        case NoValidTrial(target=target, path=path, why=why):
            because = "" if why is None else f": {write_no_value(why)}"
            return f"{_side(target, path, titles)} has no valid trial{because}"
        case FewValidSessions(target=target, path=path, valid=valid, attempted=attempted):
            return (
                f"only {valid} of {attempted} sessions of {_side(target, path, titles)} are valid"
            )
        case FailuresDiffer():
            here, there = (
                titles.get(reason.target, reason.target),
                titles.get(reason.baseline, reason.baseline),
            )
            return (
                f"{_percent(reason.share)} of the trials of {here} failed and"
                f" {_percent(reason.baseline_share)} of those of {there}: the shares differ by more"
                f" than {_percent(reason.budget)}, so what is left is no fair sample of both"
            )
        case FactsDiffer(mismatches=mismatches):
            return "; ".join(map(_write_mismatch, mismatches))
        case BothAtLimit(baseline=baseline, target=at):
            return _both_at_limit(baseline, at, titles)
        case NotDeclared(series=series):
            return f"nobody declared the unit and the direction of {series}"
        case OutOfRange(series=series):
            return f"no difference of such figures of {series} can be computed"
        case SmokeMode():
            return _SMOKE
        case FewRuns(found=found, least=least):
            runs = "run" if found == 1 else "runs"
            return (
                f"found {found} {runs} a side, expected at least {least}: sessions of one run share"
                " the state of that hour"
            )
        case FewSessions(found=found, least=least, paired=paired):
            return f"found {_sessions(found, paired)}, expected at least {least}"
        case _:
            assert_never(reason)


def _both_at_limit(baseline: AtLimit, target: AtLimit, titles: Mapping[str, str]) -> str:
    if (baseline.rate, baseline.metric) == (target.rate, target.metric):
        return (
            f"both sides run at the documented limit of {_rate(baseline)}, so the comparison says"
            " nothing about the software"
        )
    return (
        f"{titles.get(target.target, target.target)} runs at its documented limit of"
        f" {_rate(target)} and {titles.get(baseline.target, baseline.target)} at its own of"
        f" {_rate(baseline)}, so the comparison is one of the limits and says nothing about the"
        " software"
    )


def _rate(limit: AtLimit) -> str:
    return scale_column([limit.rate], limit.unit).declared(limit.rate)


def write_no_ratio(why: NoRatio, titles: Mapping[str, str] = NO_TITLES) -> str:
    """Why a comparison has no ratio, as a clause."""
    name = titles.get(why.target, why.target)
    match why:
        case MeanIsZero():
            return f"there is no ratio, since every session of {name} gave 0"
        case MeanNotPositive():
            return f"there is no ratio, since the mean of {name} is not above 0"
        case MeanNearZero():
            return f"there is no ratio, since the mean of {name} cannot be told from 0"
        case _:
            assert_never(why)


def write_no_value(why: NoValue) -> str:
    """Why a series of an experiment has no value."""
    match why:
        case Skipped(why=text):
            return text
        case NotRun():
            return "not run"
        case NotReported():
            return "no valid trial reported it"
        case TrialsNotValid(cause=cause, count=count, trials=trials):
            return f"{_write_cause(cause)} ({count} of {trials} trials)"
        case _:
            assert_never(why)


def write_no_level(reason: NoLevel) -> str:
    """Why nothing can be said about where a rate levels off."""
    match reason:
        case NoRate(series=series):
            return f"{series} is no rate that levels off: higher is not better"
        case SmokeMode():
            return _SMOKE
        case NoPoint():
            return "no point was measured"
        case OnePoint():
            return "found one point, expected at least two"
        case FewSharedSessions(found=found, least=least):
            return (
                f"found {found} {'session' if found == 1 else 'sessions'} that two points share,"
                f" expected at least {least}"
            )
        case _:
            assert_never(reason)


def write_remark(verdict: Verdict, titles: Mapping[str, str] = NO_TITLES) -> str | None:
    """What is said beside a verdict: why there is none, that the means disagree, that the family's
    adjustment alone kept a difference from being established, or why there is no ratio.
    """
    if verdict.reason is not None:
        return write_no_verdict(verdict.reason, titles)
    if verdict.other_mean is not None:
        p = verdict.other_mean.p_adjusted
        return f"the {verdict.other_mean.statistic} decides otherwise (adjusted p = {p:.2g})"
    if verdict.adjusted is None:
        return None if verdict.no_ratio is None else write_no_ratio(verdict.no_ratio, titles)
    return (
        f"p = {verdict.adjusted.p:.2g} alone; {verdict.adjusted.p_adjusted:.2g} after adjustment"
        " for all primary verdicts of the page"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _side(target: str, path: TrafficPath | None, titles: Mapping[str, str]) -> str:
    """A side by its title; two paths of one target are told apart by its name and the path."""
    return titles.get(target, target) if path is None else f"{target} ({path})"


def _sessions(found: int, paired: bool) -> str:
    plural = "" if found == 1 else "s"
    return f"{found} pair{plural} of sessions" if paired else f"{found} session{plural} on one side"


def _write_cause(cause: Cause) -> str:
    match cause:
        case TrialError(message=message):
            return message
        case FailedGates(gates=gates):
            return f"gate {', '.join(gates)} failed"
        case TrialStatus():
            return f"trial {cause.value}"
        case _:
            assert_never(cause)


def _write_mismatch(mismatch: Mismatch) -> str:
    match mismatch:
        case FactDiffers(fact=fact, target=target, baseline=baseline, roles=roles):
            text = f"{fact} must match: {_write_shown(target)}, {_write_shown(baseline)}"
        case FactUnknown(fact=fact, targets=targets, roles=roles):
            text = f"{fact} must match and is unknown on {' and '.join(targets)}"
        case _:
            assert_never(mismatch)
    return text + _nodes_of(roles)


def _write_shown(shown: Shown) -> str:
    declared = " (declared)" if shown.declared else ""
    return f"{', '.join(shown.values)} on {shown.target}{declared}"


def _nodes_of(roles: tuple[Role, ...]) -> str:
    return f" (nodes of the {' and the '.join(roles)})" if roles else ""
