"""The typed model of a spec: what the YAML says once ``load`` has validated it. Quantities are in
base units.

Claims (cloud, topology, cni, ...) are what the author declares; nothing here is an observation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
else:
    Json = object  # whoever resolves annotations at run time needs no recursive type


class Role(StrEnum):
    """What a node does in a workload."""

    CLIENT = "client"
    SERVER = "server"
    LOAD_GENERATOR = "load-generator"
    STORAGE = "storage"
    MONITOR = "monitor"
    DATA_SINK = "data-sink"
    CONTROL_PLANE = "control-plane"


class TrafficPath(StrEnum):
    """The way traffic takes between client and server. All but :data:`HOST_PATHS` are virtual:
    something is between the hosts' own networks.
    """

    POD_TO_POD = "pod-to-pod"
    POD_TO_SERVICE = "pod-to-service"
    POD_TO_HOST = "pod-to-host"
    HOST_TO_HOST = "host-to-host"
    HOST_TO_SERVICE = "host-to-service"
    NODE_PORT = "node-port"
    INGRESS = "ingress"
    MESH = "mesh"
    LOOPBACK = "loopback"


HOST_PATHS = frozenset({TrafficPath.HOST_TO_HOST, TrafficPath.LOOPBACK})
"""Paths on which no virtual network takes part."""


class Placement(StrEnum):
    """Where client and server may lie relative to each other; asserted before and after every
    trial.
    """

    SAME_NODE = "same-node"
    ACROSS_NODES = "across-nodes"
    ACROSS_SITES = "across-sites"
    ANY = "any"


class Order(StrEnum):
    """How the sessions of the compared experiments follow each other."""

    BLOCKS = "blocks"
    DUET = "duet"
    SEQUENTIAL = "sequential"


class Mode(StrEnum):
    """``full`` may carry verdicts; ``smoke`` runs everything once and never carries one."""

    FULL = "full"
    SMOKE = "smoke"


class Layer(StrEnum):
    """The layer at which a documented limit counts bytes."""

    WIRE = "wire"
    L2 = "l2"
    GOODPUT = "goodput"


class SecretKind(StrEnum):
    """Where a secret is kept."""

    ENV = "env"
    FILE = "file"
    KUBERNETES = "kubernetes"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretReference:
    """``${secret:KIND:NAME}``: where a secret is to be read when it is needed; its value is never
    part of the model.
    """

    kind: SecretKind
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A place that can be reached: a runner and its connection options (validated by the runner's
    own schema).
    """

    name: str
    runner: str
    options: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """Where the machines are said to be rented."""

    provider: str
    region: str | None = None
    zone: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cvm:
    """The confidential-VM claim; ``technology`` is one of sev, sev-es, sev-snp, tdx or None."""

    expected: bool
    technology: str | None = None
    evidence: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGroup:
    """One group of equal machines of a target's topology, such as ``workers``. Memory in B, link in
    bit/s.
    """

    name: str
    count: int | None = None
    roles: tuple[str, ...] = ()
    machine: str | None = None
    cpu: str | None = None
    cores: int | None = None
    memory_bytes: float | None = None
    os: str | None = None
    kernel: str | None = None
    image: str | None = None
    nic: str | None = None
    link_bit_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A documented limit of a metric class, in base units. ``burst`` defaults to ``sustained``.

    ``where`` holds (axis, label) pairs: only points of a matrix that have them all are bounded by
    it (empty: everything).
    """

    metric: str
    sustained: float
    burst: float
    unit: str
    layer: Layer
    applies_to: str | None
    source: str
    as_of: str
    where: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What one hour of the target costs, as published at ``source`` on ``as_of`` (ISO date)."""

    per_hour: float
    currency: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One lifecycle step: exactly one of ``run`` (argv), ``script`` (file shipped with the spec),
    ``manifest``, ``chart`` or ``wait``.

    ``capture`` maps output names to how they are read; later steps use them as
    ``${output:STEP.NAME}``. ``env`` is the environment of ``run`` and ``script``, beside PATH, HOME
    and LC_ALL=C; its values may hold secret references. ``on`` is ``controller``, a role, several
    roles, or ``hosts`` for every host of the target. Times in s.
    """

    name: str
    action: str
    arguments: Mapping[str, Json]
    site: str | None = None
    on: str | tuple[str, ...] | None = None
    capture: Mapping[str, Json] = field(default_factory=dict)
    retries: int = 0
    retry_delay_s: float = 1.0
    timeout_s: float = 300.0
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """What is installed, awaited and removed, in order. ``per`` is ``run`` or ``session``."""

    bootstrap: tuple[Step, ...] = ()
    ready: tuple[Step, ...] = ()
    destroy: tuple[Step, ...] = ()
    per: str = "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """Something installed on a target, with its own lifecycle."""

    name: str
    version: str | None = None
    lifecycle: Lifecycle = field(default_factory=Lifecycle)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A named system under test: claims, components, and the sites its roles are on.

    ``sites`` maps roles to site names; a target with one inline runner maps every role to a site
    named after the target. ``cpus`` maps a role (or ``any``) to CPU numbers. ``claims`` is every
    declared fact by fact name (see engine/facts/catalogue.py), flattened from the sections below;
    ``document`` is the target's resolved mapping as written, for pages and diffs. Targets of one
    ``environment`` are compared with each other; ``title`` names it.
    """

    name: str
    title: str
    sites: Mapping[str, Site]
    claims: Mapping[str, Json]
    document: Mapping[str, Json]
    environment: str | None = None
    cloud: Cloud | None = None
    cvm: Cvm | None = None
    topology: tuple[NodeGroup, ...] = ()
    storage: Mapping[str, Json] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()
    price: Price | None = None
    components: tuple[Component, ...] = ()
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    cpus: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """The matrix axis along which a rate is expected to level off: it is saturated at the first
    point beyond which nothing adds ``gain`` (ratio).
    """

    axis: str
    gain: float = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSpec:
    """A workload of the spec: a tool with parameters and the matrix they are expanded over.

    ``matrix`` keeps axis order. An axis value that is a mapping merges its keys (but ``name``) into
    the parameters; a scalar sets the parameter named by the axis, or ``path`` or ``placement``.
    ``overrides`` maps a target name to replacements. ``gates`` maps a gate name to its bound in
    base units. ``baseline`` is the path that is measured beside every virtual one.
    """

    name: str
    title: str
    tool: str
    parameters: Mapping[str, Json]
    matrix: tuple[tuple[str, tuple[Json, ...]], ...] = ()
    zip: tuple[tuple[str, tuple[Json, ...]], ...] = ()
    exclude: tuple[Mapping[str, Json], ...] = ()
    path: TrafficPath | None = None
    placement: Placement = Placement.ANY
    cpus: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    gates: Mapping[str, float] = field(default_factory=dict)
    primary: str | None = None
    image: str | None = None
    targets: tuple[str, ...] | None = None
    overrides: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    sweep: Sweep | None = None
    baseline: TrafficPath | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """Two-stage stopping: after the planned sessions, add sessions until the relative half-width
    should be reached, at most ``max_sessions``.
    """

    half_width: float
    max_sessions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """How it is measured. ``cooldown_s`` is waited between allocations; ``replacements`` invalid
    trials are repeated per allocation; ``retries`` further allocations per target are made in place
    of those that fail for a reason from outside.
    """

    sessions: int = 10
    trials: int = 3
    warmups: int = 1
    order: Order = Order.BLOCKS
    seed: int = 0
    mode: Mode = Mode.FULL
    confidence: float = 0.95
    cooldown_s: float = 0.0
    replacements: int = 1
    retries: int = 3
    precision: Precision | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Which target is the base (of several environments, which targets), which margin counts as
    equivalent (ratio), and which facts must match.
    """

    baseline: str | tuple[str, ...]
    equivalence: float = 0.02
    must_match: tuple[str, ...] = ()

    @property
    def baselines(self) -> tuple[str, ...]:
        """Every baseline: at most one of each environment."""
        return (self.baseline,) if isinstance(self.baseline, str) else self.baseline


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """Where docs pages go and what they show."""

    docs: str | None = None
    template: str | None = None
    figures: tuple[str, ...] = ("interval", "box")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One validated spec."""

    api_version: str
    name: str
    title: str
    description: str
    targets: tuple[Target, ...]
    workloads: tuple[WorkloadSpec, ...]
    method: Method
    compare: Comparison | None
    report: ReportOptions
    labels: Mapping[str, str] = field(default_factory=dict)

    def target(self, name: str) -> Target:
        """Return the target called ``name`` (KeyError if there is none)."""
        return next(t for t in self.targets if t.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class RolePlace:
    """Where one role of an experiment runs: the site, and the CPUs it is pinned to (empty: not
    pinned).
    """

    role: Role
    site: str
    cpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """target x workload x one point of its matrix. ``id`` is the sha256 (hex) of its resolved
    meaning.

    ``point`` holds (axis, label) pairs for people; ``parameters`` is what the tool gets.
    ``primary`` selects the series that carries the verdict (``iops.read`` or ``iops.read{job=a}``).
    """

    id: str
    target: str
    workload: str
    title: str
    point: tuple[tuple[str, str], ...]
    tool: str
    parameters: Mapping[str, Json]
    roles: tuple[RolePlace, ...]
    path: TrafficPath | None = None
    placement: Placement = Placement.ANY
    gates: Mapping[str, float] = field(default_factory=dict)
    primary: str = ""
    image: str | None = None
    storage: Mapping[str, Json] = field(default_factory=dict)

    @property
    def short_id(self) -> str:
        """The first 12 hex digits, for people."""
        return self.id[:12]

    @property
    def cell(self) -> str:
        """The name of what is compared across targets: workload and point, without the target."""
        axes = ", ".join(f"{axis}={label}" for axis, label in self.point)
        return f"{self.workload}[{axes}]" if axes else self.workload


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSpec:
    """A spec with where it came from: its path, raw bytes, resolved document (variables and
    ``--set`` applied) and the overrides given.
    """

    spec: Spec
    path: Path
    source: bytes
    document: Mapping[str, Json]
    overrides: tuple[str, ...] = ()
