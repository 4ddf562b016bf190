"""Fields of the spec language: found by path in the shipped schemas, and told in words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchspec.engine.language.help.field_search import find_fields, guests, named_root, spec_root
from benchspec.engine.language.help.fields import Field, root, split_path
from benchspec.engine.language.schema import registry as schema
from benchspec.engine.model import schema_files
from benchspec.engine.model.errors import UsageError


def only(path: str) -> Field:
    (field,) = find_fields(path)
    return field


@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        ("spec", "spec"),
        ("", "spec"),
        ("$", "spec"),
        ("spec.targets[].cvm", "spec.targets.NAME.cvm"),
        ("targets.NAME.cvm", "spec.targets.NAME.cvm"),
        ("$.targets.aks.cvm", "spec.targets.NAME.cvm"),
        ("targets.cvm", "spec.targets.NAME.cvm"),
        ("targets.storage", "spec.targets.NAME.storage"),
        ("targets.storage.cvm.technology", "spec.targets.NAME.cvm.technology"),
        ("targets.aks.limits[0].sustained", "spec.targets.NAME.limits[].sustained"),
        ("targets.aks.limits.sustained", "spec.targets.NAME.limits[].sustained"),
        ("targets.aks.topology.workers.cores", "spec.targets.NAME.topology.NAME.cores"),
        (
            "targets.aks.lifecycle.bootstrap[3].wait.tcp",
            "spec.targets.NAME.lifecycle.bootstrap[].wait.tcp",
        ),
        ("workloads[].with", "spec.workloads.NAME.with"),
        ("workloads.x.gates.max_steal", "spec.workloads.NAME.gates.max_steal"),
        ("fio.bs", "fio.bs"),
        ("local.workdir", "local.workdir"),
        ("ssh.hosts.client.port", "ssh.hosts.NAME.port"),
        ("sites.c1.hosts.client.port", "ssh.hosts.NAME.port"),
        ("workloads[].with.iodepth", "fio.iodepth"),
    ],
)
def test_paths_lead_to_fields(path: str, canonical: str) -> None:
    assert [field.path for field in find_fields(path)] == [canonical]


def test_a_key_of_several_tools_or_runners_is_found_in_each() -> None:
    assert {"iperf3.streams", "netperf.streams"} <= {
        field.path for field in find_fields("workloads[].with.streams")
    }
    assert {field.path for field in find_fields("targets.x.runner.workdir")} == {
        "local.workdir",
        "ssh.workdir",
    }


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("targets[].cvn", 'did you mean "cvm"?'),
        ("target", 'did you mean "targets"?'),
        ("method.session", 'did you mean "sessions"?'),
        ("iperf", 'did you mean "iperf3"?'),
        ("workloads[].with.iodeph", 'did you mean "iodepth"?'),
        ("fio.bs.x", "fio.bs has no fields"),
    ],
)
def test_an_unknown_path_names_the_nearest_field(path: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_fields(path)
    assert says in str(caught.value)


def test_kinds_units_and_values_in_words() -> None:
    assert only("method.sessions").kind == "whole number"
    assert only("method.sessions").bounds == "at least 1, at most 10000"
    assert (only("method.cooldown").kind, only("method.cooldown").unit) == ("time", "s")
    assert only("method.order").values == ("blocks", "duet", "sequential")
    assert only("apiVersion").values == ("benchspec/v1",)
    assert only("targets[].cvm").kind == "true or false or mapping"
    assert only("compare.must_match").kind == "list of text"
    assert only("targets").kind == "mapping by name"
    limit = only("targets[].limits[].sustained")
    assert (limit.kind, limit.unit) == ("quantity", None)
    assert limit.quantity is not None
    assert "unit of its metric" in limit.quantity


@pytest.mark.parametrize(
    ("path", "default"),
    [
        ("method.sessions", 10),
        ("method.order", "blocks"),
        ("method.cooldown", "0 s"),
        ("compare.equivalence", "2 %"),
        ("compare.baseline", None),
        ("targets[].lifecycle.per", "run"),
        ("targets[].lifecycle.bootstrap[].timeout", "300 s"),
        ("targets[].lifecycle.bootstrap[].name", None),
        ("targets[].cvm", None),
        ("netperf.duration", "10 s"),
    ],
)
def test_defaults_come_from_the_model_or_the_schema(path: str, default: object) -> None:
    assert only(path).default == default


def test_required_fields_are_known() -> None:
    assert {field.name for field in spec_root().fields() if field.required} == {
        "apiVersion",
        "kind",
        "name",
        "title",
        "targets",
        "workloads",
    }


def everything(field: Field, seen: frozenset[str] = frozenset()) -> Iterator[Field]:
    yield field
    for below in field.fields():
        if below.definition is None or below.definition not in seen:
            yield from everything(below, seen | ({below.definition} if below.definition else set()))


@pytest.mark.parametrize("name", schema.schema_names())
def test_every_field_of_every_schema_has_a_description_and_examples(name: str) -> None:
    start = spec_root() if name == schema.BENCHMARK else named_root(name)
    assert start is not None
    fields = list(everything(start))
    assert len(fields) > 1
    assert not [field.path for field in fields if not field.description or not field.kind]
    assert not [
        field.path
        for field in fields
        if field is not start and not field.examples and not field.fields()
    ]


def test_further_keys_come_from_tools_and_runners() -> None:
    assert guests(only("workloads[].with")) == schema_files.known("workloads")
    assert guests(only("sites.x")) == schema_files.known("runners")
    assert guests(only("targets[].runner")) == schema_files.known("runners")
    assert guests(only("method")) == ()


def test_split_path_keeps_list_steps() -> None:
    assert split_path("$.a[].b[12].c-d") == ("a", "[]", "b", "[12]", "c-d")


def test_a_schema_without_types_is_any_value() -> None:
    field = root("x", {"properties": {"a": {}, "b": {"type": "null"}}})
    assert [below.kind for below in field.fields()] == ["any value", "nothing"]
    assert field.kind == "mapping"
    assert field.step("[]") is None
