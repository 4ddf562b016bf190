"""The protocols that runners and workloads satisfy, and the values they exchange. One narrow door per direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from .results import Fact, Finding, Measurement, Metric
from .spec import Experiment, Json, Placement, Role, RolePlace, Site, Step, TrafficPath


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A program a workload needs: the executable's name, the Debian package that has it, and the argv that prints its version (empty: do not ask).

    ``roles`` are those that need it; empty for all.
    """

    executable: str
    package: str
    version_argv: tuple[str, ...]
    roles: tuple[Role, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """The machine a role's programs run on: its name on the site, as in :meth:`Session.facts`, and what identifies it whatever it is called.

    ``identity`` is the fact ``machine.id``; None: unknown.
    """

    name: str
    identity: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a role can be reached by the others, and a port that is free there. ``host`` may be an IPv4, IPv6 or DNS name."""

    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What an allocation offers to a workload's commands: endpoints and private work directories per role.

    ``devices``: the path of the raw device that a role got where the target's volumes are block devices; such a role's work directory is elsewhere.
    """

    endpoints: Mapping[Role, Endpoint]
    workdirs: Mapping[Role, str]
    devices: Mapping[Role, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What the lifecycle of a target made on a site, so that it can be found there: by the ids of the allocations to which objects of manifests
    belong, and by the charts' releases with their namespace ("": the site's).
    """

    allocation_ids: tuple[str, ...] = ()
    releases: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What an experiment asks of an allocation beyond its roles: the path between them, where they may lie, their image, and the volume that
    ``volumes`` (roles) get. A runner whose ``unsupported`` let the experiment pass provides it, and ignores what has no meaning on its sites.

    ``ports``: how many consecutive ports its servers listen on, from their endpoint's on; ``fixed_ports``: others, which the spec itself names.
    Whatever lies on the path lets all of them through.
    ``made``: what else belongs to the target there, whose load is part of the answer.
    """

    path: TrafficPath | None = None
    placement: Placement = Placement.ANY
    image: str | None = None
    storage: Mapping[str, Json] = field(default_factory=dict)
    volumes: tuple[Role, ...] = ()
    ports: int = 1
    fixed_ports: tuple[int, ...] = ()
    made: Made = Made()


NO_DEMAND = Demand()

DEFAULT_TTL_S = 24 * 3600.0
"""After this the place itself ends and removes what a controller that never came back left there, where a runner has the option ``ttl``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedFile:
    """A file the workload needs in a role's work directory before it starts."""

    role: Role
    name: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One program to run: argv (never a shell string), the role it runs in, its deadline in s, and files to fetch afterwards.

    ``fetch`` names files relative to the work directory; a missing one is simply absent from :attr:`Completed.files`.
    ``env`` is added to a minimal environment (PATH, HOME, LC_ALL=C). ``secrets`` maps environment names to values that are handed over without
    ever being in argv, a log, the journal or a rendered file. ``lasting``: what the program leaves running in the background goes on when it ends,
    until its allocation is released; otherwise it ends with the program.
    """

    argv: tuple[str, ...]
    role: Role
    timeout_s: float
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    fetch: tuple[str, ...] = ()
    cpus: tuple[int, ...] = ()
    lasting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A program that serves while clients measure. It is ready when ``endpoint`` accepts a TCP connection within ``ready_timeout_s``.

    ``settle_s`` is waited before every trial, once for all transports: a server may be deaf while it recovers from the trial before, or from the
    probe, which it takes for a broken client.
    """

    command: Command
    endpoint: Endpoint
    ready_timeout_s: float = 10.0
    settle_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """What a workload wants done for one trial: servers are started once per allocation, clients once per trial, in parallel."""

    clients: tuple[Command, ...]
    servers: tuple[Server, ...] = ()
    files: tuple[PlacedFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A finished job: raw bytes, exit code (128+n for a signal), and when it ran (Unix s by the controller's clock, whatever the node's clock says).

    A non-zero exit is a value, not an error.
    """

    argv: tuple[str, ...]
    exit_code: int
    stdout: bytes
    stderr: bytes
    started_at: float
    duration_s: float
    files: Mapping[str, bytes] = field(default_factory=dict)


@runtime_checkable
class Workload(Protocol):
    """A tool benchspec can measure with: pure functions over parameters (already checked by its schema) and raw bytes; no I/O.

    ``parameters`` are the JSON values of the spec (quantities still strings such as ``"60 s"``); the workload converts them itself.
    Satisfied by a module (``workloads/fio.py``).
    """

    NAME: str
    METRICS: Sequence[Metric]
    ROLES: Sequence[Role]
    DEFAULT_GATES: Mapping[str, float]

    def metrics(self, parameters: Mapping[str, Json]) -> Sequence[Metric]:
        """The metrics of these parameters: METRICS for a tool with a fixed set; ``command`` declares its own. Never import a fixed set by name."""
        ...

    def tools(self, parameters: Mapping[str, Json]) -> Sequence[Tool]:
        """The programs that must be on the target."""
        ...

    def primary(self, parameters: Mapping[str, Json]) -> str:
        """The series that carries the verdict unless the spec names another."""
        ...

    def duration_s(self, parameters: Mapping[str, Json]) -> float:
        """How long one trial is expected to take, ramp included, for the estimate and the deadline."""
        ...

    def commands(self, experiment: Experiment, surroundings: Surroundings) -> Commands:
        """The programs of one trial; argv only."""
        ...

    def parse(self, completed: Sequence[Completed], parameters: Mapping[str, Json]) -> Sequence[Measurement]:
        """Numbers out of raw bytes, in base units. Raises ParseError, and nothing else, on any bytes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why something planned cannot be done by a runner, and what to do about it."""

    message: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedFile:
    """A file that would be created or a command that would be executed, for ``plan --render``."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """Something of ours that still exists on a site: a process group, a directory, an object."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One monitor sample: seconds since the sampler started, and cumulative or instant figures by name (see runners/local/monitor)."""

    elapsed_s: float
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStatus:
    """What a site knows of a tool: where it is and what version it says, or None when it is missing. ``node``: where it was looked for; "" here."""

    tool: Tool
    path: str | None
    version: str | None
    node: str = ""


class Sampler(Protocol):
    """A monitor running beside a trial; samples stay in memory until it is stopped."""

    def stop(self) -> Sequence[Sample]:
        """End sampling and return what was seen (idempotent)."""
        ...


class Job(Protocol):
    """One detached program. It goes on when the controller dies; whoever knows its id can attach again."""

    job_id: str

    def wait(self, timeout_s: float) -> None:
        """Block until it ends. Raises JobTimeout after killing its whole process group."""
        ...

    def cancel(self) -> None:
        """Kill its whole process group, first kindly; harmless when it has ended."""
        ...

    def collect(self) -> Completed:
        """The raw bytes of an ended job (may be called again)."""
        ...

    def discard(self) -> None:
        """Remove its files, once the results are durable."""
        ...


class Allocation(Protocol):
    """Everything fresh for one round on one site: private work directories, free ports, server processes."""

    def surroundings(self) -> Surroundings:
        """Endpoints and work directories of the roles on this site."""
        ...

    def put(self, role: Role, name: str, data: bytes) -> None:
        """Place a file in the role's work directory."""
        ...

    def get(self, role: Role, name: str) -> bytes:
        """Read a file of the role's work directory. Raises RunFailed when it is not there."""
        ...

    def start(self, command: Command, job_id: str, *, not_before: float | None = None) -> Job:
        """Start detached; idempotent by ``job_id``: a second call attaches and never starts again. Raises MissingTool.

        ``not_before`` (Unix s by the controller's clock) is the common instant at which several clients begin: the program waits for it on its node.
        """
        ...

    def serve(self, server: Server, job_id: str) -> Job:
        """Start a server and wait until its endpoint answers. Raises RunFailed with its stderr when it does not."""
        ...

    def nodes(self) -> Mapping[Role, Node]:
        """On which node each role of this site really is, looked up now: the engine asks before and after every trial."""
        ...

    def observe(self, peers: Surroundings) -> Mapping[Role, Sequence[Fact]]:
        """What is only known once the allocation is there: the MTU of the path to other roles, the volume that was bound. ``peers``: all roles'."""
        ...

    def reach(self, role: Role, endpoint: Endpoint, timeout_s: float) -> None:
        """See from the role's node that ``endpoint`` accepts TCP connections. Raises RunFailed naming both ends."""
        ...

    def sample(self, role: Role, interval_s: float) -> Sampler:
        """Start a monitor on the role's node."""
        ...

    def release(self) -> None:
        """Stop the servers and remove everything of this allocation (idempotent)."""
        ...


class Session(Protocol):
    """A connection to one site, kept for the whole run."""

    def facts(self) -> Mapping[str, Sequence[Fact]]:
        """Observe the facts of every node, by its name; ``""`` stands for the site as a whole, and for the only node of a site with one."""
        ...

    def find_tools(self, role: Role, tools: Sequence[Tool], image: str | None = None) -> Sequence[ToolStatus]:
        """Where each tool is on the role's node, or in ``image`` where programs run in one, and what version it says."""
        ...

    def install(self, role: Role, packages: Sequence[str]) -> None:
        """Install packages on the role's node with its package manager. Raises RunFailed."""
        ...

    def allocate(self, roles: Sequence[RolePlace], allocation_id: str, demand: Demand = NO_DEMAND) -> Allocation:
        """Make a fresh allocation; ``allocation_id`` is journalled before."""
        ...

    def attach(self, job_id: str) -> Job | None:
        """The job of that id if it was ever started here, running or ended; None if it never was."""
        ...

    def close(self) -> None:
        """End the connection (idempotent)."""
        ...


class Runner(Protocol):
    """One transport. Pure questions first; ``connect`` is the only method that reaches out before something is created.

    What is not reachable, not allowed or not there is a typed error that names the node and the remedy.
    """

    KIND: str

    def unsupported(self, experiment: Experiment, site: Site) -> Sequence[Problem]:
        """Why this experiment cannot run here; asked for the whole plan before anything is created. Pure."""
        ...

    def check(self, site: Site) -> Sequence[Finding]:
        """Doctor: reachability, rights, disk, clocks."""
        ...

    def render(self, experiment: Experiment, site: Site, commands: Commands) -> Sequence[RenderedFile]:
        """What would be created or executed. Pure."""
        ...

    def placeholders(self, experiment: Experiment, site: Site) -> Surroundings:
        """Stand-in endpoints and directories for rendering without a connection. Pure."""
        ...

    def connect(self, site: Site, run_id: str) -> Session:
        """Open the connection that is kept for the run, and take the site's nodes for this run alone. Raises TransportLost, Locked."""
        ...

    def leftovers(self, site: Site, run_id: str) -> Sequence[Leftover]:
        """What of that run still exists on the site."""
        ...

    def remove(self, site: Site, leftover: Leftover) -> None:
        """Remove one leftover; never anything benchspec did not create."""
        ...


@runtime_checkable
class StepRunner(Protocol):
    """A runner that carries out lifecycle steps: its allocations honour :attr:`Command.lasting`."""

    def unsupported_step(self, step: Step, site: Site) -> Sequence[Problem]:
        """Why this step cannot be carried out here; asked for every step of the plan's targets before anything is created. Pure."""
        ...

    def step_hosts(self, site: Site) -> Mapping[Role, str]:
        """The hosts on which steps can be carried out: every role's, by a name for people that is the same for the same host. Pure.

        Empty where there are none, as on a cluster that is steered from the controller.
        """
        ...


@runtime_checkable
class Steered(Protocol):
    """A runner whose sites are steered by programs of the controller, as a cluster is by kubectl."""

    def steering(self, site: Site, folder: str) -> tuple[Mapping[str, str], Mapping[str, bytes]]:
        """What those programs need to reach ``site``: variables, and files that are put into ``folder``. Raises RunFailed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartUse:
    """A chart that a lifecycle step installs, or removes: the release is called ``name`` unless the step says otherwise, and is ``run_id``'s.

    ``archive`` is the file of a chart that lies beside the spec, ``values`` that of its values (None: it has none). Time in s.
    """

    name: str
    run_id: str
    arguments: Mapping[str, Json]
    timeout_s: float
    archive: str | None = None
    values: str | None = None
    removal: bool = False


@runtime_checkable
class ChartKeeper(Protocol):
    """A runner on whose sites a program of the controller installs charts; it is told how to reach them (:class:`Steered`)."""

    def chart_words(self, site: Site, use: ChartUse) -> tuple[str, ...]:
        """The program and its arguments, for people. Pure."""
        ...

    def chart_command(self, site: Site, use: ChartUse) -> tuple[str, ...]:
        """What is executed: the same, but never on a release that is not of this run. Raises MissingTool."""
        ...


@runtime_checkable
class ObjectKeeper(Protocol):
    """A session on a cluster, whose objects lifecycle steps make and wait for."""

    def apply(self, objects: Sequence[Mapping[str, Json]], allocation_id: str) -> bytes:
        """Make these objects, which belong to ``allocation_id`` (idempotent); return them as the cluster has them. Raises RunFailed."""
        ...

    def await_condition(self, condition: str, timeout_s: float) -> bytes:
        """Block until ``condition`` is so; return its object. Raises RunFailed with what the object says instead."""
        ...

    def withdraw(self, allocation_id: str) -> None:
        """Remove all objects that belong to ``allocation_id`` (idempotent). Raises RunFailed naming what stays."""
        ...


@runtime_checkable
class SecretKeeper(Protocol):
    """A session on a site that keeps secrets, as a cluster does."""

    def read_secret(self, name: str) -> str:
        """The value of ``NAMESPACE/NAME/KEY`` as it is now. Raises RunFailed when it is not there or may not be read."""
        ...


@runtime_checkable
class Divisible(Protocol):
    """A runner whose sites consist of hosts that are reached each for itself: one that is away does not keep `clean` from the others."""

    def parts(self, site: Site) -> Sequence[Site]:
        """Sites of the same name, one for each host, that together are ``site``; :meth:`StepRunner.step_hosts` tells the roles in each. Pure."""
        ...


@runtime_checkable
class KeepsHostKeys(Protocol):
    """A runner that knows its hosts by their keys."""

    def keep_host_keys(self, kept: Path | None, *, accept_new: bool) -> None:
        """Let the keys in ``kept`` bind besides those of before (a file, which need not be there); None: forget all, keep nothing.

        ``accept_new``: a host whose key nobody vouches for is taken on faith, and its key kept there; a key that changed never is.
        """
        ...


@runtime_checkable
class DataSink(Protocol):
    """A session that can keep copies of results on the node of the role data-sink."""

    def deposit(self, role: Role, files: Mapping[str, Path]) -> str:
        """Copy files (by their relative name there) into a directory of the run, which `clean` does not remove; return it.

        Raises:
            RunFailed: the sha256 of a copy is not that of the file, or there is no room.
        """
        ...
