"""What the API server says, as errors of ours: which right is missing, which quota is used up, who
refused, and what to do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import cast

from ...engine.model.errors import RunFailed, TransportLost
from ...engine.model.failures import FailureClass
from ...engine.model.spec import Json
from ..agent.door import PlaceLost

_FORBIDDEN = re.compile(
    r'cannot (?P<verb>\S+) resource "(?P<resource>[^"]+)" in API group "(?P<group>[^"]*)"'
)


_OUR_OWN = (400, 405, 413, 415, 422)
"""What the API server says to a request that no other moment makes good."""


class Refused(RunFailed):
    """The API server answered, and the answer is no. ``status`` is the HTTP status, ``reason``
    Kubernetes' word for it.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        reason: str,
        where: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.status = status
        self.reason = reason
        if status not in _OUR_OWN:
            self.failure = FailureClass.INFRASTRUCTURE


class NotThere(Refused):
    """There is no such object (404)."""


class Exists(Refused):
    """An object of that name exists, or it was changed meanwhile (409)."""


class Denied(Refused):
    """A right is missing (403)."""


class Gone(Refused):
    """The list that a watch wants to go on from is too old (410)."""


class PodLost(PlaceLost):
    """A pod of ours ended or vanished with what ran in it."""


class Unreachable(TransportLost):
    """The API server, or a node behind it, does not answer."""


def refusal(status: int, body: bytes, what: str, where: str) -> Refused:
    """The error that an answer stands for; ``what`` was asked (``create pods``)."""
    message, reason = _said(body)
    if status == 404:
        return NotThere(message or f"{what}: not found", status=status, reason=reason, where=where)
    if status == 409:
        return Exists(message, status=status, reason=reason, where=where)
    if status == 410 or reason == "Expired":
        return Gone(message, status=status, reason=reason, where=where)
    if status == 401:
        remedy = "log in again, or name a kubeconfig whose credentials are valid"
        return Refused(
            f"the API server does not accept the credentials ({message or 'Unauthorized'})",
            status=status,
            reason=reason,
            where=where,
            remedy=remedy,
        )
    if status == 403:
        return _denied(message, reason, what, where)
    if status == 422 and "storageClassName" in message:
        return Refused(
            message,
            status=status,
            reason=reason,
            where=where,
            remedy="name a class that `kubectl get storageclass` lists",
        )
    return Refused(
        f"{what}: {message or f'HTTP status {status}'}",
        status=status,
        reason=reason,
        where=where,
        remedy=_remedy(message),
    )


def _said(body: bytes) -> tuple[str, str]:
    try:
        found = cast("Mapping[str, Json]", json.loads(body))
        return str(found.get("message") or ""), str(found.get("reason") or "")
    except (ValueError, AttributeError):
        return body[:500].decode("utf-8", "replace").strip(), ""


def _denied(message: str, reason: str, what: str, where: str) -> Refused:
    if "exceeded quota" in message:
        remedy = (
            "ask for a larger quota of the namespace, or for less (`cpu`, `memory`, `storage.size`)"
        )
        return Refused(message, status=403, reason="ExceededQuota", where=where, remedy=remedy)
    if (found := _FORBIDDEN.search(message)) is not None:
        right = f"{found['verb']} {found['resource']}" + (
            f".{found['group']}" if found["group"] else ""
        )
        return Denied(
            f"the right to {right} is missing: {message}",
            status=403,
            reason=reason,
            where=where,
            remedy="grant what `benchspec rbac` prints to this user or service account",
        )
    return Refused(
        f"{what}: {message}", status=403, reason=reason, where=where, remedy=_remedy(message)
    )


def _remedy(message: str) -> str | None:
    if "violates PodSecurity" in message:
        return (
            "label the namespace with a weaker pod-security.kubernetes.io/enforce level, or leave"
            " out what needs it (host_network, privileged steps)"
        )
    if "admission webhook" in message:
        return "ask whoever runs the webhook that is named, or use a namespace it does not watch"
    return None
