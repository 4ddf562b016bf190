"""Which containers of a site are watched while a trial runs, and by whom: those of the roles' pods,
and those of pods that the lifecycle made.

Pods of the lifecycle are found by labels and annotations: what manifests made has the run's, what a
chart made names its release, as Helm writes it onto objects (``meta.helm.sh/release-name``), and
others have those that the site's option ``watch`` names. They are read over kubelets alone: nothing
is executed in a container that no role has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ....engine.model.contract.values import Made
from ....engine.model.errors import RunFailed
from ....engine.model.results import Fact
from ....engine.model.spec import Role
from ..client import kubelet
from ..client.kubelet import KubeletWatch, Watched
from ..failures import NotThere, Refused
from ..names import ALLOCATION, MANAGED_BY, ROLE, SITE, Object, label_value
from ..pods import containers
from .role_objects import Place, Share

UNSEEN = "containers.unseen"
_RELEASE = "meta.helm.sh/release-name"
_GROUPS = {
    "deployment": "apps/v1",
    "replicaset": "apps/v1",
    "statefulset": "apps/v1",
    "daemonset": "apps/v1",
    "job": "batch/v1",
}


class Watching:
    """The containers on one site of an allocation. Those of the lifecycle are told with the
    server's, or the first role's where no server is here.
    """

    def __init__(self, place: Place, shares: Mapping[Role, Share], made: Made) -> None:
        self._place, self._shares, self._made = place, shares, made
        self._told_with = Role.SERVER if Role.SERVER in shares else next(iter(shares))
        self._beside: dict[Role, tuple[Sequence[str], Sequence[str]]] = {}
        self._watch: KubeletWatch | None = None
        self._releases: dict[tuple[str, str], str | None] = {}

    def start(self, role: Role) -> tuple[Sequence[str], Callable[[], Mapping[str, float]]]:
        """The containers beside the role's that tell what they use, and what ends the kubelets'
        watch and has what they saw of its others.
        """
        if self._watch is None or self._watch.ended:
            self._watch = KubeletWatch(self._place.api, self._find()[0])
        watch = self._watch

        def stop() -> Mapping[str, float]:
            watch.stop()
            return watch.told(role, self._changed(watch) if role is self._told_with else ())

        return self._ask(role)[0], stop

    def stop(self) -> None:
        """End what :meth:`start` began (idempotent)."""
        if self._watch is not None:
            self._watch.stop()

    def unseen(self) -> Mapping[Role, Sequence[Fact]]:
        """Why what some containers use is not known, whatever trial is measured; nothing where all
        can be asked.
        """
        watched, reasons = self._find()
        if (
            watched
            and (problem := kubelet.find_problem(self._place.api, watched[0].node)) is not None
        ):
            reasons.append(problem)
        return (
            {
                self._told_with: [
                    Fact(
                        name=UNSEEN,
                        value="; ".join(reasons),
                        source="pods and kubelets, by the API server",
                    )
                ]
            }
            if reasons
            else {}
        )

    def _changed(self, watch: KubeletWatch) -> set[str]:
        """The lifecycle's containers of whose pods some have come or gone since the watch began, or
        may have: those that were watched are not all.
        """
        try:
            found = self._find()[0]
        except RunFailed:
            found = []
        return {one.name for one in {*watch.watched} ^ {*found} if one.role is self._told_with}

    def _ask(self, role: Role) -> tuple[Sequence[str], Sequence[str]]:
        """The containers beside the role's that tell what they use, and those that do not: looked
        at once.
        """
        if role not in self._beside:
            self._beside[role] = containers.beside(self._shares[role].container)
        return self._beside[role]

    def _find(self) -> tuple[list[Watched], list[str]]:
        """All that kubelets are asked about, as it is now; and why some pods of the lifecycle could
        not be found.
        """
        found, reasons, seen = list[Watched](), list[str](), set[str]()
        for role, share in self._shares.items():
            node, namespace, pod = share.node, self._place.api.namespace, share.container.pod
            found += [
                Watched(
                    role=role, name=name, node=node, namespace=namespace, pod=pod, container=name
                )
                for name in self._ask(role)[1]
            ]
        for namespace, selector, release in self._selectors():
            try:
                pods = self._place.api.items(
                    f"/api/v1/namespaces/{namespace}/pods", labelSelector=selector
                )
                ours = [
                    pod
                    for pod in pods
                    if _runs(pod) and (not release or self._release_of(pod) == release)
                ]
            except Refused as error:
                reasons.append(
                    f"pods that steps made in namespace {namespace} cannot be told from others:"
                    f" {error.message}"
                )
                continue
            for one in (one for one in ours if one["metadata"]["uid"] not in seen):
                seen.add(one["metadata"]["uid"])
                found += _containers(
                    one,
                    self._told_with,
                    "" if namespace == self._place.api.namespace else f"{namespace}/",
                )
        return found, reasons

    def _selectors(self) -> Iterator[tuple[str, str, str]]:
        """Namespaces, labels of pods in them, and the release that made them ("": does not
        matter).
        """
        own, options, no_role = self._place.ownership, self._place.options, f"!{ROLE}"
        if self._made.allocation_ids:
            ours = [
                f"{key}={value}"
                for key, value in {**MANAGED_BY, SITE: label_value(own.site)}.items()
            ]
            ids = ",".join(map(label_value, self._made.allocation_ids))
            yield options.namespace, ",".join([*ours, f"{ALLOCATION} in ({ids})", no_role]), ""
        for namespace, release in self._made.releases:
            yield namespace or options.namespace, no_role, release
        if options.watch:
            yield (
                options.namespace,
                ",".join([*(f"{key}={value}" for key, value in options.watch.items()), no_role]),
                "",
            )

    def _release_of(self, pod: Object) -> str | None:
        """The release of the chart that made a pod, or what made it; None where it was none. Raises
        Refused.
        """
        metadata = pod["metadata"]
        kind, _, name = workload_of(metadata).partition("/")
        if kind not in _GROUPS:
            return (metadata.get("annotations") or {}).get(_RELEASE)
        key = metadata["namespace"], f"{kind}s/{name}"
        if key not in self._releases:
            try:
                found = self._place.api.get(f"/apis/{_GROUPS[kind]}/namespaces/{key[0]}/{key[1]}")[
                    "metadata"
                ]
            except NotThere:  # its pods are about to go
                found = {}
            self._releases[key] = (found.get("annotations") or {}).get(_RELEASE)
        return self._releases[key]


def _runs(pod: Object) -> bool:
    return bool(pod["spec"].get("nodeName")) and pod.get("status", {}).get("phase") == "Running"


def _containers(pod: Object, role: Role, prefix: str) -> Iterator[Watched]:
    """The containers of a pod that go on, those included that somebody else put there."""
    metadata, spec = pod["metadata"], pod["spec"]
    lasting = [
        one for one in spec.get("initContainers") or [] if one.get("restartPolicy") == "Always"
    ]
    for one in (*spec["containers"], *lasting):
        name = f"{prefix}{workload_of(metadata)}/{one['name']}"
        yield Watched(
            role=role,
            name=name,
            node=spec["nodeName"],
            namespace=metadata["namespace"],
            pod=metadata["name"],
            container=one["name"],
        )


def workload_of(metadata: Object) -> str:
    """What made a pod, by kind and name as kubectl takes them: ``deployment/echo``,
    ``statefulset/vault``; ``pod/NAME`` for one that stands alone.

    The name of a Deployment's ReplicaSet is its own and the hash with which it labels its pods.
    """
    owner = next(
        (one for one in metadata.get("ownerReferences") or [] if one.get("controller")), None
    )
    if owner is None:
        return f"pod/{metadata['name']}"
    suffix = f"-{(metadata.get('labels') or {}).get('pod-template-hash', '')}"
    if owner["kind"] == "ReplicaSet" and len(suffix) > 1 and owner["name"].endswith(suffix):
        return f"deployment/{owner['name'].removesuffix(suffix)}"
    return f"{owner['kind'].lower()}/{owner['name']}"
