"""Sweeps in words: where a rate levels off along an axis, what the statement rests on, and whether
a documented limit is the reason.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...engine.analysis.model import Level, Saturation, SweepPoint
from ..wording.numbers import (
    ABSENT,
    plain_decimals,
    scale_column,
    write_declared,
    write_number,
    write_share,
)
from ..wording.reasons import write_no_level
from ..wording.sentences import plain_noun
from ..wording.values import title_of
from .model import SweepRow, SweepView

STATES = {
    Level.RISING: "a later point adds the gain",
    Level.SATURATED: "no later point adds the gain",
    Level.UNDECIDED: "undecided",
}


def describe_sweep(
    saturation: Saturation, titles: Mapping[str, str], confidence: float
) -> SweepView:
    """The sentence of one sweep, and a row for each of its points."""
    scale = scale_column(
        [point.centre for point in saturation.points if point.centre is not None],
        saturation.metric.unit,
    )
    last = len(saturation.points) - 1
    rows = tuple(
        SweepRow(
            point=f"{saturation.axis} {point.label}",
            centre=ABSENT if point.centre is None else scale.write(point.centre),
            least=_gain(point.least),
            most=_gain(point.most),
            state="the last point" if index == last else STATES[point.level],
        )
        for index, point in enumerate(saturation.points)
    )
    return SweepView(
        target=titles.get(saturation.target, saturation.target),
        others=", ".join(f"{axis} {label}" for axis, label in saturation.others),
        metric=title_of(saturation.metric),
        unit=scale.unit,
        gain=write_declared(saturation.gain),
        sentence=write_saturation(saturation, titles, confidence),
        rows=rows,
    )


def write_saturation(saturation: Saturation, titles: Mapping[str, str], confidence: float) -> str:
    """Where the rate levels off, with the data it rests on; no more than both bounds carry."""
    where = f"On {titles.get(saturation.target, saturation.target)}" + "".join(
        f", {axis} {label}" for axis, label in saturation.others
    )
    what = plain_noun(saturation.metric)
    if saturation.reason is not None:
        why = write_no_level(saturation.reason)
        return f"{where}, nothing can be said about where {what} levels off: {why}."
    basis = f" ({write_declared(confidence)} confidence, {saturation.sessions} sessions)"
    return f"{where}, {_body(saturation, what)}{basis}.{_limit(saturation)}"


def _body(saturation: Saturation, what: str) -> str:
    axis, points = saturation.axis, saturation.points
    labels = [point.label for point in points]
    low = labels.index(saturation.at_least) if saturation.at_least is not None else 0
    high = None if saturation.at_most is None else labels.index(saturation.at_most)
    gain = write_declared(saturation.gain)
    if high is None and low == len(points) - 1:
        return (
            f"{what} has not levelled off within the sweep: to every point before {axis}"
            f" {labels[-1]} a later one adds {gain} or more"
        )
    if high is None:
        tried = "" if low == 0 else f"; it does not before {axis} {labels[low]}"
        return f"it is undecided whether {what} levels off within the sweep{tried}"
    further = (
        f"no further point ({', '.join(labels[high + 1 :])}) adds {gain}, {_at_most(points[high])}"
    )
    if low == high:
        before = (
            f", while to {axis} {labels[high - 1]} a later one adds {_at_least(points[high - 1])}"
            if high
            else ""
        )
        return (
            f"{what} levels off at {axis} {labels[high]}{_value(saturation, high)}:"
            f" {further}{before}"
        )
    before = f" to {labels[low - 1]} a later one adds {_at_least(points[low - 1])}," if low else ""
    return (
        f"{what} levels off between {axis} {labels[low]} and {labels[high]}:{before} beyond"
        f" {labels[high]} {further}; for {', '.join(labels[low:high])} it is undecided"
    )


def _value(saturation: Saturation, index: int) -> str:
    centre = saturation.points[index].centre
    return (
        ""
        if centre is None
        else f" ({scale_column([centre], saturation.metric.unit).quantity(centre)})"
    )


def _limit(saturation: Saturation) -> str:
    """That the limit is full is said only where the rate is at it."""
    check = saturation.limit
    if check is None:
        return ""
    of = f" of the {check.limit.applies_to}" if check.limit.applies_to else ""
    where = f"{saturation.axis} {saturation.at_most}"
    share = (
        f"{write_share(check.share_of_attainable)} of what the documented {check.limit.metric}{of}"
        " can carry"
    )
    return f" That is {share}, so the limit is full with {where}."


def _at_most(point: SweepPoint) -> str:
    return "" if point.most is None else f"at most {_gain(point.most)}"


def _at_least(point: SweepPoint) -> str:
    return "" if point.least is None else f"at least {_gain(point.least)}"


def _gain(gain: float | None) -> str:
    """Always in percent: what is added more than doubles the rate at more than 100 %."""
    if gain is None:
        return ""
    return f"{write_number(100 * gain, min(3, plain_decimals(100 * gain, 3)), sign=True)} %"
