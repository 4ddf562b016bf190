"""The values that workloads, runners and the engine exchange."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..spec import Json, Placement, Role, TrafficPath


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A program a workload needs: the executable's name, the Debian package that has it, and the
    argv that prints its version (empty: do not ask).

    ``roles`` are those that need it; empty for all.
    """

    executable: str
    package: str
    version_argv: tuple[str, ...]
    roles: tuple[Role, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """The machine a role's programs run on: its name on the site, as in :meth:`Session.facts`, and
    what identifies it whatever it is called.

    ``identity`` is the fact ``machine.id``; None: unknown.
    """

    name: str
    identity: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a role can be reached by the others, and a port that is free there. ``host`` may be an
    IPv4, IPv6 or DNS name.
    """

    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What an allocation offers to a workload's commands: endpoints and private work directories
    per role.

    ``devices``: the path of the raw device that a role got where the target's volumes are block
    devices; such a role's work directory is elsewhere.
    """

    endpoints: Mapping[Role, Endpoint]
    workdirs: Mapping[Role, str]
    devices: Mapping[Role, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What the lifecycle of a target made on a site, so that it can be found there: by the ids of
    the allocations to which objects of manifests belong, and by the charts' releases with their
    namespace ("": the site's).
    """

    allocation_ids: tuple[str, ...] = ()
    releases: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What an experiment asks of an allocation beyond its roles: the path between them, where they
    may lie, their image, and the volume that ``volumes`` (roles) get. A runner whose
    ``unsupported`` let the experiment pass provides it, and ignores what has no meaning on its
    sites.

    ``ports``: how many consecutive ports its servers listen on, from their endpoint's on;
    ``fixed_ports``: others, which the spec itself names. Whatever lies on the path lets all of them
    through. ``made``: what else belongs to the target there, whose load is part of the answer.
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


"""After this the place itself ends and removes what a controller that never came back left there,
where a runner has the option ``ttl``.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedFile:
    """A file the workload needs in a role's work directory before it starts."""

    role: Role
    name: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One program to run: argv (never a shell string), the role it runs in, its deadline in s, and
    files to fetch afterwards.

    ``fetch`` names files relative to the work directory; a missing one is simply absent from
    :attr:`Completed.files`. ``env`` is added to a minimal environment (PATH, HOME, LC_ALL=C).
    ``secrets`` maps environment names to values that are handed over without ever being in argv, a
    log, the journal or a rendered file. ``lasting``: what the program leaves running in the
    background goes on when it ends, until its allocation is released; otherwise it ends with the
    program.
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
    """A program that serves while clients measure. It is ready when ``endpoint`` accepts a TCP
    connection within ``ready_timeout_s``.

    ``settle_s`` is waited before every trial, once for all transports: a server may be deaf while
    it recovers from the trial before, or from the probe, which it takes for a broken client.
    """

    command: Command
    endpoint: Endpoint
    ready_timeout_s: float = 10.0
    settle_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """What a workload wants done for one trial: servers are started once per allocation, clients
    once per trial, in parallel.
    """

    clients: tuple[Command, ...]
    servers: tuple[Server, ...] = ()
    files: tuple[PlacedFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A finished job: raw bytes, exit code (128+n for a signal), and when it ran (Unix s by the
    controller's clock, whatever the node's clock says).

    A non-zero exit is a value, not an error.
    """

    argv: tuple[str, ...]
    exit_code: int
    stdout: bytes
    stderr: bytes
    started_at: float
    duration_s: float
    files: Mapping[str, bytes] = field(default_factory=dict)


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
    """One monitor sample: seconds since the sampler started, and cumulative or instant figures by
    name (see runners/local/monitor).
    """

    elapsed_s: float
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStatus:
    """What a site knows of a tool: where it is and what version it says, or None when it is
    missing. ``node``: where it was looked for; "" here.
    """

    tool: Tool
    path: str | None
    version: str | None
    node: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartUse:
    """A chart that a lifecycle step installs, or removes: the release is called ``name`` unless the
    step says otherwise, and is ``run_id``'s.

    ``archive`` is the file of a chart that lies beside the spec, ``values`` that of its values
    (None: it has none). Time in s.
    """

    name: str
    run_id: str
    arguments: Mapping[str, Json]
    timeout_s: float
    archive: str | None = None
    values: str | None = None
    removal: bool = False
