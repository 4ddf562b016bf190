"""What analysis concludes: summaries per cell, comparisons against the baseline, verdicts. Values
in base units, ratios as b/a.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ..model.results import Finding, Metric, Statistic
from ..model.spec import Limit
from .reasons import NoLevel, NoRatio, NoValue, NoVerdict, Void


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A confidence interval and the method that made it."""

    low: float
    high: float
    confidence: float
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One series of one experiment, described on session values.

    ``values`` are the session values (mean of the session's valid trials, on logs for geometric
    metrics), ``sessions`` their session numbers. ``centre`` is the declared statistic of
    ``values``. ``cov`` is sd/mean. Variances are relative (of logs) where the metric is geometric;
    ``variance_between`` is what sessions add to the scatter of their trials (with one trial per
    session: the whole variance of the sessions). ``outliers`` are session numbers. ``flags`` are
    sentences; what stands before their colon is one of a fixed set (see describe.py).
    ``centre_without_outliers`` and ``centre_with_invalid`` are there where the run has such values;
    they never replace ``centre``.
    """

    sessions: tuple[int, ...]
    values: tuple[float, ...]
    trials: int
    centre: float
    mean: float
    median: float
    sd: float | None
    cov: float | None
    minimum: float
    maximum: float
    q1: float
    q3: float
    interval: Interval | None
    median_interval: Interval | None = None
    variance_between: float | None = None
    variance_within: float | None = None
    outliers: tuple[int, ...] = ()
    flags: tuple[str, ...] = ()
    centre_without_outliers: float | None = None
    centre_with_invalid: float | None = None


class LimitState(StrEnum):
    """Where a result lies relative to the attainable rate of a documented limit."""

    FREE = "free"
    BOUND = "limit-bound"
    CREDIT = "limit-bound by burst credit"
    ON_CREDIT = "above the sustained rate on burst credit"
    ABOVE_ATTAINABLE = "above what was held attainable"
    EXCEEDS = "exceeds the documented limit"
    UNDECIDED = "near the documented limit, not decided"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitCheck:
    """A result held against one documented limit. Shares are of the sustained limit; ``efficiency``
    is attainable/documented with its reason; ``assumed``: that rests on an MTU that nobody saw.
    """

    limit: Limit
    efficiency: float
    efficiency_basis: str
    attainable_sustained: float
    attainable_burst: float
    share_of_documented: float
    share_of_attainable: float
    state: LimitState
    assumed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One series of one experiment: what was measured, or why not. ``counts`` maps a trial status
    to how many measured trials had it.
    """

    experiment_id: str
    target: str
    cell: str
    series: str
    metric: Metric
    primary: bool
    counts: Mapping[str, int]
    summary: Summary | None
    not_measured: NoValue | None = None
    limits: tuple[LimitCheck, ...] = ()


class Difference(StrEnum):
    """Of the target against the baseline."""

    HIGHER = "higher"
    LOWER = "lower"
    NONE_ESTABLISHED = "none established"
    DEPENDS_ON_MEAN = "depends on the mean"


class Margin(StrEnum):
    """Whether the ratio lies inside the equivalence margin."""

    INSIDE = "inside"
    OUTSIDE = "outside"
    UNDECIDED = "undecided"


