"""Pods on their way up and down: awaited by watching, and when they do not come, why, in the
cluster's own words.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping
from itertools import chain

import urllib3

from ....engine.model.errors import FromOutside, RunFailed
from ....engine.model.failures import FailureClass
from ....engine.model.spec import Role
from ..client.api import Api
from ..failures import PodLost
from ..names import Object
from .manifests import BRINGER, CONTAINER, ephemeral_claim

SCHEDULING_S = 120.0
"""So long a pod may wait for a node: autoscalers and volumes take their time."""

STARTING_S = 600.0
"""So long a scheduled pod may take to run: images of a GB over a slow link."""

REMOVAL_S = 120.0
_PULLING = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "RegistryUnavailable",
    }
)
_BROKEN = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff"}
)
_TOLERATED_PULLS_S = 20.0
_PROVISIONING_S = 5.0


class NotScheduled(FromOutside):
    """No node takes a pod."""


def await_running(api: Api, selector: str, roles: Collection[Role]) -> Mapping[str, Object]:
    """The pods of ``selector`` by the role they are for, once those of ``roles`` run.

    Raises:
        NotScheduled, PodLost, RunFailed: one never will; the message has the reason and the event.
    """
    began, seen = time.monotonic(), dict[str, Object]()
    deadline = began + SCHEDULING_S + STARTING_S
    failing_since: dict[str, float] = {}
    while time.monotonic() < deadline:
        # in short rounds, since a pod that is stuck does not change any more
        for pod in api.watch(
            api.namespaced("pods"), min(deadline, time.monotonic() + 3), labelSelector=selector
        ):
            if pod.get("_deleted"):
                raise PodLost(
                    f"pod {pod['metadata']['name']} was deleted while it started", where=api.where
                )
            seen[pod["metadata"]["name"]] = pod
            running = {
                p["metadata"]["labels"]["benchspec.dev/role"]: p for p in seen.values() if _runs(p)
            }
            if running.keys() >= set(roles):
                return running
        waited_s = time.monotonic() - began
        for pod in seen.values():
            _raise_if_stuck(api, pod, waited_s, failing_since)
        if not seen and (waited_s > SCHEDULING_S or _refused(api, selector)):
            raise _without_pods(api, selector)
    raise FromOutside(
        f"pods were not running after {deadline - began:.0f} s:"
        f" {', '.join(map(state, seen.values()))}",
        where=api.where,
    )


def _runs(pod: Object) -> bool:
    statuses = pod.get("status", {}).get("containerStatuses") or []
    return bool(statuses) and all("running" in status["state"] for status in statuses)


def _raise_if_stuck(
    api: Api, pod: Object, waited_s: float, failing_since: dict[str, float]
) -> None:
    name, status = pod["metadata"]["name"], pod.get("status", {})
    if status.get("phase") in ("Failed", "Succeeded"):
        raise lost(api, pod)
    for condition in status.get("conditions") or []:
        unschedulable = condition["type"] == "PodScheduled" and condition["status"] == "False"
        if unschedulable and waited_s > SCHEDULING_S:
            raise _not_scheduled(api, pod, str(condition.get("message", "")))
        if unschedulable and "storageclass" in str(condition.get("message", "")) and waited_s > 5:
            raise _not_scheduled(api, pod, str(condition["message"]))
    if not pod["spec"].get("nodeName") and waited_s > _PROVISIONING_S:
        _raise_if_refused(api, pod, waited_s)
    for one in _statuses(status):
        waiting = one["state"].get("waiting") or {}
        reason, message = waiting.get("reason", ""), waiting.get("message", "")
        if reason in _PULLING | _BROKEN:
            since = failing_since.setdefault(name, time.monotonic())
            if time.monotonic() - since > _TOLERATED_PULLS_S or reason in (
                "InvalidImageName",
                "ErrImageNeverPull",
            ):
                told = " ".join(filter(None, (message, events(api, "Pod", name))))
                remedy = pull_remedy(told) if reason in _PULLING else None
                unnamed = reason in _BROKEN or reason == "InvalidImageName"
                kind = RunFailed if unnamed else FromOutside
                raise kind(
                    f"pod {name} does not start: {reason} of image {one['image']}: {told}",
                    where=api.where,
                    remedy=remedy,
                )


def _statuses(status: Object) -> list[Object]:
    """The states of all containers of a pod, those included that run before the others."""
    return [
        *(status.get("initContainerStatuses") or []),
        *(status.get("containerStatuses") or []),
    ]


def pull_remedy(told: str) -> str:
    """What to do about an image that cannot be pulled, from what the registry answered."""
    lower = told.lower()
    if "no match for platform" in lower:
        return "build the image for the nodes' architecture (`benchspec images build --platform`)"
    if "not found" in lower or "404" in lower or "manifest unknown" in lower:
        return "correct its name: the registry has no such repository, tag or digest"
    if any(word in lower for word in ("401", "403", "unauthorized", "denied", "authentication")):
        return (
            "name a secret with the registry's credentials as `image_pull_secrets`; registries"
            " also answer so for images that they do not have"
        )
    if re.search(r"\b5\d\d\b", told):
        return "see what is wrong with the registry, which answers with an error of its own"
    return "name an image that the nodes can pull, and `image_pull_secrets` where it is private"


def _raise_if_refused(api: Api, pod: Object, waited_s: float) -> None:
    """A pod whose claim gets no volume waits without a word; the claim's events have the
    provisioner's. It may have luck later, or says never.
    """
    for claim in _claims(pod):
        told = events(api, "PersistentVolumeClaim", claim)
        never = "does not support" in told
        if "ProvisioningFailed" in told and (never or waited_s > SCHEDULING_S):
            kind = RunFailed if never else FromOutside
            raise kind(
                f"pod {pod['metadata']['name']} gets no volume: claim {claim}: {told}",
                where=api.where,
                remedy=(
                    "leave out `storage.mode`, or name a class whose provisioner can do it"
                    if never
                    else "see what the provisioner's log says"
                ),
            )


def _not_scheduled(api: Api, pod: Object, message: str) -> NotScheduled:
    told = "; ".join(
        filter(None, (message, *(_claim_state(api, volume) for volume in _claims(pod))))
    )
    return NotScheduled(
        f"placement: no node takes pod {pod['metadata']['name']}: {told}",
        where=api.where,
        remedy=(
            "free or add nodes, or ask for less (`cpu`, `memory`, `node_selector`, `placement`,"
            " `storage`)"
        ),
    )


def _claims(pod: Object) -> list[str]:
    volumes = pod["spec"].get("volumes") or []
    own = [ephemeral_claim(pod["metadata"]["name"], v["name"]) for v in volumes if "ephemeral" in v]
    return [
        *(v["persistentVolumeClaim"]["claimName"] for v in volumes if "persistentVolumeClaim" in v),
        *own,
    ]


def _claim_state(api: Api, name: str) -> str:
    try:
        claim = api.get(api.namespaced("persistentvolumeclaims", name))
    except RunFailed:
        return ""
    phase = claim.get("status", {}).get("phase")
    return (
        ""
        if phase == "Bound"
        else (
            f"volume claim {name} of class {claim['spec'].get('storageClassName')} is {phase}:"
            f" {events(api, 'PersistentVolumeClaim', name)}"
        )
    )


def _refused(api: Api, selector: str) -> bool:
    found = api.items(api.namespaced("jobs", group="batch/v1"), labelSelector=selector)
    return any("FailedCreate" in events(api, "Job", one["metadata"]["name"]) for one in found)


def _without_pods(api: Api, selector: str) -> RunFailed:
    """A Job whose pods are refused says so in its events alone: quotas, webhooks, pod security."""
    told = [
        events(api, "Job", found["metadata"]["name"])
        for found in api.items(api.namespaced("jobs", group="batch/v1"), labelSelector=selector)
    ]
    message = "; ".join(filter(None, told)) or "its Job made none"
    remedy = "ask for a larger quota, or for less (`cpu`, `memory`)" if "quota" in message else None
    if "violates PodSecurity" in message:
        remedy = (
            "label the namespace with a weaker pod-security.kubernetes.io/enforce level, or leave"
            " out what needs it (`host_network`)"
        )
        return RunFailed(f"no pod was made: {message}", where=api.where, remedy=remedy)
    return FromOutside(f"no pod was made: {message}", where=api.where, remedy=remedy)


def events(api: Api, kind: str, name: str) -> str:
    """What the cluster said about an object last, by reason; empty when it said nothing or we may
    not ask.
    """
    try:
        found = api.items(
            api.namespaced("events"),
            fieldSelector=f"involvedObject.kind={kind},involvedObject.name={name}",
        )
    except RunFailed:
        return ""
    warnings = [e for e in found if e.get("type") == "Warning"] or found
    return "; ".join(dict.fromkeys(f"{e.get('reason')}: {e.get('message')}" for e in warnings[-3:]))


def lost(api: Api, pod: Object) -> PodLost:
    """Why a pod that ran does so no more."""
    name, status = pod["metadata"]["name"], pod.get("status", {})
    told = [status.get("reason"), status.get("message")]
    for one in _statuses(status):
        ended = (
            one["state"].get("terminated") or (one.get("lastState") or {}).get("terminated") or {}
        )
        told += (
            [ended.get("reason"), ended.get("message")]
            if ended.get("reason") != "Completed"
            else []
        )
    told += [
        c.get("message") for c in status.get("conditions") or [] if c["type"] == "DisruptionTarget"
    ]
    reason = (
        ", ".join(dict.fromkeys(str(word) for word in told if word))
        or events(api, "Pod", name)
        or "it ended"
    )
    remedy = "ask for more `memory`" if "OOMKilled" in reason else None
    if words := _last_words(api, name) if "Error" in told else "":
        reason += f"; it said: {words}"
    if "exec format error" in reason:
        remedy = (
            "use an image for the node's architecture (`benchspec images build --platform`), or"
            " choose other nodes (`node_selector`)"
        )
    error = PodLost(
        f"pod {name} on node {pod['spec'].get('nodeName')} is lost: {reason}",
        where=api.where,
        remedy=remedy,
    )
    if "OOMKilled" in reason:
        error.failure = FailureClass.WORKLOAD
    return error


def _last_words(api: Api, pod: str) -> str:
    """The end of what its containers printed; empty when nobody can tell."""
    said = []
    for container in (BRINGER, CONTAINER):
        try:
            lines = api.stream(
                f"{api.namespaced('pods', pod)}/log", 5.0, container=container, tailLines="3"
            )
            said += [line.decode("utf-8", "replace") for line in lines]
        except (RunFailed, urllib3.exceptions.HTTPError, OSError):
            continue
    return " ".join(said).strip()[-300:]


def state(pod: Object) -> str:
    """A pod's phase, and what its containers wait for."""
    status = pod.get("status", {})
    waiting = [
        s["state"].get("waiting", {}).get("reason")
        for s in status.get("containerStatuses") or []
        if "waiting" in s["state"]
    ]
    return f"{pod['metadata']['name']} is {status.get('phase')} {' '.join(filter(None, waiting))}".strip()


