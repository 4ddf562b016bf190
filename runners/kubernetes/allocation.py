"""One allocation on a cluster: a pod per role with a private work directory, a Service or volume where the experiment needs one, and their jobs.

All of it carries the allocation's label and is found by it, so a later controller takes it over, or removes it, by its id alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from ...engine import facts
from ...engine.commands import check_command
from ...engine.errors import BenchspecError, RunFailed
from ...engine.ports import Command, Demand, Endpoint, Made, Node, Sampler, Server, Surroundings
from ...engine.results import Fact
from ...engine.spec import Role, RolePlace
from . import ingress, job, manifests, pods, scripts, volumes
from .failures import NotThere, PodLost
from .job import PodJob
from .manifests import Part
from .monitor import PodSampler
from .names import GROUP, ROLE, digest
from .shares import BATCH, Place, Share, make, remove, to_share
from .watching import Watching


class PodAllocation:
    """Everything fresh for one round on one cluster. Create it with :func:`allocate`."""

    def __init__(
        self, place: Place, allocation_id: str, shares: Mapping[Role, Share], jobs: dict[str, PodJob], identities: Mapping[str, str], made: Made
    ) -> None:
        self.allocation_id = allocation_id
        self._place = place
        self._shares = shares
        self._jobs = jobs
        self._identities = identities
        self._noted: set[str] = set()
        self._watching = Watching(place, shares, made)

    def surroundings(self) -> Surroundings:
        """Endpoints and work directories of the roles on this site."""
        return Surroundings(
            endpoints={role: Endpoint(host=share.host, port=share.part.port) for role, share in self._shares.items()},
            workdirs={role: share.part.workdir for role, share in self._shares.items()},
            devices={role: manifests.DEVICE for role, share in self._shares.items() if share.part.raw},
        )

    def put(self, role: Role, name: str, data: bytes) -> None:
        """Place a file in the role's work directory. Raises RunFailed for a name that leads out of it."""
        share = self.share(role)
        said = share.container.ask(scripts.place(share.part.workdir, _file_name(name), data), timeout_s=300)
        if said.strip() != b"placed":
            raise RunFailed(f"found file name {name!r}, expected one inside the work directory", where=f"pod {share.container.pod}")

    def get(self, role: Role, name: str) -> bytes:
        """Read a file of the role's work directory. Raises RunFailed when it is not there."""
        share = self.share(role)
        said = share.container.ask(scripts.read(share.part.workdir, _file_name(name)), timeout_s=300)
        head, _, data = said.partition(b"\n")
        if head.startswith(b"read "):
            return data
        raise RunFailed(f"cannot be read: it is {head.decode()}", where=f"{share.part.workdir}/{name} in pod {share.container.pod}")

    def start(self, command: Command, job_id: str, *, not_before: float | None = None) -> PodJob:
        """Start detached; idempotent by ``job_id``: a second call attaches and never starts again. Raises MissingTool, RunFailed, PodLost."""
        known = self._jobs.get(job_id)
        if known is not None and not known.discarded:
            return known
        share = self.share(command.role)
        check_command(command)
        self._note(share.part, job_id)
        ownership = self._place.ownership
        env = {"PATH": share.path, "HOME": share.part.workdir, "LC_ALL": "C", **command.env, **command.secrets}
        env |= {
            "BENCHSPEC_RUN": ownership.run_id,
            "BENCHSPEC_SITE": ownership.site,
            "BENCHSPEC_ALLOCATION": self.allocation_id,
            "BENCHSPEC_JOB": job_id,
        }
        cpus = command.cpus or share.cpus
        started = job.start(share.container, command, job_id, share.part.workdir, env, share.offset_s, cpus, not_before)
        self._jobs[job_id] = started
        return started

    def _note(self, part: Part, job_id: str) -> None:
        """Tell the cluster, before it is started, that there may be such a job: who looks for it later need not ask every pod."""
        if job_id in self._noted:
            return
        api = self._place.api
        try:
            api.patch(api.namespaced("jobs", part.name, BATCH), {"metadata": {"annotations": {f"{GROUP}/job.{digest(job_id)}": job_id}}})
        except NotThere as error:
            raise PodLost(f"pod of role {part.role} was removed", where=f"allocation {self.allocation_id}") from error
        self._noted.add(job_id)

    def serve(self, server: Server, job_id: str) -> PodJob:
        """Start a server and wait until its port is listened on.

        Raises:
            RunFailed: it ended or did not answer in time; the message has the end of its stderr. It is not left running.
        """
        share, port, where = self.share(server.command.role), server.endpoint.port, f"server {server.command.argv[0]}"
        taken = job_id not in self._jobs and share.container.ask(scripts.listening(port, share.addresses)).strip() == b"taken"
        if taken and not share.container.ask(scripts.state(job_id)).startswith(b"running"):
            raise RunFailed(f"something else listens on {server.endpoint.host} port {port} already", where=where, remedy="end it, or choose a port")
        started = self.start(server.command, job_id)
        script = scripts.await_listening(job_id, port, share.addresses, server.ready_timeout_s)
        said = share.container.ask(script, timeout_s=server.ready_timeout_s + 30).decode("utf-8", "replace")
        word, _, words = said.partition("\n")
        if word == "listening":
            if share.part.ingress:
                self._await_route(share, started)
            return started
        words = f"; its stderr ends with:\n{words.strip()}" if words.strip() else "; its stderr is empty"
        if word == "deaf":
            started.cancel()
            raise RunFailed(f"did not listen on {server.endpoint.host} port {port} within {server.ready_timeout_s:g} s{words}", where=where)
        raise RunFailed(f"ended (exit code {word.partition(' ')[2]}) before it listened on port {port}{words}", where=where)

    def _await_route(self, share: Share, server: PodJob) -> None:
        """Wait until its ingress passes requests on to a server; the client asks, or, where it is on another site, the server's pod itself."""
        asking = next((self._shares[role] for role in manifests.CLIENTS if role in self._shares), share)
        try:
            ingress.await_route(asking.container, share.container, share.host, share.part.port)
        except RunFailed:
            server.cancel()
            raise

    def nodes(self) -> Mapping[Role, Node]:
        """On which node each role's pod is, as the API server says now. Raises PodLost when one is gone."""
        api = self._place.api
        found = api.items(api.namespaced("pods"), labelSelector=self._selector)
        named = {pod["metadata"]["labels"][ROLE]: pod["spec"].get("nodeName") for pod in found if not pod["metadata"].get("deletionTimestamp")}
        for role, share in self._shares.items():
            if role.value not in named:
                share.container.check()
                raise PodLost(f"pod {share.container.pod} is gone", where=f"allocation {self.allocation_id}")
        return {role: Node(name=named[role.value], identity=self._identities.get(named[role.value])) for role in self._shares}

    def observe(self, peers: Surroundings) -> Mapping[Role, Sequence[Fact]]:
        """The path from each role to the peer it talks to, and what is known of the volume that was bound."""
        seen: dict[Role, Sequence[Fact]] = {}
        for role, share in self._shares.items():
            found: list[Fact] = []
            far = facts.far_end(role, peers.endpoints)
            if far is not None:
                answer = share.container.run(facts.path_script(self._pingable(far, peers)), timeout_s=facts.PATH_TIMEOUT_S + 30)
                found += facts.parse_path(answer.stdout)
            if share.part.volume:
                bound = volumes.observe(self._place.api, share.part.claim_of(share.container.pod))
                known = {fact.name for fact in bound if fact.value is not None}
                raw = share.part.raw  # then the work directory is elsewhere
                disk = () if raw else facts.parse_volume(share.container.run(facts.volume_script(share.part.workdir)).stdout)
                found += [
                    *(fact for fact in disk if fact.name not in known),
                    *(fact for fact in bound if fact.name != "storage.size" or fact.name in known),
                ]
            found += [
                Fact(name="image.name", value=share.part.image, source="the pod's spec"),
                Fact(name="image.digest", value=share.digest, source="the pod's status.containerStatuses"),
                *([Fact(name="image.sidecars", value=share.sidecars, source="the pod's status.initContainerStatuses")] if share.sidecars else []),
            ]
            found += facts.clock_facts(share.offset_s, share.bound_s)
            seen[role] = found
        for role, unseen in self._watching.unseen().items():
            seen[role] = [*seen[role], *unseen]
        return seen

    def _pingable(self, role: Role, peers: Surroundings) -> str:
        """A Service answers no pings: the pod behind it does, and packets to it take the same way. What goes to an ingress ends at its controller."""
        behind = self._shares.get(role)
        passed = behind is not None and behind.part.service and not behind.part.ingress
        return behind.address if behind is not None and passed else peers.endpoints[role].host

    def reach(self, role: Role, endpoint: Endpoint, timeout_s: float) -> None:
        """See from the role's pod that ``endpoint`` accepts TCP connections. Raises RunFailed naming both ends."""
        share, deadline = self.share(role), time.monotonic() + timeout_s
        while True:
            said = share.container.ask(scripts.connect(endpoint.host, endpoint.port)).strip()
            if said in (b"accepted", b"toolless"):  # an image with nothing to connect with: the workload will tell
                return
            if time.monotonic() > deadline:
                raise RunFailed(
                    f"the {role} in pod {share.container.pod} cannot connect to {endpoint.host} port {endpoint.port} within {timeout_s:g} s",
                    where=f"allocation {self.allocation_id} on node {share.node}",
                    remedy="see whether the server listens on that address, and which network policy lies between",
                )
            time.sleep(0.1)

    def sample(self, role: Role, interval_s: float) -> Sampler:
        """Start a monitor of the role's node, in its pod, and of what the pod's containers use, and those of pods that the lifecycle made."""
        share = self.share(role)
        try:
            return PodSampler(share.container, interval_s, share.cpus, *self._watching.start(role))
        except BaseException:
            self._watching.stop()
            raise

    def release(self) -> None:
        """Remove the pods with all that runs in them, volumes and Services (idempotent). Raises RunFailed naming what stays."""
        self._watching.stop()
        remove(self._place, self._selector)

    @property
    def _selector(self) -> str:
        return self._place.ownership.selector(self.allocation_id)

    def share(self, role: Role) -> Share:
        """What a role got. Raises RunFailed for one that was not allocated."""
        try:
            return self._shares[role]
        except KeyError:
            raise RunFailed(f"has no role {role}", where=f"allocation {self.allocation_id}", remedy="allocate the role on this site") from None


