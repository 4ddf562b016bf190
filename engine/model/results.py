"""What a run produces: measurements, trials, facts, findings. Values are in base units; what was
not measured is absent, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from .failures import FailureClass
from .spec import Experiment, Json, Spec


class Direction(StrEnum):
    """Which way a metric is better."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"


class Statistic(StrEnum):
    """The statistic of runs that a metric's verdict is about; it decides what a difference is."""

    GEOMETRIC_MEAN = "geometric mean"
    ARITHMETIC_MEAN = "arithmetic mean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric a workload can report: declared once, in its workload.

    ``unit`` is a base unit (s, B, B/s, bit/s, 1/s, ratio). ``limits`` names the documented-limit
    classes that bound it, most specific first. ``declared``: somebody said what its unit is and
    which way is better; without that no difference of it has a meaning.
    """

    name: str
    title: str
    unit: str
    direction: Direction
    statistic: Statistic = Statistic.GEOMETRIC_MEAN
    limits: tuple[str, ...] = ()
    declared: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A metric's value in base units, from one trial. Labels tell apart several series of one
    metric (fio job, direction).
    """

    metric: str
    value: float
    unit: str
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def series(self) -> str:
        """``metric`` or ``metric{key=value,...}`` with sorted labels."""
        if not self.labels:
            return self.metric
        return f"{self.metric}{{{','.join(f'{k}={v}' for k, v in sorted(self.labels.items()))}}}"


class TrialStatus(StrEnum):
    """``valid`` alone enters the statistics; the other kinds are kept, counted and shown."""

    VALID = "valid"
    INVALID = "invalid"
    FAILED = "failed"
    VOID = "void"


class TrialKind(StrEnum):
    """Warm-ups are kept and never summarised."""

    WARMUP = "warmup"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """One validity gate applied to one trial: the observed value against its bound, in base units.
    ``observed`` None: not measured. ``ticks``: the trial lasted so few clock ticks that the share
    of stolen ones cannot be judged.
    """

    name: str
    bound: float
    observed: float | None
    passed: bool
    ticks: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RawFile:
    """One raw file of a trial: path relative to the run directory, size in B, sha256 in hex."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One execution of an experiment. Holds measurements or an error, never both.

    ``usage`` are monitor series summarised over the trial (``cpu.user``, ``cpu.steal`` as ratios of
    the pinned or all CPUs, ``memory.used`` in B, ``load.1m``), per role. Wall times are Unix s.
    ``nodes`` maps roles to the nodes they were seen on before and after; ``start_skew_s`` is how
    far apart its clients began (None: one client). ``failure`` is the class of one that is not
    valid (None: valid, or recorded before there were classes). ``replaces``: the invalid trial, or
    the one that failed for a reason from outside, in whose place it was measured.
    """

    sequence: int
    experiment_id: str
    session: int
    kind: TrialKind
    index: int
    job_id: str
    status: TrialStatus
    started_at: float
    duration_s: float
    exit_code: int | None = None
    measurements: tuple[Measurement, ...] = ()
    error: str | None = None
    error_kind: str | None = None
    gates: tuple[GateResult, ...] = ()
    raw: tuple[RawFile, ...] = ()
    usage: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    allocation: int = 1
    replaces: int | None = None
    reattached: bool = False
    nodes: Mapping[str, str] = field(default_factory=dict)
    start_skew_s: float | None = None
    failure: FailureClass | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One observed fact: its value, or None for "unknown", and the command that says it."""

    name: str
    value: Json
    source: str
    unit: str | None = None


class FindingLevel(StrEnum):
    """How much a finding weighs."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A coded statement about a run, such as drift (F1xx), placement (F2xx), validity (F3xx), limit
    (F4xx) or noise (F5xx).
    """

    code: str
    level: FindingLevel
    message: str
    target: str | None = None
    experiment_id: str | None = None
    sequence: int | None = None


class ClaimState(StrEnum):
    """How a declared fact compares with the observed one."""

    MATCH = "match"
    MISMATCH = "mismatch"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCheck:
    """A declared fact beside the one observed on a site; ``nodes`` that show the same share one
    (empty: the whole site, or its only node).
    """

    target: str
    fact: str
    declared: Json
    observed: Json
    state: ClaimState
    source: str | None = None
    site: str = ""
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FactSet:
    """All facts observed on one node of a site for one target at one moment (``when``: before,
    resumed, up, allocated, after).

    ``node`` is "" for the site as a whole and for the only node of a site with one.
    ``allocation_id`` is set for what one allocation alone showed.
    """

    target: str
    site: str
    when: str
    observed_at: float
    facts: tuple[Fact, ...]
    node: str = ""
    allocation_id: str = ""

    @property
    def place(self) -> tuple[str, str, str]:
        """Target, site and node: what two moments of a run are compared by."""
        return self.target, self.site, self.node

    def value(self, name: str) -> Json:
        """The observed value of ``name``; None when unknown or not probed."""
        return next((f.value for f in self.facts if f.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedProgram:
    """A program as it was started: its arguments, the plain part of its environment, the names of
    the secrets it got, its CPUs (empty: not pinned). Addresses and directories that an allocation
    chose are written ``${workdir}``, ``${port:server}`` and the like.
    """

    role: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    cpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedFile:
    """A file that was laid into a role's work directory; its sha256 (hex) is that of its text with
    stand-ins for what an allocation chose.
    """

    role: str
    name: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedCommands:
    """What was really started to measure an experiment."""

    experiment_id: str
    clients: tuple[UsedProgram, ...]
    servers: tuple[UsedProgram, ...] = ()
    files: tuple[UsedFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunData:
    """Everything analysis and reports need of one run, read back from its directory alone.

    ``manifest`` is manifest.json; ``document`` the resolved spec as JSON, ``spec`` the model built
    from it; ``skipped`` maps the id of an experiment that could not be measured here to the reason.
    ``complete`` is False for a run that was cut short. ``commands`` are distinct: one experiment
    has several where they changed.
    """

    run_id: str
    manifest: Mapping[str, Json]
    document: Mapping[str, Json]
    spec: Spec
    experiments: tuple[Experiment, ...]
    trials: tuple[Trial, ...]
    facts: tuple[FactSet, ...] = ()
    claims: tuple[ClaimCheck, ...] = ()
    findings: tuple[Finding, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    complete: bool = True
    resumed: int = 0
    commands: tuple[UsedCommands, ...] = ()
    runs_a_side: int | None = None
