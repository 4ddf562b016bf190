"""The connection to one cluster for one run: who we are there, the lock on its nodes, and probes
that look at nodes before anything is measured.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from shlex import quote

from ...engine.facts import catalogue as facts
from ...engine.facts.tool_version import read_version
from ...engine.model.contract.runner import Job
from ...engine.model.contract.values import NO_DEMAND, Demand, Tool, ToolStatus
from ...engine.model.errors import RunFailed, TransportLost
from ...engine.model.results import Fact
from ...engine.model.spec import Json, Role, RolePlace
from ..agent.job import Job as PodJob
from .allocation import PodAllocation, agent_in, allocate
from .failures import NotThere, PodLost
from .names import GROUP, Object, digest
from .nodes import facts as nodes
from .nodes import node_probe
from .options import BEST_EFFORT
from .pods.container import Container
from .pods.lost_job import LostJob
from .resources import namespace, volumes
from .resources.lease import Lease
from .resources.role_objects import BATCH, Place, Share
from .steps import kept_secrets
from .steps.conditions import await_condition, read_condition
from .steps.objects import Objects

MOST_PROBED = 8
"""So many nodes at most are looked at one by one."""

_IMAGE_S_OWN = ("os.", "machine.id")
"""Facts that a pod reads from its image, not from its node."""


class KubernetesSession:
    """One namespace of one cluster, for one run."""

    def __init__(self, place: Place, lease: Lease) -> None:
        self._place, self._lease = place, lease
        self._jobs: dict[str, PodJob] = {}
        self._made_classes = False

    @cached_property
    def _nodes(self) -> Mapping[str, Object]:
        return {node["metadata"]["name"]: node for node in nodes.list_nodes(self._place.api)}

    def facts(self) -> Mapping[str, Sequence[Fact]]:
        """What the API says of the cluster (``""``), and what a probe sees on each node that our
        pods may run on.
        """
        self.__dict__.pop("_nodes", None)
        seen: dict[str, Sequence[Fact]] = {}
        for name, found in self._probe():
            own = nodes.node_facts(self._nodes[name]) if name in self._nodes else []
            known = {fact.name for fact in own if fact.value is not None}
            unseen = [
                replace(f, value=None) if f.name.startswith(_IMAGE_S_OWN) else f
                for f in found
                if f.name not in known
            ]
            seen[name] = [
                *unseen,
                *(
                    fact
                    for fact in own
                    if fact.value is not None or fact.name not in {f.name for f in unseen}
                ),
            ]
        cluster = nodes.cluster_facts(self._place.api, list(self._nodes.values()))
        if self._place.options.privileged_probe:
            seen = {name: node_probe.beyond(cluster, found) for name, found in seen.items()}
        protocol = nodes.protocol_fact(self._place.api, self._place.ownership.selector())
        seen[""] = [*cluster, protocol]
        return seen

    def _probe(self) -> list[tuple[str, Sequence[Fact]]]:
        wanted = [name for name, node in self._nodes.items() if self._takes_pods(node)][
            :MOST_PROBED
        ]
        with ThreadPoolExecutor(4) as pool:
            return [found for found in pool.map(self._look, wanted or [None]) if found is not None]

    def _takes_pods(self, node: Object) -> bool:
        selector, labels = (
            self._place.options.common.node_selector,
            node["metadata"].get("labels", {}),
        )
        ready = any(
            c["type"] == "Ready" and c["status"] == "True"
            for c in node["status"].get("conditions", [])
        )
        tainted = any(
            taint["effect"] != "PreferNoSchedule" for taint in node["spec"].get("taints") or []
        )
        named = {own.node for own in self._place.options.roles.values() if own.node}
        fits = all(labels.get(key) == value for key, value in selector.items())
        return (
            ready
            and fits
            and (not named or node["metadata"]["name"] in named)
            and not (tainted and not self._place.options.tolerations)
        )

    def _look(self, node: str | None) -> tuple[str, Sequence[Fact]] | None:
        """The facts that a pod on ``node`` sees, or on whichever node the scheduler chooses."""
        common = replace(self._place.options.common, node=node)
        options = replace(self._place.options, qos=BEST_EFFORT, common=common, roles={})
        place = replace(self._place, options=options)
        probe = self._probe_in(place, f"facts-{node or 'any'}")
        try:
            share = probe.share(Role.MONITOR)
            script = (
                f"PATH=$PATH:/usr/sbin:/sbin DIR={quote(share.part.workdir)} LC_ALL=C; export PATH"
                f" DIR LC_ALL\n{facts.script()}"
            )
            found = facts.parse(share.container.sh(script, timeout_s=facts.TIMEOUT_S + 30).stdout)
            seen = [*found, *facts.clock_facts(share.offset_s, share.bound_s)]
            name = share.node
        finally:
            _let_go(probe)
        return name, self._look_deeper(name, place, seen) if options.privileged_probe else seen

    def _look_deeper(self, node: str, place: Place, seen: Sequence[Fact]) -> Sequence[Fact]:
        """What a privileged pod on ``node`` sees goes before ``seen``; that it was refused is told
        as what could not be looked at.
        """
        common = replace(place.options.common, node=node)
        place = replace(place, options=replace(place.options, privileged=True, common=common))
        try:
            probe = self._probe_in(place, f"node-{node}")
            try:
                deeper = [
                    fact
                    for fact in node_probe.look(probe.share(Role.MONITOR).container)
                    if fact.value is not None
                ]
            finally:
                _let_go(probe)
        except TransportLost:
            raise
        except RunFailed as error:
            # not the cluster's own words: they name the pod, and would be another fact each time
            reason = (
                "the namespace's pod security refuses it"
                if "violates PodSecurity" in error.message
                else "there could be none"
            )
            told = f"what a privileged pod sees ({reason})"
            return [
                replace(f, value=_with(f.value, told)) if f.name == "cvm.unseen" else f
                for f in seen
            ]
        names = {fact.name for fact in deeper}
        return [*(fact for fact in seen if fact.name not in names), *deeper]

    def _probe_in(self, place: Place, name: str) -> PodAllocation:
        """A pod that looks; none that was looked with before is taken over, by this controller or
        one before: it may be about to go.
        """
        return allocate(
            place,
            [RolePlace(role=Role.MONITOR, site=place.ownership.site)],
            f"{name}-{secrets.token_hex(4)}",
            NO_DEMAND,
            {},
            {},
        )

    def find_tools(
        self, role: Role, tools: Sequence[Tool], image: str | None = None
    ) -> Sequence[ToolStatus]:
        """Where each tool is in ``image``, or in the role's, and what version it says."""
        place = replace(self._place, options=replace(self._place.options, qos=BEST_EFFORT))
        name = f"tools-{role}-{digest(image)}" if image else f"tools-{role}"
        probe = allocate(
            place,
            [RolePlace(role=role, site=place.ownership.site)],
            name,
            Demand(image=image),
            {},
            {},
        )
        try:
            return [_find(probe.share(role), tool) for tool in tools]
        finally:
            probe.release()

    def install(self, role: Role, packages: Sequence[str]) -> None:
        """An image is what it is. Raises RunFailed."""
        raise RunFailed(
            f"packages cannot be installed in a pod ({', '.join(packages)})",
            where=self._place.api.where,
            remedy=(
                "use an image that has them (`image` of the site or the workload; images/ builds"
                " one)"
            ),
        )

    def allocate(
        self, roles: Sequence[RolePlace], allocation_id: str, demand: Demand = NO_DEMAND
    ) -> PodAllocation:
        """Make a fresh allocation, or take over the one that a controller before made under this
        id.
        """
        self._made_classes = self._made_classes or (
            demand.storage.get("create") is True and bool(demand.volumes)
        )
        identities = {
            name: found
            for name, node in self._nodes.items()
            if (found := nodes.identity(node)) is not None
        }
        return allocate(self._place, roles, allocation_id, demand, self._jobs, identities)

    def attach(self, job_id: str) -> Job | None:
        """The job of that id if it was ever started here, running or ended; None if it never was,
        and then never will be by a controller before.
        """
        known = self._jobs.get(job_id)
        if known is not None:
            return None if known.discarded else known
        api, key = self._place.api, f"{GROUP}/job.{digest(job_id)}"
        for found in api.items(
            api.namespaced("jobs", group=BATCH), labelSelector=self._place.ownership.selector()
        ):
            if found["metadata"].get("annotations", {}).get(key) == job_id:
                return self._attach(job_id, found["metadata"]["name"])
        return None

    def _attach(self, job_id: str, owner: str) -> Job | None:
        api = self._place.api
        pods = api.items(
            api.namespaced("pods"), labelSelector=f"batch.kubernetes.io/job-name={owner}"
        )
        if not pods:
            return LostJob(job_id, f"the pod of {owner} is gone: evicted, or removed by hand")
        container = Container.of(api, pods[0])
        try:
            markers = {
                "BENCHSPEC_RUN": self._place.ownership.run_id,
                "BENCHSPEC_SITE": self._place.ownership.site,
            }
            job = agent_in(container, self._place, self._jobs).attach(job_id, markers)
        except (PodLost, NotThere) as error:
            return LostJob(job_id, error.message)
        if job is not None:
            self._jobs[job_id] = job
        return job

    @cached_property
    def _objects(self) -> Objects:
        return Objects(self._place.api, self._place.ownership)

    def apply(self, objects: Sequence[Mapping[str, Json]], allocation_id: str) -> bytes:
        """Make the objects of a manifest, which belong to ``allocation_id``; return them as a List.
        Raises RunFailed.
        """
        return self._objects.apply(objects, allocation_id)

    def await_condition(self, condition: str, timeout_s: float) -> bytes:
        """Watch an object until ``condition`` is so; return it. Raises RunFailed with what it says
        instead.
        """
        return await_condition(
            self._place.api, self._objects.kinds, read_condition(condition), timeout_s
        )

    def read_secret(self, name: str) -> str:
        """The value of ``NAMESPACE/NAME/KEY`` as it is now. Raises RunFailed."""
        return kept_secrets.read_secret(self._place.api, name)

    def withdraw(self, allocation_id: str) -> None:
        """Remove all objects that were made for ``allocation_id`` (idempotent). Raises RunFailed
        naming what stays.
        """
        self._objects.withdraw(allocation_id)

    def close(self) -> None:
        """Give the nodes back, and remove a namespace that was made for the run (idempotent). Pods
        with jobs that run go on, and keep it.
        """
        api, selector = self._place.api, self._place.ownership.selector()
        if self._made_classes and not api.items(
            api.namespaced("jobs", group=BATCH), labelSelector=selector
        ):
            for found in api.items(volumes.CLASSES, labelSelector=selector):
                api.delete(f"{volumes.CLASSES}/{found['metadata']['name']}")
        self._lease.give_back()
        if (
            self._place.options.create_namespace
            and (made := namespace.find(api, self._place.ownership.run_id)) is not None
        ):
            with contextlib.suppress(
                RunFailed
            ):  # not empty: others are in it, or jobs that run; `benchspec clean` tells
                namespace.remove(api, made)