def allocate(
    place: Place, roles: Sequence[RolePlace], allocation_id: str, demand: Demand, jobs: dict[str, PodJob], identities: Mapping[str, str]
) -> PodAllocation:
    """Make a fresh allocation, or take over the one that a controller before made under this id.

    Raises:
        NotScheduled, PodLost, Refused, RunFailed: a pod does not come up; nothing of the allocation is left.
    """
    given = manifests.parts(place.options, place.ownership, allocation_id, [one.role for one in roles], demand)
    selector = place.ownership.selector(allocation_id)
    try:
        if any(part.ingress for part in given.values()):
            ingress.see_class(place.api, place.options.ingress_class)
        volumes.ensure_class(place.api, place.ownership, demand, bool([part for part in given.values() if part.volume]))
        services = {part.role: make(place, allocation_id, part, demand) for part in given.values()}
        running = pods.await_running(place.api, selector, given.keys())
        with ThreadPoolExecutor(len(given)) as pool:
            shares = pool.map(lambda one: to_share(place, given[one.role], running[one.role], services[one.role], demand, one.cpus), roles)
            return PodAllocation(place, allocation_id, {share.part.role: share for share in shares}, jobs, identities, demand.made)
    except BaseException as error:
        try:
            remove(place, selector)
        except BenchspecError as left:
            error.add_note(f"and what was made could not be removed: {left}")
        raise


def _file_name(name: str) -> str:
    if "\0" in name:
        raise RunFailed(f"found file name {name!r}, expected one inside the work directory")
    return name
