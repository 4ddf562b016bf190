"""Two trials on one node at one time are found in journals, and nothing else is."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

from benchspec.engine.execution.checks.occupancy import Occupation, occupations, overlaps
from benchspec.engine.execution.slots import Slot
from benchspec.engine.execution.trial_result import Intent
from benchspec.engine.model.codec import encode
from benchspec.engine.model.contract.values import Node
from benchspec.engine.model.results import Trial, TrialKind, TrialStatus
from benchspec.engine.model.spec import Role
from benchspec.engine.store.journal import Record
from tests.engine.execution.bench import (
    finished,
    records,
    run_cli,
    spec_document,
    start_cli,
    write_spec,
)


def journal(*trials: tuple[float, float, dict[Role, Node]]) -> list[Record]:
    """The records of trials that began at a time, took so long, and had roles on nodes."""
    made: list[Record] = []
    for number, (began, took, nodes) in enumerate(trials, 1):
        slot = Slot(
            sequence=number, session=1, experiment_id=f"e{number}", kind=TrialKind.MEASURED, index=1
        )
        intent = Intent(
            slot=slot,
            jobs=(f"j{number}",),
            deadlines_s=(9.0,),
            allocation_id="a",
            allocation=1,
            nodes=nodes,
        )
        trial = Trial(
            sequence=number,
            experiment_id=f"e{number}",
            session=1,
            kind=TrialKind.MEASURED,
            index=1,
            job_id=f"j{number}",
            status=TrialStatus.VALID,
            started_at=began,
            duration_s=took,
            nodes={role.value: node.name for role, node in nodes.items()},
        )
        for type_, value in (("trial.started", intent), ("trial.finished", trial)):
            made.append(
                Record(n=len(made), type=type_, at=began, mono=began, boot="b", data=encode(value))
            )
    return made


def on(name: str, identity: str | None = None) -> dict[Role, Node]:
    return {Role.CLIENT: Node(name=name, identity=identity)}


def test_one_after_the_other_is_no_overlap() -> None:
    assert (
        overlaps(
            occupations(
                "r",
                journal((10, 1, on("n")), (11, 1, on("n")), (12, 1, on("m")), (12.5, 1, on("n"))),
            )
        )
        == []
    )


def test_two_runs_on_one_machine_are_found_under_whatever_names() -> None:
    one, other = (
        journal((10, 2, on("n", "machine"))),
        journal((11.5, 2, on("other-name", "machine"))),
    )
    (found,) = overlaps([*occupations("r", one), *occupations("s", other)])
    assert str(found) == "trial 1 of r and trial 1 of s shared node machine for 0.500 s"


def test_one_name_on_two_machines_is_no_overlap() -> None:
    one, other = journal((10, 2, on("n", "machine"))), journal((11, 2, on("n", "another")))
    assert overlaps([*occupations("r", one), *occupations("s", other)]) == []


def test_machines_of_two_runs_that_only_have_one_name_are_no_overlap() -> None:
    one, other = journal((10, 2, on("localhost"))), journal((11, 2, on("localhost")))
    assert overlaps([*occupations("r", one), *occupations("s", other)]) == []


def test_roles_of_one_trial_may_share_a_node() -> None:
    node = Node(name="n", identity=None)
    assert (
        overlaps(occupations("r", journal((10, 2, {Role.CLIENT: node, Role.SERVER: node})))) == []
    )


def test_a_long_trial_is_held_against_all_that_begin_in_it() -> None:
    found = overlaps(
        occupations(
            "r", journal((10, 9, on("n")), (11, 1, on("n")), (13, 1, on("n")), (30, 1, on("n")))
        )
    )
    assert [(each.first.sequence, each.second.sequence) for each in found] == [(1, 2), (1, 3)]


def test_it_finds_what_looking_at_all_pairs_finds() -> None:
    dice = random.Random(43)
    many = [
        Occupation(
            run_id="r",
            sequence=n,
            experiment_id="e",
            node=dice.choice("xyz"),
            identified=False,
            began_at=(began := dice.uniform(0, 50)),
            ended_at=began + dice.random(),
        )
        for n in range(150)
    ]
    pairs = {
        frozenset((a.sequence, b.sequence))
        for a in many
        for b in many
        if a.sequence < b.sequence
        and a.node == b.node
        and a.began_at < b.ended_at
        and b.began_at < a.ended_at
    }
    assert pairs
    assert {
        frozenset((each.first.sequence, each.second.sequence)) for each in overlaps(many)
    } == pairs


def test_a_plan_of_a_hundred_experiments_never_has_two_on_one_node_and_another_run_beside_it_is_seen(
    tmp_path: Path,
) -> None:
    """Nothing keeps two runs off this very host (no node of a cluster, no host over SSH would be
    shared): what happens then is in the journals.
    """
    document = spec_document(
        tmp_path / "counter",
        method={"sessions": 1, "trials": 1, "warmups": 0, "seed": 1},
        targets={"a": {"runner": "local"}},
    )
    del document["compare"]
    many = {**document, "workloads": {f"w{n}": document["workloads"]["count"] for n in range(100)}}
    first = tmp_path / "first"
    controller = start_cli(
        "run",
        str(write_spec(tmp_path / "many.yaml", many)),
        "--out",
        str(first),
        "--yes",
        "--quiet",
        stdout=subprocess.DEVNULL,
    )
    while not (first / "journal.ndjson").exists() or not finished(first):
        assert controller.poll() is None
        time.sleep(0.05)
    # the second run's trial takes as long as three of the first
    script = (
        f'n() {{ grep -c trial.finished "{first}/journal.ndjson"; }}; t=$(n); '
        'while [ $(n) -lt $((t+3)) ] && [ $(n) -lt 100 ]; do sleep 0.05; done; echo "rate: 1"'
    )
    workload = {
        **document["workloads"]["count"],
        "with": {
            **document["workloads"]["count"]["with"],
            "run": ["sh", "-c", script],
            "duration": "60 s",
        },
    }
    one = {**document, "workloads": {"one": workload}}
    done = run_cli(
        "run",
        str(write_spec(tmp_path / "one.yaml", one)),
        "--out",
        str(tmp_path / "second"),
        "--yes",
        "--quiet",
    )
    assert done.returncode == 0, done.stderr
    assert controller.wait() == 0
    alone = occupations("first", records(first))
    assert len(alone) == 100
    assert overlaps(alone) == []
    assert overlaps([*alone, *occupations("second", records(tmp_path / "second"))]) != []
    refused = run_cli("compare", str(first), str(tmp_path / "second"))
    assert (
        refused.returncode,
        "shared node" in refused.stderr,
        "more such pairs" in refused.stderr,
    ) == (7, True, True), refused.stderr
