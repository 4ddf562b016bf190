"""Contrasts: every series of every target against the baseline. Sessions are aligned first, then
all alike contrasts are computed at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from . import ranks
from .intervals import Floats
from .ratio_intervals import (
    Ratios,
    paired_log_ratio,
    paired_mean_ratio,
    welch_log_ratio,
    welch_mean_ratio,
)
from .series import Integers
from .summaries import Described

MOST_FOR_RANKS = 1_000
NO_REPLICATION = "ratio of single values, no replication"


@dataclass(frozen=True, slots=True)
class Alignment:
    """Which rows of the session table are compared: equally long and block by block when
    ``paired``.
    """

    baseline: int
    target: int
    rows_a: Integers
    rows_b: Integers
    paired: bool
    geometric: bool
    pilot: int | None

    def left_out(self, described: Described) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The sessions of the baseline and of the target that are not compared."""
        return (
            _missing(described, self.baseline, self.rows_a),
            _missing(described, self.target, self.rows_b),
        )

    def centres(self, described: Described) -> tuple[float, float]:
        """The means of baseline and target over the sessions that are compared."""
        a, b = (
            _values(described, rows[None, :], self.geometric) for rows in (self.rows_a, self.rows_b)
        )
        if self.geometric:
            return float(np.exp(np.log(a).mean())), float(np.exp(np.log(b).mean()))
        return float(a.mean()), float(b.mean())

    @property
    def pairs(self) -> int:
        """Pairs of sessions, or the smaller number of sessions of the two sides."""
        return min(len(self.rows_a), len(self.rows_b))


@dataclass(frozen=True, slots=True)
class Estimate:
    """One computed contrast; NaN where a figure does not exist. ``other_p`` and ``other_sign`` are
    those of the mean that the metric does not declare.
    """

    method: str
    ratio: float
    low: float
    high: float
    margin_low: float
    margin_high: float
    p: float
    df: float
    sign: float
    spread: float
    checks: Mapping[str, float]
    test_dependent: bool
    shift: float
    shift_low: float
    shift_high: float
    other_p: float
    other_sign: float


def align(
    described: Described, baseline: int, target: int, blocks: bool, first_stage: int | None
) -> Alignment:
    """Align the sessions of two series. With ``blocks`` sessions of equal number share a block and
    are paired; unless none are shared.
    """
    table = described.table
    slice_a, slice_b = table.rows(baseline), table.rows(target)
    sessions_a, sessions_b = table.session[slice_a], table.session[slice_b]
    geometric = bool(described.geometric[baseline] and described.geometric[target])
    everything = np.arange(slice_a.start, slice_a.stop), np.arange(slice_b.start, slice_b.stop)
    if not blocks:
        return Alignment(baseline, target, *everything, False, geometric, None)
    common, in_a, in_b = np.intersect1d(
        sessions_a, sessions_b, assume_unique=True, return_indices=True
    )
    if not len(common):
        return Alignment(baseline, target, *everything, False, geometric, None)
    pilot = len(common) if first_stage is None else int((common <= first_stage).sum())
    two_stages = 2 <= pilot < len(common)
    return Alignment(
        baseline,
        target,
        everything[0][in_a],
        everything[1][in_b],
        True,
        geometric,
        pilot if two_stages else None,
    )


def estimate(
    described: Described, alignments: Sequence[Alignment], confidence: float
) -> list[Estimate]:
    """An estimate for each alignment, in order."""
    groups: dict[tuple[bool, bool, int, int, int | None], list[int]] = {}
    for i, each in enumerate(alignments):
        groups.setdefault(
            (each.paired, each.geometric, len(each.rows_a), len(each.rows_b), each.pilot), []
        ).append(i)
    results: dict[int, Estimate] = {}
    for members in groups.values():
        batch = [alignments[i] for i in members]
        results.update(zip(members, _estimate_alike(described, batch, confidence), strict=True))
    return [results[i] for i in range(len(alignments))]


def ratio_without_outliers(
    described: Described, alignment: Alignment, outliers: frozenset[int]
) -> float | None:
    """The ratio when sessions (by number) that are outliers on either side are left out; None if
    fewer than two remain.
    """
    session = described.table.session
    kept_a = np.array(
        [row for row in alignment.rows_a if int(session[row]) not in outliers], dtype=np.int64
    )
    kept_b = np.array(
        [row for row in alignment.rows_b if int(session[row]) not in outliers], dtype=np.int64
    )
    if min(len(kept_a), len(kept_b)) < 2:
        return None
    a, b = (_values(described, rows[None, :], alignment.geometric) for rows in (kept_a, kept_b))
    return float(_plain_ratio(a, b, alignment.geometric)[0])


def _missing(described: Described, number: int, rows: Integers) -> tuple[int, ...]:
    everything = described.table.rows(number)
    left = np.setdiff1d(np.arange(everything.start, everything.stop), rows)
    return tuple(described.table.session[left].tolist())


def _values(described: Described, rows: Integers, geometric: bool) -> Floats:
    return described.values[rows] if geometric else described.table.mean[rows]


def _estimate_alike(
    described: Described, batch: Sequence[Alignment], confidence: float
) -> Iterator[Estimate]:
    """Alignments of the same shape and method as one matrix each for baseline and target."""
    first = batch[0]
    a = _values(described, np.stack([each.rows_a for each in batch]), first.geometric)
    b = _values(described, np.stack([each.rows_b for each in batch]), first.geometric)
    if first.pairs < 2:
        yield from _single_values(_plain_ratio(a, b, first.geometric))
        return
    ratios = _ratios(first, a, b, confidence)
    other = _other_mean(described, batch, confidence)
    yield from _rows(ratios, other, *_checks(first, a, b, ratios, confidence))


