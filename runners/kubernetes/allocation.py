"""One allocation on a cluster: a pod per role with a private work directory, a Service or volume
where the experiment needs one, and their jobs.

All of it carries the allocation's label and is found by it, so a later controller takes it over, or
removes it, by its id alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from ...engine.facts import catalogue as facts
from ...engine.model.contract.runner import Sampler
from ...engine.model.contract.values import (
    Command,
    Demand,
    Endpoint,
    Made,
    Node,
    Server,
    Surroundings,
)
from ...engine.model.errors import BenchspecError, RunFailed
from ...engine.model.results import Fact
from ...engine.model.spec import Role, RolePlace
from ...engine.model.text.image_names import is_pinned
from ..agent.agent import Agent, Start
from ..agent.job import Job
from ..agent.scripts import here
from .failures import NotThere, PodLost
from .names import GROUP, ROLE, digest
from .pods import manifests
from .pods import pod as pods
from .pods.container import Container
from .pods.manifests import Part
from .pods.monitor import PodSampler
from .resources import ingress, volumes
from .resources.role_objects import BATCH, Place, Share, make, remove, to_share
from .resources.watching import Watching


class PodAllocation:
    """Everything fresh for one round on one cluster. Create it with :func:`allocate`."""

    def __init__(
        self,
        place: Place,
        allocation_id: str,
        shares: Mapping[Role, Share],
        jobs: dict[str, Job],
        identities: Mapping[str, str],
        made: Made,
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
            endpoints={
                role: Endpoint(host=share.host, port=share.part.port)
                for role, share in self._shares.items()
            },
            workdirs={role: share.part.workdir for role, share in self._shares.items()},
            devices={
                role: manifests.DEVICE for role, share in self._shares.items() if share.part.raw
            },
        )

    def put(self, role: Role, name: str, data: bytes) -> None:
        """Place a file in the role's work directory. Raises RunFailed for a name that leads out of
        it.
        """
        share = self.share(role)
        self._agent(share).put(share.part.workdir, name, data)

    def get(self, role: Role, name: str) -> bytes:
        """Read a file of the role's work directory. Raises RunFailed when it is not there."""
        share = self.share(role)
        return self._agent(share).get(share.part.workdir, name)

    def _agent(self, share: Share) -> Agent:
        return agent_in(share.container, self._place, self._jobs)

    def start(self, command: Command, job_id: str, *, not_before: float | None = None) -> Job:
        """Start detached; idempotent by ``job_id``: a second call attaches and never starts again.
        Raises MissingTool, RunFailed, PodLost.
        """
        share = self.share(command.role)
        self._note(share.part, job_id)
        return self._agent(share).start(command, job_id, self._given(share, command, not_before))

    def _given(self, share: Share, command: Command, not_before: float | None) -> Start:
        ownership, workdir = self._place.ownership, share.part.workdir
        return Start(
            workdir=workdir,
            allocation=self.allocation_id,
            markers={
                "BENCHSPEC_RUN": ownership.run_id,
                "BENCHSPEC_SITE": ownership.site,
                "BENCHSPEC_ALLOCATION": self.allocation_id,
            },
            cpus=command.cpus or share.cpus,
            hold=share.uptime(not_before),
            lasting="/dev/null" if command.lasting else "",  # its pod says that it stands
            offset_s=share.offset_s,
            listens_at=share.address,
            environment={"PATH": share.path, "HOME": workdir, "LC_ALL": "C"},
            variables={"away": "setsid"},
        )

    def _note(self, part: Part, job_id: str) -> None:
        """Tell the cluster, before it is started, that there may be such a job: who looks for it
        later need not ask every pod.
        """
        if job_id in self._noted:
            return
        api = self._place.api
        try:
            api.patch(
                api.namespaced("jobs", part.name, BATCH),
                {"metadata": {"annotations": {f"{GROUP}/job.{digest(job_id)}": job_id}}},
            )
        except NotThere as error:
            raise PodLost(
                f"pod of role {part.role} was removed", where=f"allocation {self.allocation_id}"
            ) from error
        self._noted.add(job_id)

    def serve(self, server: Server, job_id: str) -> Job:
        """Start a server and wait until its port is listened on.

        Raises:
            RunFailed: it ended or did not answer in time; the message has the end of its stderr. It
                is not left running.
        """
        share = self.share(server.command.role)
        self._note(share.part, job_id)
        given = self._given(share, server.command, None)
        started = self._agent(share).serve(server, job_id, given)
        if share.part.ingress:
            self._await_route(share, started)
        return started

    def _await_route(self, share: Share, server: Job) -> None:
        """Wait until its ingress passes requests on to a server; the client asks, or, where it is
        on another site, the server's pod itself.
        """
        asking = next(
            (self._shares[role] for role in manifests.CLIENTS if role in self._shares), share
        )
        try:
            ingress.await_route(asking.container, share.container, share.host, share.part.port)
        except RunFailed:
            server.cancel()
            raise

    def nodes(self) -> Mapping[Role, Node]:
        """On which node each role's pod is, as the API server says now. Raises PodLost when one is
        gone.
        """
        api = self._place.api
        found = api.items(api.namespaced("pods"), labelSelector=self._selector)
        named = {
            pod["metadata"]["labels"][ROLE]: pod["spec"].get("nodeName")
            for pod in found
            if not pod["metadata"].get("deletionTimestamp")
        }
        for role, share in self._shares.items():
            if role.value not in named:
                share.container.check()
                raise PodLost(
                    f"pod {share.container.pod} is gone", where=f"allocation {self.allocation_id}"
                )
        return {
            role: Node(name=named[role.value], identity=self._identities.get(named[role.value]))
            for role in self._shares
        }

    def observe(self, peers: Surroundings) -> Mapping[Role, Sequence[Fact]]:
        """The path from each role to the peer it talks to, and what is known of the volume that was
        bound.
        """
        seen: dict[Role, Sequence[Fact]] = {}
        for role, share in self._shares.items():
            found: list[Fact] = []
            far = facts.far_end(role, peers.endpoints)
            if far is not None:
                answer = share.container.sh(
                    facts.path_script(self._pingable(far, peers)),
                    timeout_s=facts.PATH_TIMEOUT_S + 30,
                )
                found += facts.parse_path(answer.stdout)
            if share.part.volume:
                bound = volumes.observe(self._place.api, share.part.claim_of(share.container.pod))
                known = {fact.name for fact in bound if fact.value is not None}
                raw = share.part.raw  # then the work directory is elsewhere
                disk = (
                    ()
                    if raw
                    else facts.parse_volume(
                        share.container.sh(facts.volume_script(share.part.workdir)).stdout
                    )
                )
                found += [
                    *(fact for fact in disk if fact.name not in known),
                    *(fact for fact in bound if fact.name != "storage.size" or fact.name in known),
                ]
            found += [
                Fact(name="image.name", value=share.part.image, source="the pod's spec"),
                Fact(
                    name="image.digest",
                    value=share.digest,
                    source="the pod's status.containerStatuses",
                ),
                *(
                    [
                        Fact(
                            name="image.sidecars",
                            value=share.sidecars,
                            source="the pod's status.initContainerStatuses",
                        )
                    ]
                    if share.sidecars
                    else []
                ),
            ]
            found += facts.clock_facts(share.offset_s, share.bound_s)
            seen[role] = found
        for role, unseen in self._watching.unseen().items():
            seen[role] = [*seen[role], *unseen]
        return seen

    def _pingable(self, role: Role, peers: Surroundings) -> str:
        """A Service answers no pings: the pod behind it does, and packets to it take the same way.
        What goes to an ingress ends at its controller.
        """
        behind = self._shares.get(role)
        passed = behind is not None and behind.part.service and not behind.part.ingress
        return behind.address if behind is not None and passed else peers.endpoints[role].host

    def reach(self, role: Role, endpoint: Endpoint, timeout_s: float) -> None:
        """See from the role's pod that ``endpoint`` accepts TCP connections. Raises RunFailed
        naming both ends.
        """
        share, deadline = self.share(role), time.monotonic() + timeout_s
        while True:
            arguments = (endpoint.host, str(endpoint.port))
            said = share.container.ask(here(__file__, "connect"), arguments).strip()
            if said in (
                b"accepted",
                b"toolless",
            ):  # an image with nothing to connect with: the workload will tell
                return
            if time.monotonic() > deadline:
                raise RunFailed(
                    f"the {role} in pod {share.container.pod} cannot connect to {endpoint.host}"
                    f" port {endpoint.port} within {timeout_s:g} s",
                    where=f"allocation {self.allocation_id} on node {share.node}",
                    remedy=(
                        "see whether the server listens on that address, and which network policy"
                        " lies between"
                    ),
                )
            time.sleep(0.1)

    def sample(self, role: Role, interval_s: float) -> Sampler:
        """Start a monitor of the role's node, in its pod, and of what the pod's containers use, and
        those of pods that the lifecycle made.
        """
        share = self.share(role)
        try:
            return PodSampler(share.container, interval_s, share.cpus, *self._watching.start(role))
        except BaseException:
            self._watching.stop()
            raise

    def release(self) -> None:
        """Remove the pods with all that runs in them, volumes and Services (idempotent). Raises
        RunFailed naming what stays.
        """
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
            raise RunFailed(
                f"has no role {role}",
                where=f"allocation {self.allocation_id}",
                remedy="allocate the role on this site",
            ) from None


