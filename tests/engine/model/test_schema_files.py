from __future__ import annotations

import json

import pytest

from benchspec.engine.model.runner_traits import Nodes, traits_of
from benchspec.engine.model.schema_files import find_schema, known
from benchspec.runners.registry import RUNNERS


@pytest.mark.parametrize("kind", sorted(RUNNERS))
def test_every_built_in_runner_declares_its_traits(kind: str) -> None:
    schema = find_schema("runners", kind)
    assert schema is not None
    document = json.loads(schema)
    about, traits = document["x-benchspec"], traits_of(kind)
    assert set(about) <= {"nodes", "ends_old_runs", "needs_image", "overhead_s"}
    assert traits.nodes is Nodes(about["nodes"])
    assert set(about["overhead_s"]) == {"connect", "facts", "allocation", "trial"}
    assert traits.ends_old_runs == ("ttl" in document["properties"])
    assert traits.needs_image == ("image" in document["properties"])
    assert (traits.nodes is Nodes.HOSTS) == ("hosts" in document["properties"])


@pytest.mark.parametrize("name", ["", "../facts", "workloads/fio", "no-such-tool"])
def test_names_of_no_schema(name: str) -> None:
    assert find_schema("workloads", name) is None
    assert name not in known("workloads")
