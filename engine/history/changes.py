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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..analysis.intervals import Floats, t_quantile

CONTEXT = 5
"""Results that a level needs before anything is said of it."""
ALARM = 0.01
"""How often a series without a change shows one, and how often a single result lies outside."""
_ORDERS = 999


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
    ends = [*levels[1:], len(values)]
    marks: list[Mark] = []
    for level, (begin, end) in enumerate(zip(levels, ends, strict=True)):
        before = series[levels[level - 1] : begin] if level else None
        change = None if before is None else float(series[begin:end].mean() - before.mean())
        for at in range(begin, end):
            first = at == begin
            marks.append(
                _mark(
                    series[begin:at],
                    float(series[at]),
                    on_logs,
                    change if first else None,
                    known.get(at),
                )
            )
    return marks


def find_changes(series: Floats) -> list[int]:
    """Where new levels begin in ``series``, in order."""
    count = len(series)
    if count < 2 * CONTEXT:
        return []
    at, apart = _widest(series[None, :])
    orders = np.random.default_rng(1).permuted(np.tile(series, (_ORDERS, 1)), axis=1)
    as_far = int((_widest(orders)[1] >= apart[0] * (1 - 1e-12)).sum())
    if (1 + as_far) / (1 + _ORDERS) > ALARM:
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


def _mark(
    before: Floats, value: float, on_logs: bool, change: float | None, reason: str | None
) -> Mark:
    back = math.exp if on_logs else float
    shown = None if change is None else back(change)
    known = len(before)
    if known < CONTEXT:
        return Mark(change=shown, is_ratio=on_logs, acknowledged=reason)
    reach = float(t_quantile(known - 1.0, 1 - ALARM)) * float(before.std(ddof=1))
    reach *= math.sqrt(1 + 1 / known)
    low, high = float(before.mean()) - reach, float(before.mean()) + reach
    slack = 1e-12 * max(abs(low), abs(high))  # equal results do not differ by their last bit
    return Mark(
        expected=(back(low), back(high)),
        outside=not low - slack <= value <= high + slack,
        change=shown,
        is_ratio=on_logs,
        acknowledged=reason,
    )
