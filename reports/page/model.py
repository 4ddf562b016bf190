"""The view: all that a page says, as plain text and rounded numbers, in the order of the page.
Layout is the templates' business.

Strings are plain text, never markup: each renderer escapes them for its own format. A percent
difference exists only as a :class:`Comparison`, whose text carries its verdict; the bare ratio is
not part of the view.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..figures.figures import Figure
from ..wording.verdict_words import Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A named statement, such as one row of the method section."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Which trials a number comes from: the anchor of their row in the raw-data section, and their
    sequence numbers in words.
    """

    anchor: str
    trials: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One sentence of the summary: the cell it is about, its words, how it may be coloured, and the
    trials behind both sides.
    """

    cell: str
    text: str
    tone: Tone
    anchor: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One comparison against the baseline. Printing it gives the sentence; ``change`` is the
    percent together with its verdict.
    """

    cell: str
    series: str
    baseline: str
    target: str
    sentence: str
    change: str
    verdict: str
    test: str
    tone: Tone
    primary: bool
    references: tuple[Reference, ...] = ()

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow:
    """One target's result in a cell, every number in the table's unit. ``absent`` holds the reason
    when there is no number.
    """

    target: str
    sessions: str
    trials: str
    centre: str
    interval: str
    median: str
    sd: str
    cov: str
    quartiles: str
    limits: str
    price: str
    notes: str
    reference: Reference
    absent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptiveRow:
    """One further series of a cell: a value with interval per target (same order as
    :attr:`CellView.targets`), and comparisons without verdict.
    """

    series: str
    title: str
    unit: str
    values: tuple[str, ...]
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellView:
    """One workload at one point of its matrix: the primary metric's table and comparisons, then the
    descriptive series.

    ``compared`` are the targets of :attr:`DescriptiveRow.changes`, ``against`` the baseline of
    each.
    """

    name: str
    title: str
    anchor: str
    metric: str
    statistic: str
    unit: str
    better: str
    targets: tuple[str, ...]
    rows: tuple[ResultRow, ...]
    comparisons: tuple[Comparison, ...]
    compared: tuple[str, ...]
    against: tuple[str, ...]
    descriptive: tuple[DescriptiveRow, ...]
    figures: tuple[Figure, ...]
    has_limits: bool
    has_price: bool
    has_notes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRow:
    """One point of a sweep: its mean in the sweep's unit, and what later points add to it, bounded
    from below and above.
    """

    point: str
    centre: str
    least: str
    most: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepView:
    """Where a rate levels off along an axis on one target: the sentence, and the points. ``others``
    are the fixed axes.
    """

    target: str
    others: str
    metric: str
    unit: str
    gain: str
    sentence: str
    rows: tuple[SweepRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadView:
    """One workload of the spec: what was run, figures over all its cells, where sweeps level off,
    and the cells.
    """

    name: str
    title: str
    anchor: str
    tool: str
    settings: tuple[Item, ...]
    figures: tuple[Figure, ...]
    cells: tuple[CellView, ...]
    sweeps: tuple[SweepView, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRow:
    """One observed fact; ``declared`` is filled only where the spec says otherwise."""

    name: str
    observed: str
    declared: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A target as it was observed (what names a machine or changes by the moment left out), its
    documented limits and its price.
    """

    target: str
    title: str
    anchor: str
    facts: tuple[FactRow, ...]
    limits: tuple[Item, ...]
    price: str
    pinned: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingLine:
    """One setting that differs, of a workload or of ``all``; values in the order of
    :attr:`SettingTable.targets` (empty: not measured there).
    """

    workload: str
    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingTable:
    """Where targets differ in what was set and started for them."""

    targets: tuple[str, ...] = ()
    lines: tuple[SettingLine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FactLine:
    """One fact on every target, in the order of :attr:`FactTable.targets`."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactTable:
    """Facts side by side. ``alike`` and ``unknown`` name further ones: the same on all targets, and
    not to be found out on any.
    """

    targets: tuple[str, ...]
    lines: tuple[FactLine, ...]
    alike: tuple[str, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRow:
    """One row of declared against observed."""

    target: str
    fact: str
    declared: str
    observed: str
    state: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Caution:
    """A kind of finding that is a warning or an error: its ``code``, what it means in a few words,
    and what it is ``about``.
    """

    code: str
    title: str
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRow:
    """One coded finding, with what it is about."""

    code: str
    level: str
    subject: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """Something planned that has no number, and why."""

    target: str
    what: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludedTrial:
    """A measured trial outside the statistics: its sequence number, status, and the gates or the
    error that put it there.
    """

    sequence: int
    target: str
    cell: str
    session: int
    status: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRow:
    """The trials of one experiment: valid ones by sequence number, the others, warm-ups, and where
    their raw files lie in the run directory.
    """

    anchor: str
    experiment: str
    target: str
    cell: str
    valid: str
    others: str
    warmups: str
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedDifference:
    """A fact or monitor figure that differs between two targets: listed beside an established
    difference, not as its cause.
    """

    target: str
    baseline: str
    name: str
    on_target: str
    on_baseline: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRow:
    """What the node of a role was busy with during an experiment's trials: shares of all its CPUs,
    and memory in use. Empty: not known.
    """

    target: str
    cell: str
    role: str
    busy: str
    user: str
    system: str
    softirq: str
    iowait: str
    steal: str
    memory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerRow:
    """What a container used: CPU time in a trial and for each request or operation, and its working
    set. Empty: not known.

    ``pod`` is the role whose pod it is in, or the workload that made its pods
    (``deployment/echo``), which no role has.
    """

    target: str
    cell: str
    role: str
    site: str
    pod: str
    container: str
    cpu: str
    per_sample: str
    memory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything a page says. ``run_id``, ``spec_sha256`` and ``version`` also stamp docs pages for
    ``docs check``.
    """

    title: str
    description: tuple[str, ...]
    run_id: str
    version: str
    spec_sha256: str
    date: str
    about: tuple[Item, ...]
    warnings: tuple[str, ...]
    summary: tuple[Statement, ...]
    workloads: tuple[WorkloadView, ...]
    configurations: tuple[Configuration, ...]
    facts: FactTable
    claims: tuple[ClaimRow, ...]
    confidential: tuple[str, ...]
    cautions: tuple[Caution, ...]
    findings: tuple[FindingRow, ...]
    differences: tuple[ObservedDifference, ...]
    not_measured: tuple[Absence, ...]
    excluded: tuple[ExcludedTrial, ...]
    method: tuple[Item, ...]
    formulas: tuple[str, ...]
    raw: tuple[RawRow, ...]
    confidence: str = "95 %"
    baseline: str = ""
    labels: tuple[Item, ...] = field(default=())
    loads: tuple[LoadRow, ...] = ()
    containers: tuple[ContainerRow, ...] = ()
    unseen: tuple[str, ...] = ()
    settings: SettingTable = SettingTable()

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Every figure of the page, in its order."""
        return tuple(
            f
            for w in self.workloads
            for f in (*w.figures, *(f for c in w.cells for f in c.figures))
        )