class Bound(StrEnum):
    """What a ratio is when one side runs at a documented limit: without it the target would have
    been higher (at least), or the baseline (at most).
    """

    AT_LEAST = "at least"
    AT_MOST = "at most"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjusted:
    """A p that was small enough alone, and what the family's adjustment lifted it to."""

    p: float
    p_adjusted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherMean:
    """What the mean that was not declared says: its adjusted p (of the same family), and which mean
    it is.
    """

    statistic: Statistic
    p_adjusted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Void for a ``reason``, or a difference and a margin; never both. ``adjusted`` is there where
    the family's adjustment alone kept a difference from being established, ``other_mean`` where the
    two means disagree on it. ``no_ratio``: the difference is one of means, and there is no margin.

    Pages, exports, ``compare`` and its exit code say what stands here and nothing else.
    """

    reason: NoVerdict | None = None
    difference: Difference | None = None
    margin: Margin | None = None
    adjusted: Adjusted | None = None
    other_mean: OtherMean | None = None
    no_ratio: NoRatio | None = None

    @property
    def settled(self) -> bool:
        """Whether it says something: a direction, or that both lie inside the margin."""
        if self.reason is not None:
            return False
        return (
            self.difference in (Difference.HIGHER, Difference.LOWER) or self.margin is Margin.INSIDE
        )

    @property
    def void(self) -> Void | None:
        """The kind of the reason for giving no verdict; None where there is a verdict."""
        return None if self.reason is None else self.reason.void


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """The difference b - a of two arithmetic means, in the metric's base unit, with its interval:
    what is left to say where no ratio exists.
    """

    value: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """One series of a target (b) against the baseline (a): ratio b/a with intervals, p and
    Holm-adjusted p (primary family), and the verdict.

    ``verdict`` is None for descriptive (non-primary) series. ``margin_interval`` is the 90 %
    interval that decides the margin. ``sessions_needed``: sessions that would settle a difference
    of the size seen, or of the margin, with 80 % power. ``bound`` is there when one side is
    limit-bound, so the ratio is only a bound. ``checks`` holds rank tests and cross-checks
    (JSON only). ``paired`` says whether sessions were compared block by block; if not, ``pairs`` is
    the smaller number of sessions of the two sides. ``paths`` are those of a and b where both are
    of one target: its ``baseline_cell``, measured on the host path, against ``cell``.

    ``statistic`` is the mean that was compared. ``shift`` is there where no ratio exists.
    ``centres`` are the means of a and b over the sessions that were compared, ``left_out`` the
    sessions of a and of b that the other side lacks. ``same_settings``: a and b are two targets
    that differ in their names alone, so whatever differs is noise of the method.
    """

    cell: str
    series: str
    metric: Metric
    primary: bool
    baseline: str
    target: str
    pairs: int
    method: str
    ratio: float | None
    interval: Interval | None
    margin_interval: Interval | None
    p: float | None
    p_holm: float | None
    df: float | None
    equivalence: float
    verdict: Verdict | None
    sessions_needed: int | None = None
    bound: Bound | None = None
    test_dependent: bool = False
    checks: Mapping[str, float] = field(default_factory=dict)
    paired: bool = True
    baseline_cell: str = ""
    paths: tuple[str, str] | None = None
    statistic: Statistic = Statistic.GEOMETRIC_MEAN
    shift: Shift | None = None
    centres: tuple[float, float] | None = None
    left_out: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    same_settings: bool = False


class Level(StrEnum):
    """Whether a later point of a sweep adds the declared gain to this one."""

    RISING = "rising"
    SATURATED = "saturated"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoint:
    """One point of a sweep: its label on the axis, its cell, and how it compares with the points
    after it.

    ``most`` bounds the gain of every later point from above, ``least`` the greatest such gain from
    below (ratios - 1; None: no interval).
    """

    label: str
    cell: str
    level: Level
    centre: float | None
    most: float | None = None
    least: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Saturation:
    """Where the primary series of one target levels off along an axis: the first point beyond which
    no point adds ``gain``.

    That point lies ``at_least`` at the first point that is not established as rising and
    ``at_most`` at the first from which on all are established as saturated (labels; None: not
    within the sweep), both together with the analysis' confidence. ``limit`` is the documented
    limit that the rate there is at, if any. ``reason`` says why nothing can be said.
    """

    target: str
    workload: str
    others: tuple[tuple[str, str], ...]
    axis: str
    gain: float
    series: str
    metric: Metric
    sessions: int
    points: tuple[SweepPoint, ...]
    at_least: str | None = None
    at_most: str | None = None
    limit: LimitCheck | None = None
    reason: NoLevel | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """All cells and contrasts of a run. ``family`` is how many primary verdicts were Holm-adjusted
    together; ``baseline`` as the spec has it.

    ``findings`` are what the numbers themselves give away: broken arithmetic (F35x), limits (F4xx),
    noise and order (F5xx).
    """

    cells: tuple[Cell, ...]
    contrasts: tuple[Contrast, ...]
    family: int
    confidence: float
    equivalence: float | None
    baseline: str | tuple[str, ...] | None
    findings: tuple[Finding, ...] = ()
    saturations: tuple[Saturation, ...] = ()