def _other_mean(
    described: Described, batch: Sequence[Alignment], confidence: float
) -> tuple[Floats, Floats]:
    """p and sign of the comparison by the mean that was not declared: arithmetic for geometric
    ones, and the other way round where all values have a logarithm. NaN where there is none.
    """
    first = batch[0]
    rows_a = np.stack([each.rows_a for each in batch])
    rows_b = np.stack([each.rows_b for each in batch])
    table = described.table
    if first.geometric:
        found = (paired_mean_ratio if first.paired else welch_mean_ratio)(
            table.mean[rows_a], table.mean[rows_b], confidence
        )
        return found.p, found.sign
    logs_a, logs_b = table.log_mean[rows_a], table.log_mean[rows_b]
    exists = np.isfinite(logs_a.sum(axis=1) + logs_b.sum(axis=1))
    found = (paired_log_ratio if first.paired else welch_log_ratio)(
        np.exp(np.where(exists[:, None], logs_a, 0.0)),
        np.exp(np.where(exists[:, None], logs_b, 0.0)),
        confidence,
    )
    return np.where(exists, found.p, np.nan), np.where(exists, found.sign, np.nan)


def _plain_ratio(a: Floats, b: Floats, geometric: bool) -> Floats:
    if geometric:
        return np.asarray(np.exp(np.log(b).mean(axis=1) - np.log(a).mean(axis=1)), dtype=np.float64)
    mean_a, mean_b = a.mean(axis=1), b.mean(axis=1)
    ratio = np.divide(
        mean_b, mean_a, out=np.full(len(mean_a), np.nan), where=(mean_a > 0) & (mean_b >= 0)
    )
    return np.asarray(ratio, dtype=np.float64)


def _single_values(ratio: Floats) -> Iterator[Estimate]:
    nan = float("nan")
    for value in ratio.tolist():
        yield Estimate(
            method=NO_REPLICATION,
            ratio=value,
            low=nan,
            high=nan,
            margin_low=nan,
            margin_high=nan,
            p=nan,
            df=nan,
            sign=nan,
            spread=nan,
            checks={},
            test_dependent=False,
            shift=nan,
            shift_low=nan,
            shift_high=nan,
            other_p=nan,
            other_sign=nan,
        )


def _ratios(shape: Alignment, a: Floats, b: Floats, confidence: float) -> Ratios:
    if shape.paired:
        return (paired_log_ratio if shape.geometric else paired_mean_ratio)(
            a, b, confidence, shape.pilot
        )
    return (welch_log_ratio if shape.geometric else welch_mean_ratio)(a, b, confidence)


def _checks(
    shape: Alignment, a: Floats, b: Floats, ratios: Ratios, confidence: float
) -> tuple[dict[str, Floats], Floats]:
    """Named figures of the cross-checks, and where the rank test's answer at this confidence
    differs from the t test's.
    """
    if max(a.shape[1], b.shape[1]) > MOST_FOR_RANKS:
        return {}, np.zeros(len(a))
    x, y = (np.log(a), np.log(b)) if shape.geometric else (a, b)
    u, rank_p = ranks.mann_whitney(x, y)
    checks = {
        "mann_whitney_p": rank_p,
        "cliffs_delta": ranks.cliffs_delta(u, a.shape[1], b.shape[1]),
    }
    if shape.paired:
        rank_p = ranks.signed_rank_p(y - x)
        checks |= {"wilcoxon_p": rank_p, "sign_flip_p": ranks.sign_flip_p(y - x)}
        shift = ranks.hodges_lehmann(y - x)
        checks["welch_p"] = (welch_log_ratio if shape.geometric else welch_mean_ratio)(
            a, b, confidence
        ).p
    else:
        shift = ranks.hodges_lehmann_shift(x, y)
    checks["hodges_lehmann_ratio" if shape.geometric else "hodges_lehmann_difference"] = (
        np.exp(shift) if shape.geometric else shift
    )
    alpha = 1 - confidence
    differs = (ratios.p < alpha) != (rank_p < alpha)
    return checks, differs & (_smallest_rank_p(shape) < alpha)


def _smallest_rank_p(shape: Alignment) -> float:
    """What the rank test can reach at best; with 5 pairs 0.0625, which is no disagreement with a t
    test.
    """
    if shape.paired:
        return 2.0 ** (1 - len(shape.rows_a))
    arrangements = np.prod([(len(shape.rows_a) + i) / i for i in range(1, len(shape.rows_b) + 1)])
    return float(2 / arrangements)


def _rows(
    ratios: Ratios, other: tuple[Floats, Floats], checks: Mapping[str, Floats], differs: Floats
) -> Iterator[Estimate]:
    columns = [
        ratios.ratio,
        ratios.low,
        ratios.high,
        ratios.margin_low,
        ratios.margin_high,
        ratios.p,
        ratios.df,
        ratios.sign,
        ratios.spread,
    ]
    named = {name: values.tolist() for name, values in checks.items()}
    for i, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        ratio, low, high, margin_low, margin_high, p, df, sign, spread = row
        figures = {name: values[i] for name, values in named.items()}
        yield Estimate(
            ratios.method,
            ratio,
            low,
            high,
            margin_low,
            margin_high,
            p,
            df,
            sign,
            spread,
            figures,
            bool(differs[i]),
            float(ratios.shift[i]),
            float(ratios.shift_low[i]),
            float(ratios.shift_high[i]),
            float(other[0][i]),
            float(other[1][i]),
        )