def allocate(
    place: Place,
    roles: Sequence[RolePlace],
    allocation_id: str,
    demand: Demand,
    jobs: dict[str, Job],
    identities: Mapping[str, str],
) -> PodAllocation:
    """Make a fresh allocation, or take over the one that a controller before made under this id.

    Raises:
        NotScheduled, PodLost, Refused, RunFailed: a pod does not come up; nothing of the allocation
            is left.
    """
    given = manifests.parts(
        place.options, place.ownership, allocation_id, [one.role for one in roles], demand
    )
    selector = place.ownership.selector(allocation_id)
    try:
        if any(part.ingress for part in given.values()):
            ingress.see_class(place.api, place.options.ingress_class)
        volumes.ensure_class(
            place.api,
            place.ownership,
            demand,
            bool([part for part in given.values() if part.volume]),
        )
        services = {part.role: make(place, allocation_id, part, demand) for part in given.values()}
        running = pods.await_running(place.api, selector, given.keys())
        with ThreadPoolExecutor(len(given)) as pool:
            shares = pool.map(
                lambda one: to_share(
                    place, given[one.role], running[one.role], services[one.role], demand, one.cpus
                ),
                roles,
            )
            found = {share.part.role: share for share in shares}
            for share in found.values():
                _see_digest(place, share)
            return PodAllocation(
                place,
                allocation_id,
                found,
                jobs,
                identities,
                demand.made,
            )
    except BaseException as error:
        try:
            remove(place, selector)
        except BenchspecError as left:
            error.add_note(f"and what was made could not be removed: {left}")
        raise


def _see_digest(place: Place, share: Share) -> None:
    """An image of one name is the same on every node and in every session. Raises RunFailed."""
    image, digest = share.part.image, share.digest
    if digest is None or is_pinned(image):
        return
    known, node = place.digests.setdefault(image, (digest, share.node))
    if known != digest:
        raise RunFailed(
            f"image {image} is not the same everywhere: {known} on node {node}, {digest} on node"
            f" {share.node}",
            where=place.api.where,
            remedy=(
                "name it by its digest (`NAME@sha256:...`): what a tag means changes, and nodes"
                " keep what they pulled before"
            ),
        )


def agent_in(container: Container, place: Place, jobs: MutableMapping[str, Job]) -> Agent:
    """What runs jobs in a container."""
    return Agent(container, manifests.JOBS, place.ownership.run_id, place.token, jobs)
