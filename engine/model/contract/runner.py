"""What a runner is: sites that are connected, allocations on them, and jobs that run there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from ..results import Fact, Finding
from ..spec import Experiment, Json, Role, RolePlace, Site, Step
from .values import (
    NO_DEMAND,
    ChartUse,
    Command,
    Commands,
    Completed,
    Demand,
    Endpoint,
    Leftover,
    Node,
    Problem,
    RenderedFile,
    Sample,
    Server,
    Surroundings,
    Tool,
    ToolStatus,
)

CONTROLLER_KIND = "local"
"""The kind of the runner for this machine itself: it carries out what lifecycle steps do on the
controller, and shows a plan's commands where a site's runner is not installed.
"""


class Sampler(Protocol):
    """A monitor running beside a trial; samples stay in memory until it is stopped."""

    def stop(self) -> Sequence[Sample]:
        """End sampling and return what was seen (idempotent)."""
        ...


class Job(Protocol):
    """One detached program. It goes on when the controller dies; whoever knows its id can attach
    again.
    """

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
    """Everything fresh for one round on one site: private work directories, free ports, server
    processes.
    """

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
        """Start detached; idempotent by ``job_id``: a second call attaches and never starts again.
        Raises MissingTool.

        ``not_before`` (Unix s by the controller's clock) is the common instant at which several
        clients begin: the program waits for it on its node.
        """
        ...

    def serve(self, server: Server, job_id: str) -> Job:
        """Start a server and wait until its endpoint answers. Raises RunFailed with its stderr when
        it does not.
        """
        ...

    def nodes(self) -> Mapping[Role, Node]:
        """On which node each role of this site really is, looked up now: the engine asks before and
        after every trial.
        """
        ...

    def observe(self, peers: Surroundings) -> Mapping[Role, Sequence[Fact]]:
        """What is only known once the allocation is there: the MTU of the path to other roles, the
        volume that was bound. ``peers``: all roles'.
        """
        ...

    def reach(self, role: Role, endpoint: Endpoint, timeout_s: float) -> None:
        """See from the role's node that ``endpoint`` accepts TCP connections. Raises RunFailed
        naming both ends.
        """
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
        """Observe the facts of every node, by its name; ``""`` stands for the site as a whole, and
        for the only node of a site with one.
        """
        ...

    def find_tools(
        self, role: Role, tools: Sequence[Tool], image: str | None = None
    ) -> Sequence[ToolStatus]:
        """Where each tool is on the role's node, or in ``image`` where programs run in one, and
        what version it says.
        """
        ...

    def install(self, role: Role, packages: Sequence[str]) -> None:
        """Install packages on the role's node with its package manager. Raises RunFailed."""
        ...

    def allocate(
        self, roles: Sequence[RolePlace], allocation_id: str, demand: Demand = NO_DEMAND
    ) -> Allocation:
        """Make a fresh allocation; ``allocation_id`` is journalled before."""
        ...

    def attach(self, job_id: str) -> Job | None:
        """The job of that id if it was ever started here, running or ended; None if it never
        was.
        """
        ...

    def close(self) -> None:
        """End the connection (idempotent)."""
        ...


class Runner(Protocol):
    """One transport. Pure questions first; ``connect`` is the only method that reaches out before
    something is created.

    What is not reachable, not allowed or not there is a typed error that names the node and the
    remedy.
    """

    KIND: str

    def unsupported(self, experiment: Experiment, site: Site) -> Sequence[Problem]:
        """Why this experiment cannot run here; asked for the whole plan before anything is created.
        Pure.
        """
        ...

    def check(self, site: Site) -> Sequence[Finding]:
        """Doctor: reachability, rights, disk, clocks."""
        ...

    def render(
        self, experiment: Experiment, site: Site, commands: Commands
    ) -> Sequence[RenderedFile]:
        """What would be created or executed. Pure."""
        ...

    def placeholders(self, experiment: Experiment, site: Site) -> Surroundings:
        """Stand-in endpoints and directories for rendering without a connection. Pure."""
        ...

    def connect(self, site: Site, run_id: str) -> Session:
        """Open the connection that is kept for the run, and take the site's nodes for this run
        alone. Raises TransportLost, Locked.
        """
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
        """Why this step cannot be carried out here; asked for every step of the plan's targets
        before anything is created. Pure.
        """
        ...

    def step_hosts(self, site: Site) -> Mapping[Role, str]:
        """The hosts on which steps can be carried out: every role's, by a name for people that is
        the same for the same host. Pure.

        Empty where there are none, as on a cluster that is steered from the controller.
        """
        ...


@runtime_checkable
class Steered(Protocol):
    """A runner whose sites are steered by programs of the controller, as a cluster is by
    kubectl.
    """

    def steering(self, site: Site, folder: str) -> tuple[Mapping[str, str], Mapping[str, bytes]]:
        """What those programs need to reach ``site``: variables, and files that are put into
        ``folder``. Raises RunFailed.
        """
        ...


@runtime_checkable
class ChartKeeper(Protocol):
    """A runner on whose sites a program of the controller installs charts; it is told how to reach
    them (:class:`Steered`).
    """

    def chart_words(self, site: Site, use: ChartUse) -> tuple[str, ...]:
        """The program and its arguments, for people. Pure."""
        ...

    def chart_command(self, site: Site, use: ChartUse) -> tuple[str, ...]:
        """What is executed: the same, but never on a release that is not of this run. Raises
        MissingTool.
        """
        ...


@runtime_checkable
class ObjectKeeper(Protocol):
    """A session on a cluster, whose objects lifecycle steps make and wait for."""

    def apply(self, objects: Sequence[Mapping[str, Json]], allocation_id: str) -> bytes:
        """Make these objects, which belong to ``allocation_id`` (idempotent); return them as the
        cluster has them. Raises RunFailed.
        """
        ...

    def await_condition(self, condition: str, timeout_s: float) -> bytes:
        """Block until ``condition`` is so; return its object. Raises RunFailed with what the object
        says instead.
        """
        ...

    def withdraw(self, allocation_id: str) -> None:
        """Remove all objects that belong to ``allocation_id`` (idempotent). Raises RunFailed naming
        what stays.
        """
        ...


@runtime_checkable
class SecretKeeper(Protocol):
    """A session on a site that keeps secrets, as a cluster does."""

    def read_secret(self, name: str) -> str:
        """The value of ``NAMESPACE/NAME/KEY`` as it is now. Raises RunFailed when it is not there
        or may not be read.
        """
        ...


@runtime_checkable
class Divisible(Protocol):
    """A runner whose sites consist of hosts that are reached each for itself: one that is away does
    not keep `clean` from the others.
    """

    def parts(self, site: Site) -> Sequence[Site]:
        """Sites of the same name, one for each host, that together are ``site``;
        :meth:`StepRunner.step_hosts` tells the roles in each. Pure.
        """
        ...


@runtime_checkable
class KeepsHostKeys(Protocol):
    """A runner that knows its hosts by their keys."""

    def keep_host_keys(self, kept: Path | None, *, accept_new: bool) -> None:
        """Let the keys in ``kept`` bind besides those of before (a file, which need not be there);
        None: forget all, keep nothing.

        ``accept_new``: a host whose key nobody vouches for is taken on faith, and its key kept
        there; a key that changed never is.
        """
        ...


@runtime_checkable
class DataSink(Protocol):
    """A session that can keep copies of results on the node of the role data-sink."""

    def deposit(self, role: Role, files: Mapping[str, Path]) -> str:
        """Copy files (by their relative name there) into a directory of the run, which `clean` does
        not remove; return it.

        Raises:
            RunFailed: the sha256 of a copy is not that of the file, or there is no room.
        """
        ...
