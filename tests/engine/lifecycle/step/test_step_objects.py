"""Manifests of lifecycle steps: what is read from them, and what is refused."""

from __future__ import annotations

import pytest

from benchspec.engine.lifecycle.step.objects import read_objects
from benchspec.engine.model.errors import RunFailed


def test_documents_and_lists_become_objects_of_plain_data() -> None:
    text = b"""
# nothing
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {since: 2024-01-01}}, data: {on: "yes"}}
---
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: Service, metadata: {name: b}, spec: {ports: [{port: 80}]}}
"""
    first, second = read_objects(text)
    assert first["metadata"] == {"name": "a", "annotations": {"since": "2024-01-01"}}
    assert second["spec"] == {"ports": [{"port": 80}]}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"a: [", "is no YAML"),
        (b"\xff\xfe\x00", "is no YAML"),
        (b"a: !!python/object/apply:os.system [true]", "is no YAML"),
        (b"[" * 5000, "is no YAML"),
        (b"a: &a [1]\nb: *a", "found an alias"),
        (b"# nothing", "found no object"),
        (b"just a text", "without apiVersion, kind, metadata.name"),
        (
            b"{apiVersion: v1, kind: ConfigMap, metadata: {generateName: a}}",
            "without metadata.name",
        ),
        (
            b"{apiVersion: v1, kind: ConfigMap, metadata: {name: ../../x}}",
            "expected names without '/'",
        ),
    ],
)
def test_what_holds_no_objects_is_refused(text: bytes, told: str) -> None:
    with pytest.raises(RunFailed, match=told):
        read_objects(text)