def await_gone(api: Api, path: str, selector: str) -> None:
    """Wait until nothing of ``selector`` is listed any more; pods that have ended are not waited
    for. Raises RunFailed naming what stays.
    """
    deadline = time.monotonic() + REMOVAL_S
    while True:
        listed = api.get(path, labelSelector=selector)
        found = listed.get("items") or []
        left = {item["metadata"]["name"] for item in found}
        if not left or time.monotonic() > deadline:
            break
        # from this list on: what goes before the watch has one of its own would never be told
        changes = api.watch(
            path,
            min(deadline, time.monotonic() + 10),
            since=listed["metadata"]["resourceVersion"],
            labelSelector=selector,
        )
        for item in chain(found, changes):
            if item.get("_deleted"):
                left.discard(item["metadata"]["name"])
            elif _over(item):
                api.delete(f"{path}/{item['metadata']['name']}", grace_s=0)
            if not left:
                break
    if left:
        raise RunFailed(
            f"{', '.join(sorted(left))} does not go away: {events(api, 'Pod', min(left))}",
            where=api.where,
            remedy=(
                "see whether its node is Ready; a node that is gone keeps its pods until it is"
                " removed"
            ),
        )


def _over(item: Object) -> bool:
    """Whether it is a pod on its way out of which nothing runs any more, as its kubelet says, which
    would keep its name for a second or two yet.

    Not one with a volume claim: only the kubelet's last word tells that the volume is not in use
    any more.
    """
    status = item.get("status", {})
    statuses = _statuses(status)
    ended = bool(statuses) and all("terminated" in one["state"] for one in statuses)
    return ended and "deletionTimestamp" in item["metadata"] and not _claims(item)
