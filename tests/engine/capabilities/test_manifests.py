"""What objects of a manifest may do."""

from __future__ import annotations

import json

from benchspec.engine.capabilities.manifests import MOST_BYTES, rights_of
from benchspec.engine.capabilities.model import Kind

POD = {
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {
        "hostNetwork": True,
        "containers": [
            {
                "image": "evil:1",
                "securityContext": {"privileged": True, "capabilities": {"add": ["SYS_ADMIN"]}},
                "env": [{"valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
            }
        ],
        "volumes": [{"hostPath": {"path": "/"}}, {"secret": {"secretName": "s"}}],
    },
}


def told(*documents: object) -> list[tuple[Kind, str]]:
    data = "\n---\n".join(map(json.dumps, documents)).encode()
    return [(one.kind, one.what) for one in rights_of(data, "w")]


def test_every_danger_of_a_pod_is_told() -> None:
    assert set(told(POD)) == {
        (Kind.RIGHTS, "Pod p: hostNetwork"),
        (Kind.IMAGES, "evil:1"),
        (Kind.RIGHTS, "Pod p: privileged"),
        (Kind.RIGHTS, 'Pod p: capabilities ["SYS_ADMIN"]'),
        (Kind.SECRETS, 'Pod p: a Secret: {"name": "s", "key": "k"}'),
        (Kind.RIGHTS, 'Pod p: a path of the node: {"path": "/"}'),
        (Kind.SECRETS, 'Pod p: a Secret: "s"'),
    }


def test_objects_that_grant_or_keep_are_told_also_in_lists() -> None:
    secret = {"kind": "Secret", "metadata": {"name": "s"}}
    role = {"kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [{"verbs": ["*"]}]}
    hook = {"kind": "MutatingWebhookConfiguration", "metadata": {"name": "h"}}
    found = told({"kind": "List", "items": [secret, role]}, hook)
    assert [kind for kind, _ in found] == [Kind.SECRETS, Kind.RIGHTS, Kind.RIGHTS]
    assert '"verbs": ["*"]' in found[1][1]


def test_harmless_objects_take_nothing() -> None:
    assert told({"kind": "Service", "metadata": {"name": "s"}}, None, ["x"], {"kind": "List"}) == []


def test_what_cannot_be_read_is_asked_for_as_a_whole() -> None:
    for data in (b"{", b"!!python/object/apply:os.system [id]", b" " * (MOST_BYTES + 1)):
        (one,) = rights_of(data, "w")
        assert one.kind is Kind.UNKNOWN
