"""Several clients and roles in one trial, on this host: begun together, placed as asked, copied to
a data sink.
"""

from __future__ import annotations

import hashlib
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.execution.checks.allocation_survey import PlacementRefused
from benchspec.engine.execution.run import Options
from benchspec.engine.facts.clocks import clock_finding
from benchspec.engine.model.errors import RunFailed, TransportLost
from benchspec.engine.model.results import Fact, FactSet, TrialStatus
from benchspec.engine.model.spec import Json
from benchspec.engine.store.journal import read_records
from benchspec.engine.store.read_run import read_run
from tests.engine.execution.bench import (
    Recorder,
    count,
    execute,
    finished,
    make_run,
    records,
    spec_document,
    start_cli,
)
from tests.engine.execution.exclusive import overlaps
from tests.engine.execution.pairs import Pair, execute_pair, make_pair_run

ONCE = {"sessions": 1, "trials": 2, "warmups": 0, "seed": 1}


def one_target(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    document = spec_document(tmp_path / "counter", **{"method": ONCE, **changes})
    document["targets"].pop("b")
    document.pop("compare")
    return document


def test_clients_of_one_trial_begin_together_and_the_rest_is_recorded(tmp_path: Path) -> None:
    document = one_target(tmp_path, seconds=0.2)
    trials = execute_pair(make_pair_run(tmp_path, document, Pair()).path, Pair())
    assert [t.status for t in trials] == [TrialStatus.VALID] * 2
    assert count(tmp_path / "counter") == 4
    for trial in trials:
        assert trial.start_skew_s is not None
        assert 0 <= trial.start_skew_s < 5
        assert trial.nodes == {"client": "localhost", "load-generator": "localhost"}
        assert trial.duration_s >= 0.2
    one = execute(make_run(tmp_path, one_target(tmp_path), "one").path)
    assert {t.start_skew_s for t in one} == {None}
    assert {tuple(t.nodes.items()) for t in one} == {(("client", "localhost"),)}


def test_a_slow_first_client_does_not_eat_the_deadline_of_the_second(tmp_path: Path) -> None:
    """Both hang: both are killed at their common deadline, not one deadline after the other."""
    document = one_target(
        tmp_path, script='printf x >> "$COUNTER"; sleep 47', method={**ONCE, "trials": 1}
    )
    document["workloads"]["count"]["with"]["timeout"] = "1 s"
    directory = make_pair_run(tmp_path, document, Pair())
    with pytest.raises(RunFailed, match="did not end within"):
        execute_pair(directory.path, Pair())
    (trial,) = finished(directory.path)
    assert trial.error_kind == "timeout"
    assert trial.duration_s < 20


def test_two_names_for_one_machine_are_refused_before_anything_is_measured(tmp_path: Path) -> None:
    document = one_target(tmp_path)
    document["sites"] = {"one": {"kind": "local"}, "two": {"kind": "local"}}
    document["targets"]["a"] = {"sites": {"client": "one", "load-generator": "two"}}
    document["workloads"]["count"]["placement"] = "across-sites"
    directory = make_pair_run(tmp_path, document, Pair())
    for options in (Options(), Options(allow_drift=True)):
        with pytest.raises(PlacementRefused, match="one machine") as caught:
            execute_pair(directory.path, Pair(), options)
        assert caught.value.exit_code == 5
    assert count(tmp_path / "counter") == 0
    found = read_run(directory.path)
    assert found.trials == ()
    assert {f.code for f in found.findings} == {"F201"}
    assert (
        "the client is on one localhost and the load-generator on two localhost"
        in found.findings[0].message
    )


def test_several_roles_are_looked_at_in_an_allocation_of_their_own_first(tmp_path: Path) -> None:
    directory = make_pair_run(tmp_path, one_target(tmp_path), Pair())
    execute_pair(directory.path, Pair())
    found = [r.data["session"] for r in records(directory.path) if r.type == "allocation.started"]
    assert found == [0, 1], "in session 0 nothing is measured"
    assert [
        r.data["slot"]["session"] for r in records(directory.path) if r.type == "trial.started"
    ] == [1, 1]


def test_roles_on_the_same_node_are_proven_so_in_every_trial(tmp_path: Path) -> None:
    document = one_target(tmp_path)
    document["workloads"]["count"]["placement"] = "same-node"
    trials = execute_pair(
        make_pair_run(tmp_path, document, Pair(serving=True)).path, Pair(serving=True)
    )
    assert [t.status for t in trials] == [TrialStatus.VALID] * 2
    for trial in trials:
        assert [(g.passed, g.observed, g.bound) for g in trial.gates if g.name == "placement"] == [
            (True, 1.0, 1.0)
        ]


def test_a_server_has_its_time_to_recover_before_every_trial(tmp_path: Path) -> None:
    workload = Pair(serving=True, settle_s=0.7)
    first, second = execute_pair(
        make_pair_run(tmp_path, one_target(tmp_path), workload).path, workload
    )
    assert second.started_at - (first.started_at + first.duration_s) >= 0.7


def sink_document(tmp_path: Path, where: str) -> dict[str, Any]:
    document = one_target(tmp_path)
    document["sites"] = {"one": {"kind": "local"}, "keep": {"kind": "local", "workdir": where}}
    document["targets"]["a"] = {"sites": {"client": "one", "data-sink": "keep"}}
    return document


def test_results_are_copied_to_the_data_sink_before_the_target_is_destroyed(tmp_path: Path) -> None:
    document = sink_document(tmp_path, str(tmp_path / "far"))
    seen = tmp_path / "seen"
    look = f'ls "{tmp_path}"/far/benchspec-results/*/raw | wc -l > "{seen}"'
    document["targets"]["a"]["lifecycle"] = {
        "destroy": [{"name": "look", "run": ["sh", "-c", look]}]
    }
    directory = make_run(tmp_path, document)
    execute(directory.path)
    (copy,) = (tmp_path / "far" / "benchspec-results").iterdir()
    assert copy.name == directory.run_id
    assert seen.read_text().strip() == "2", "the copy was there when the target was destroyed"
    copied = [p for p in copy.rglob("*") if p.is_file()]
    assert {str(p.relative_to(copy)) for p in copied} >= {
        "manifest.json",
        "journal.ndjson",
        "raw/000001/0-stdout",
        "raw/000002/trial.json",
    }
    for path in copied:
        mine = directory.path / path.relative_to(copy)
        if path.name != "journal.ndjson":
            assert (
                hashlib.sha256(path.read_bytes()).digest()
                == hashlib.sha256(mine.read_bytes()).digest()
            )
    assert directory.journal_path.read_bytes().startswith((copy / "journal.ndjson").read_bytes())
    assert len(read_run(copy).trials) == 2, "the copy can be read by itself"
    (told,) = [r.data for r in records(directory.path) if r.type == "results.deposited"]
    assert (told["site"], told["directory"], told["files"]) == ("keep", str(copy), len(copied))


def test_a_data_sink_that_takes_nothing_fails_the_run_and_not_its_results(tmp_path: Path) -> None:
    far = tmp_path / "far"
    far.mkdir()
    (far / "benchspec-results").write_text("in the way")
    directory = make_run(tmp_path, sink_document(tmp_path, str(far)))
    with pytest.raises(RunFailed, match="not copied to the data sink on keep") as caught:
        execute(directory.path)
    assert caught.value.exit_code == 4
    found = read_run(directory.path)
    assert found.complete
    assert [t.status for t in found.trials] == [TrialStatus.VALID] * 2
    assert [f.code for f in found.findings] == ["F605"]
    (far / "benchspec-results").unlink()
    execute(directory.path)
    assert count(tmp_path / "counter") == 2, "nothing was measured again"
    assert read_run(directory.path).findings == (), "the copy was made after all"
    execute(directory.path)
    assert sum(r.type == "results.deposited" for r in records(directory.path)) == 1, "copied once"


SECOND_IS_BAD = (
    'printf x >> "$COUNTER"; n=$(wc -c < "$COUNTER"); echo "rate: $n"; [ "$n" -eq 2 ] || sleep 1.2'
)


def test_a_replacement_that_a_killed_controller_owed_is_made_up_for(tmp_path: Path) -> None:
    """Killed after the invalid trial was recorded and before its replacement was; a byte of the
    journal more or less does not matter.
    """
    document = one_target(tmp_path, script=SECOND_IS_BAD)
    document["workloads"]["count"]["with"]["duration"] = "2 s"
    document["workloads"]["count"]["gates"] = {"min_duration": "1 s", "max_steal": "100 %"}
    directory = make_run(tmp_path, document)
    controller = start_cli(
        "resume", str(directory.path), "--yes", "--quiet", stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while count(tmp_path / "counter") < 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    controller.send_signal(signal.SIGKILL)
    controller.wait()
    kept = [
        r
        for r in read_records(directory.journal_path)[0]
        if r.type != "trial.started" or r.data["slot"].get("replaces") is None
    ]
    lines = directory.journal_path.read_bytes().splitlines(keepends=True)
    directory.journal_path.write_bytes(b"".join(lines[: len(kept)]))
    trials = execute(directory.path)
    assert [(t.sequence, t.status, t.replaces) for t in trials] == [
        (1, TrialStatus.VALID, None),
        (2, TrialStatus.INVALID, None),
        (3, TrialStatus.VALID, 2),
    ]
    assert execute(directory.path) == trials, "and once only"


def test_no_two_workloads_run_on_one_node(tmp_path: Path) -> None:
    directory = make_run(tmp_path, spec_document(tmp_path / "counter"))
    execute(directory.path)
    assert overlaps(records(directory.path)) == []


def test_the_checker_finds_two_workloads_on_one_node(tmp_path: Path) -> None:
    directory = make_run(tmp_path, spec_document(tmp_path / "counter", method=ONCE))
    execute(directory.path)
    found = records(directory.path)
    first = next(i for i, r in enumerate(found) if r.type == "trial.finished")
    second = next(i for i, r in enumerate(found) if r.type == "trial.started" and i > first)
    moved = [
        *found[:first],
        found[second],
        found[first],
        *found[first + 1 : second],
        *found[second + 1 :],
    ]
    assert overlaps(moved) == [(1, 2)]


def clock(offset: Json, bound: Json) -> FactSet:
    facts = (
        Fact(name="clock.offset", value=offset, source="t"),
        Fact(name="clock.offset_bound", value=bound, source="t"),
    )
    return FactSet(
        target="a", site="lab", node="host2", when="before", observed_at=0.0, facts=facts
    )


def test_a_clock_that_is_off_is_told_with_its_bound() -> None:
    finding = clock_finding(clock(0.2503, 0.0011))
    assert finding is not None
    assert finding.code == "F521"
    assert (
        "the clock of lab host2 is 250 ms ahead of the controller's (known to within 1.1 ms)"
        in finding.message
    )
    behind = clock_finding(clock(-0.2503, 0.0011))
    assert behind is not None
    assert "250 ms behind" in behind.message
    for quiet in (
        clock(0.0003, 0.001),
        clock(0.04, 0.0),
        clock(0.3, 0.26),
        clock(None, 0.1),
        clock(0.3, None),
    ):
        assert clock_finding(quiet) is None


def test_a_lost_connection_is_of_kind_transport_whatever_the_runner_calls_it() -> None:
    from benchspec.engine.execution import trial

    class Silent(TransportLost):
        """A runner's own."""

    assert trial._kind(Silent("x")) == "transport"


def test_a_copy_is_told(tmp_path: Path) -> None:
    recorder = Recorder()
    execute(
        make_run(tmp_path, sink_document(tmp_path, str(tmp_path / "far"))).path, observer=recorder
    )
    assert next(e.message for e in recorder.events if e.kind == "results.deposited").startswith(
        "copied "
    )
