"""A run, its consent, its events, its errors, and going on with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import benchspec
from benchspec.api.notices import REPORTED
from benchspec.engine.model.errors import RunFailed, Unsupported, UsageError
from tests.engine.execution.bench import Recorder, count, finished, spec_document, write_spec

METHOD = {"sessions": 1, "trials": 1, "warmups": 0}


def test_a_run_gives_its_page_and_tells_its_observer(tmp_path: Path) -> None:
    spec = write_spec(tmp_path / "s.yaml", spec_document(tmp_path / "counter", method=METHOD))
    watching, asked = Recorder(), list[Sequence[str]]()

    def consent(lines: Sequence[str]) -> bool:
        asked.append(lines)
        return True

    done = benchspec.run(spec, out=tmp_path / "run", consent=consent, observer=watching)
    assert done.page == tmp_path / "run" / "report" / "page.md"
    assert done.page.read_text().count("# Counted") == 1
    assert [line.partition(":")[0] for line in asked[0]] == ["a", "b"]
    assert watching.kinds().count("trial.finished") == 2
    assert watching.kinds()[-1] == REPORTED
    assert watching.events[-1].message == str(done.page)
    again = benchspec.resume(str(done.directory), consent=consent)
    assert again == done
    assert count(tmp_path / "counter") == 2


@pytest.mark.parametrize("consent", [None, lambda lines: False])
def test_without_consent_nothing_is_executed_or_made(tmp_path: Path, consent: object) -> None:
    counter = tmp_path / "counter"
    spec = write_spec(tmp_path / "s.yaml", spec_document(counter, method=METHOD))
    with pytest.raises(UsageError, match="nobody agreed") as refused:
        benchspec.run(spec, out=tmp_path / "run", consent=consent)  # type: ignore[arg-type]
    assert [note.partition(":")[0] for note in refused.value.__notes__] == ["a", "b"]
    assert not counter.exists()
    assert not (tmp_path / "run").exists()


def test_what_cannot_be_carried_out_is_refused_with_every_problem(tmp_path: Path) -> None:
    targets = {name: {"runner": "local", "cpus": [4000]} for name in ("a", "b")}
    document = spec_document(tmp_path / "counter", method=METHOD, targets=targets)
    with pytest.raises(Unsupported, match="nothing was created") as refused:
        benchspec.run(write_spec(tmp_path / "s.yaml", document), out=tmp_path / "run")
    assert all("cannot run: " in note and "4000" in note for note in refused.value.__notes__)
    assert not (tmp_path / "run").exists()


def test_an_error_says_where_the_page_of_what_was_measured_is(tmp_path: Path) -> None:
    document = spec_document(tmp_path / "counter", script="exit 3", method=METHOD)
    spec = write_spec(tmp_path / "s.yaml", document)
    with pytest.raises(RunFailed) as failed:
        benchspec.run(spec, out=tmp_path / "run", consent=lambda lines: True)
    page = tmp_path / "run" / "report" / "page.md"
    assert failed.value.__notes__ == [f"page of what was measured: {page}"]
    assert page.is_file()
    assert {trial.status.value for trial in finished(tmp_path / "run")} == {"failed"}