def _let_go(probe: PodAllocation) -> None:
    """Release a probe. That it stays takes nothing away from what was seen: it is found by its
    labels and told when the run ends.
    """
    try:
        probe.release()
    except TransportLost:
        raise
    except RunFailed:
        pass


def _with(known: Json, told: str) -> str:
    return told if known in (None, "none") else f"{known}, {told}"


def _find(share: Share, tool: Tool) -> ToolStatus:
    """Look for ``tool`` in the container's PATH and ask for its version: the first number with a
    dot in it, else the first line.
    """
    path = (
        share.container.sh(f"command -v -- {quote(tool.executable)}")
        .stdout.decode("utf-8", "replace")
        .strip()
        or None
    )
    if path is None or not tool.version_argv:
        return ToolStatus(tool=tool, path=path, version=None)
    asked = " ".join(map(quote, (path, *tool.version_argv[1:])))
    said = share.container.sh(f"{asked} 2>&1 </dev/null", timeout_s=30).stdout.decode(
        "utf-8", "replace"
    )
    if "xec format error" in said:
        raise RunFailed(
            f"{path} of image {share.part.image} is for another architecture than node"
            f" {share.node}: {said.strip()[-200:]}",
            where=share.container.at(""),
            remedy=(
                "use an image for the node's architecture, or choose other nodes (`node_selector`)"
            ),
        )
    return ToolStatus(tool=tool, path=path, version=read_version(said))
