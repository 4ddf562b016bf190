"""What a series of results over time shows: levels that changed, and single results that the ones
before do not lead to expect.

- A change is where the means before and after differ most (at least five results on each side),
  and differ more than in all but 1 % of random orders of the same results. Each part is looked at
  again. A series without a change thus shows one in at most 1 % of cases, whatever the
  distribution; results that depend on those before them can show more.
- A result is held against the interval that a further result of the same level lies in with 99 %
  probability: mean +/- t sqrt(1 + 1/k) s, of the k (at least five) results of that level before it.
  One in a hundred lies outside by chance.

Both on logs where the metric's mean is geometric. tests/engine/history/test_changes.py simulates
the rates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..analysis.intervals import Floats, t_quantile

CONTEXT = 5
"""Results that a level needs before anything is said of it."""
ALARM = 0.01
"""How often a series without a change shows one, and how often a single result lies outside."""
_BATCHES, _IN_BATCH = 27, 37  # 999 random orders, so that 1 % of all is a whole number


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What is said of one result. ``expected`` is the interval it was expected in (None: too little
    before it), ``outside`` whether it lies outside of it; ``change`` is the ratio (or, where there
    is none, the difference) of the level that begins here to the one before; ``acknowledged`` why
    somebody said that a new level begins here.
    """

    expected: tuple[float, float] | None = None
    outside: bool = False
    change: float | None = None
    is_ratio: bool = True
    acknowledged: str | None = None

    @property
    def alarming(self) -> bool:
        """Whether it says that something changed which nobody acknowledged."""
        return self.acknowledged is None and (self.outside or self.change is not None)


def judge(
    values: Sequence[float], *, geometric: bool, restarts: Mapping[int, str] | None = None
) -> list[Mark]:
    """A mark for each of ``values``, which are in the order of time. ``restarts``: where a new
    level is known to begin, with the reason.
    """
    known = restarts or {}
    on_logs = geometric and all(value > 0 for value in values)
    series = np.asarray([math.log(v) if on_logs else v for v in values], dtype=np.float64)
    begins = sorted({0, *known})
    levels: list[int] = []
    for begin, end in zip(begins, [*begins[1:], len(values)], strict=True):
        levels += [begin, *(begin + at for at in find_changes(series[begin:end]))]
    parts = np.split(series, levels[1:])
    marks: list[Mark] = []
    for level, part in enumerate(parts):
        change = float(part.mean() - parts[level - 1].mean()) if level else None
        marks += _marks(part, on_logs, change, known.get(levels[level]))
    return marks


def find_changes(series: Floats) -> list[int]:
    """Where new levels begin in ``series``, in order."""
    count = len(series)
    if count < 2 * CONTEXT:
        return []
    at, apart = _widest(series[None, :])
    orders, as_far = np.random.default_rng(1), 0
    for _ in range(_BATCHES):
        batch = orders.permuted(np.tile(series, (_IN_BATCH, 1)), axis=1)
        as_far += int((_widest(batch)[1] >= apart[0] * (1 - 1e-12)).sum())
        if (1 + as_far) / (1 + _BATCHES * _IN_BATCH) > ALARM:  # whatever the others say
            return []
    split = int(at[0])
    after = (split + one for one in find_changes(series[split:]))
    return [*find_changes(series[:split]), split, *after]


def _widest(rows: Floats) -> tuple[Floats, Floats]:
    """For each row where its two parts differ most, and by how much, in units that all places have
    alike: |difference of the means| sqrt(k (n - k) / n).
    """
    count = rows.shape[1]
    sizes = np.arange(CONTEXT, count - CONTEXT + 1)
    sums = rows.cumsum(axis=1)
    left = sums[:, sizes - 1]
    total = sums[:, -1:]
    apart = np.abs(left - total * sizes / count) / np.sqrt(sizes * (count - sizes) / count)
    best = apart.argmax(axis=1)
    return sizes[best], np.take_along_axis(apart, best[:, None], axis=1)[:, 0]


def _marks(
    level: Floats, on_logs: bool, change: float | None, reason: str | None
) -> Iterator[Mark]:
    """The marks of one level's results."""
    back = math.exp if on_logs else float
    low, high = _expected(level)
    slack = 1e-12 * np.maximum(np.abs(low), np.abs(high))  # equal but for their last bit
    outside = (level[CONTEXT:] < low - slack) | (level[CONTEXT:] > high + slack)
    for at in range(len(level)):
        first, judged = at == 0, at - CONTEXT
        shown = back(change) if first and change is not None else None
        yield Mark(
            expected=(back(low[judged]), back(high[judged])) if judged >= 0 else None,
            outside=judged >= 0 and bool(outside[judged]),
            change=shown,
            is_ratio=on_logs,
            acknowledged=reason if first else None,
        )


def _expected(level: Floats) -> tuple[Floats, Floats]:
    """The interval in which each result is to be expected, from the ``CONTEXT``-th on."""
    before = np.arange(CONTEXT, len(level), dtype=np.float64)
    shifted = level - level[0]  # small sums: what is alike stays exact
    sums, squares = shifted.cumsum()[CONTEXT - 1 : -1], (shifted**2).cumsum()[CONTEXT - 1 : -1]
    mean = sums / before
    spread = np.sqrt(np.maximum(squares - sums * mean, 0.0) / (before - 1))
    reach = t_quantile(before - 1, 1 - ALARM) * spread * np.sqrt(1 + 1 / before)
    return level[0] + mean - reach, level[0] + mean + reach
