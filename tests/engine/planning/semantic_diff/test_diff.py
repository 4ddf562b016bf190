"""What a change means: by path and subject, and which stored results it makes incomparable."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchspec.engine.model.errors import SpecError
from benchspec.engine.model.spec import (
    Comparison,
    Component,
    Json,
    Layer,
    Lifecycle,
    Limit,
    Method,
    Price,
    ReportOptions,
    Spec,
    Step,
    TrafficPath,
)
from benchspec.engine.planning.semantic_diff.diff import (
    Change,
    SpecDiff,
    diff_specs,
    diff_to_json,
    diff_to_text,
)
from benchspec.engine.planning.semantic_diff.semantic_leaves import Subject
from tests.engine.handmade import TOOLS, loaded, sites, spec, target, workload

CNI: dict[str, Json] = {
    "cni.name": "cilium",
    "cni.version": "1.12",
    "cni.mtu": 1500,
    "net.mtu": 1500,
}
CLAIMS: dict[str, Json] = CNI | {"machine.type": "D4", "memory.total": 2.0**34}


def base() -> Spec:
    jobs: tuple[Json, ...] = ({"name": "read", "bs": "4 KiB"}, {"name": "write", "bs": "1 MiB"})
    return spec(
        targets=[
            target(
                "a",
                claims=CLAIMS,
                storage={"class": "default", "parameters": {"skuname": "StandardSSD_LRS"}},
            ),
            target("b"),
        ],
        workloads=[
            workload(matrix=(("streams", (1, 8)),)),
            workload("disk", tool="disk", matrix=(("job", jobs),)),
        ],
        method=Method(sessions=10, seed=1),
    )


def compared(new: Spec, old: Spec | None = None) -> SpecDiff:
    return diff_specs(loaded(old or base()), loaded(new, b"other bytes"), TOOLS)


def target_with(**fields: object) -> Spec:
    made = base()
    return replace(made, targets=(replace(made.targets[0], **fields), made.targets[1]))  # type: ignore[arg-type]


def workload_with(**fields: object) -> Spec:
    made = base()
    return replace(made, workloads=(replace(made.workloads[0], **fields), made.workloads[1]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "same",
    [
        base(),
        workload_with(parameters={"duration": "1000 ms"}),
        replace(base(), method=Method(seed=1)),
        target_with(claims=dict(reversed(CLAIMS.items()))),
    ],
    ids=["itself", "quantity", "defaults", "order"],
)
def test_comments_spelling_defaults_and_order_are_no_difference(same: Spec) -> None:
    found = compared(same)
    assert found.empty
    assert len(found.kept) == 8
    assert diff_to_text(found) == "Both specs mean the same: every stored result stays comparable."


LIMIT = Limit(
    metric="network.throughput",
    sustained=1e9,
    burst=1e9,
    unit="bit/s",
    layer=Layer.WIRE,
    applies_to="vm",
    source="s",
    as_of="2023-03-20",
)
PRICE = Price(per_hour=1.0, currency="USD", source="s", as_of="2023-03-20")
ARGV = (
    "targets.a.lifecycle.bootstrap[0].arguments.argv",
    "environment",
    "lifecycle",
    None,
    ["x", "y"],
)
COMPONENT = Component(
    name="vault",
    version="1.14.1",
    lifecycle=Lifecycle(bootstrap=(Step(name="s", action="run", arguments={"argv": ["x", "y"]}),)),
)


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (
            target_with(claims=CLAIMS | {"cni.version": "1.15"}),
            ("targets.a.cni.version", "environment", "cni", "1.12", "1.15"),
        ),
        (
            target_with(claims=CLAIMS | {"cni.mtu": 8896, "net.mtu": 8896}),
            ("targets.a.cni.mtu", "environment", "cni", 1500, 8896),
        ),
        (
            target_with(claims=CLAIMS | {"cvm.expected": True}),
            ("targets.a.cvm.expected", "environment", "cvm", None, True),
        ),
        (
            target_with(claims=CLAIMS | {"w/machine.type": "D8"}),
            ("targets.a.w/machine.type", "environment", "machine", None, "D8"),
        ),
        (
            target_with(cpus={"any": (0, 1)}),
            ("targets.a.cpus.any", "environment", "cpus", None, (0, 1)),
        ),
        (
            target_with(storage={"class": "default"}),
            (
                "targets.a.storage.parameters.skuname",
                "environment",
                "storage",
                "StandardSSD_LRS",
                None,
            ),
        ),
        (target_with(title="Other"), ("targets.a.title", "report", "title", "A", "Other")),
        (
            target_with(document={"description": "d"}),
            ("targets.a.description", "report", "description", None, "d"),
        ),
        (
            target_with(environment="X"),
            ("targets.a.environment", "judgement", "compare", None, "X"),
        ),
        (
            target_with(limits=(LIMIT,)),
            (
                "targets.a.limits.network.throughput(vm).sustained",
                "judgement",
                "limit",
                None,
                "1 Gbit/s",
            ),
        ),
        (target_with(price=PRICE), ("targets.a.price.per_hour", "judgement", "price", None, 1.0)),
        (
            target_with(components=(COMPONENT,)),
            ("targets.a.components.vault.version", "environment", "component", None, "1.14.1"),
        ),
        (target_with(lifecycle=COMPONENT.lifecycle), ARGV),
        (
            target_with(sites=sites("a", "ssh", host="h")),
            ("targets.a.sites.client.host", "environment", "site", None, "h"),
        ),
        (
            workload_with(path=TrafficPath.MESH),
            ("workloads.net.path", "workload", "path", None, "mesh"),
        ),
        (
            workload_with(primary="jitter"),
            ("workloads.net.primary", "judgement", "primary", None, "jitter"),
        ),
        (
            workload_with(matrix=(("streams", (1, 8, 16)),)),
            ("workloads.net.matrix.streams.16", "workload", "matrix", None, 16),
        ),
        (
            workload_with(parameters={"duration": "5 s"}),
            ("workloads.net.parameters.duration", "workload", "parameters", "1 s", "5 s"),
        ),
        (
            replace(base(), method=Method(sessions=30, seed=1)),
            ("method.sessions", "method", "method", 10, 30),
        ),
        (replace(base(), compare=None), ("compare.baseline", "judgement", "compare", "a", None)),
        (
            replace(base(), compare=Comparison(baseline="b")),
            ("compare.baseline", "judgement", "compare", "a", "b"),
        ),
        (
            replace(base(), compare=Comparison(baseline=("a", "b"))),
            ("compare.baseline", "judgement", "compare", "a", ["a", "b"]),
        ),
        (
            replace(base(), report=ReportOptions(docs="d")),
            ("report.docs", "report", "report", None, "d"),
        ),
        (replace(base(), title="Other"), ("title", "report", "title", "Made by hand", "Other")),
        (replace(base(), labels={"team": "x"}), ("labels.team", "report", "labels", None, "x")),
    ],
)
def test_a_change_is_named_by_path_and_subject(
    new: Spec, expected: tuple[str, str, str, Json, Json]
) -> None:
    path, subject, area, old, value = expected
    [change] = [c for c in compared(new).changes if c.path == path]
    assert change == Change(path=path, subject=Subject(subject), area=area, old=old, new=value)


def test_one_change_is_one_line() -> None:
    assert [
        c.path
        for c in compared(target_with(claims=CLAIMS | {"cni.mtu": 8896, "net.mtu": 8896})).changes
    ] == ["targets.a.cni.mtu"]
    assert [c.path for c in compared(replace(base(), title="Other")).changes] == ["title"]


def test_prose_method_and_judgement_leave_every_result_comparable() -> None:
    new = replace(
        target_with(title="Other", price=PRICE, limits=(LIMIT,)),
        method=Method(sessions=30),
        compare=None,
        description="d",
    )
    found = compared(new)
    assert {c.subject for c in found.changes} == {Subject.REPORT, Subject.JUDGEMENT, Subject.METHOD}
    assert (len(found.kept), found.changed, found.added, found.removed) == (8, (), (), ())


def test_a_changed_claim_makes_the_targets_results_incomparable_and_says_why() -> None:
    found = compared(target_with(claims=CLAIMS | {"cni.version": "1.15"}))
    cells = ["net[streams=1]", "net[streams=8]", "disk[job=read]", "disk[job=write]"]
    assert [(a.target, a.cell) for a in found.changed] == [("a", cell) for cell in cells]
    assert {c.path for a in found.changed for c in a.because} == {"cni.version"}
    assert len(found.kept) == 4


def test_a_changed_axis_value_makes_one_cell_incomparable() -> None:
    made = base()
    jobs: tuple[Json, ...] = ({"name": "read", "bs": "8 KiB"}, {"name": "write", "bs": "1 MiB"})
    found = compared(
        replace(
            made, workloads=(made.workloads[0], replace(made.workloads[1], matrix=(("job", jobs),)))
        )
    )
    assert [c.path for c in found.changes] == ["workloads.disk.matrix.job.read.bs"]
    assert [(a.target, a.cell, [c.path for c in a.because]) for a in found.changed] == [
        (t, "disk[job=read]", ["parameters.bs"]) for t in "ab"
    ]


def test_another_machine_for_one_workload_is_the_reason() -> None:
    found = compared(workload_with(overrides={"a": {"machine": "DC4"}}))
    assert [(c.path, c.old, c.new) for c in found.changed[0].because] == [
        ("machine.type", "D4", "DC4")
    ]


def test_experiments_come_and_go() -> None:
    found = compared(workload_with(matrix=(("streams", (8, 16)),)))
    assert [(e.target, e.cell) for e in found.added] == [
        ("a", "net[streams=16]"),
        ("b", "net[streams=16]"),
    ]
    assert [(e.target, e.cell) for e in found.removed] == [
        ("a", "net[streams=1]"),
        ("b", "net[streams=1]"),
    ]
    assert (len(found.kept), found.changed) == (6, ())


def test_a_renamed_target_keeps_its_results() -> None:
    made = base()
    found = compared(
        replace(
            made,
            targets=(replace(made.targets[0], name="aks"), made.targets[1]),
            compare=Comparison(baseline="aks"),
        )
    )
    assert (len(found.kept), found.added, found.removed, found.changed) == (8, (), (), ())


def test_swapping_the_diff_swaps_its_sides() -> None:
    new = workload_with(matrix=(("streams", (1, 16)),), parameters={"duration": "2 s"})
    forth, back = compared(new), compared(base(), new)
    assert {(c.path, repr(c.old), repr(c.new)) for c in forth.changes} == {
        (c.path, repr(c.new), repr(c.old)) for c in back.changes
    }
    assert (forth.added, forth.removed) == (back.removed, back.added)


def test_a_spec_that_does_not_expand_is_an_error() -> None:
    with pytest.raises(SpecError, match="unknown tool"):
        compared(spec(workloads=[workload(tool="none")]))


def test_the_json_has_every_key_and_is_stable() -> None:
    found = compared(workload_with(matrix=(("streams", (1, 16)),), parameters={"duration": "2 s"}))
    document = diff_to_json(found)
    assert list(document) == ["changes", "added", "removed", "kept", "changed"]
    assert json.dumps(document) == json.dumps(
        diff_to_json(
            compared(workload_with(matrix=(("streams", (1, 16)),), parameters={"duration": "2 s"}))
        )
    )


def test_the_text_is_for_reviewers() -> None:
    new = replace(
        target_with(claims=CLAIMS | {"memory.total": 2.0**35}), method=Method(sessions=30, seed=1)
    )
    text = diff_to_text(
        compared(
            replace(
                new,
                workloads=(
                    replace(new.workloads[0], matrix=(("streams", (1, 16)),)),
                    new.workloads[1],
                ),
            )
        )
    )
    assert text.startswith(
        "## Environment\n\n- `targets.a.memory.total`: 16 GiB to 32 GiB\n\n## Workloads\n\n"
    )
    assert "- `workloads.net.matrix.streams.16`: added 16\n" in text
    assert (
        "- `workloads.net.matrix.streams.8`: removed 8\n\n## Method\n\n- `method.sessions`: 10 to"
        " 30\n" in text
    )
    assert (
        "\n\nExperiments: 3 kept (need not run again), 3 incomparable, 2 added, 2 removed.\n\n-"
        " incomparable: `a net[streams=1]` (" in text
    )
    assert "because of `memory.total` 16 GiB to 32 GiB" in text
    assert "- without a successor: `a net[streams=8]` (" in text
    assert "- to be measured: `b net[streams=16]` (" in text


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("[x](javascript:y) @all <img src=x>", "`[x](javascript:y) @all <img src=x>`"),
        ("a `b` ``", "``` a `b` `` ```"),
        ("\x1b[2J\n# b", "`\\x1b[2J # b`"),
        ("x" * 400, f"`{'x' * 297}...`"),
        (" ", "(empty)"),
    ],
)
def test_the_text_shows_what_a_spec_says_as_code(title: str, shown: str) -> None:
    assert f"- `targets.a.title`: `A` to {shown}\n" in diff_to_text(
        compared(target_with(title=title))
    )
