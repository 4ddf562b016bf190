"""The index in SQLite and in a real PostgreSQL: what goes in comes out, also from two processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from benchspec.engine.history.entry import Entry
from benchspec.engine.history.index import VARIABLE, RunIndex
from benchspec.engine.model.errors import StorageError, UsageError
from tests.engine.history.past import entry
from tests.postgresql import server


@pytest.fixture(scope="module")
def postgresql() -> Generator[str, None, None]:
    with server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'deep' / 'index.sqlite'}"
    found: str = request.getfixturevalue("postgresql")
    RunIndex(found).put_all([], alone=True)
    return found


def content(index: RunIndex) -> object:
    runs = index.runs()
    return [
        runs,
        [index.series(name, everything=True) for name in sorted({run.name for run in runs})],
        [index.comparisons(run.run_id) for run in runs],
    ]


def test_rows_come_back_as_they_were(url: str) -> None:
    index = RunIndex(url)
    entries = [entry(2, (1.5, 2.5)), entry(1, (1e-300, 1e300)), entry(3, name="other")]
    assert index.put_all(entries) == 3
    assert index.runs() == [entries[1].run, entries[0].run, entries[2].run]
    assert index.runs("other") == [entries[2].run]
    assert index.series("counted") == [*entries[1].series, *entries[0].series]
    assert tuple(index.comparisons("counted-00002")) == entries[0].comparisons


def test_a_run_that_is_loaded_again_replaces_its_rows(url: str) -> None:
    index = RunIndex(url)
    index.put(entry(1, (1.0, 2.0, 3.0)))
    index.put(entry(1, (5.0,), path="/elsewhere"))
    assert [run.path for run in index.runs()] == ["/elsewhere"]
    assert [row.centre for row in index.series("counted")] == [5.0]
    index.remove("counted-00001")
    assert content(index) == [[], [], []]


def test_an_index_that_is_made_again_is_equal(url: str) -> None:
    index = RunIndex(url)
    for number in range(5):
        index.put(entry(number, (number + 1.0, 2.0)))
    before = content(index)
    index.put(entry(9, name="stranger"))
    index.put_all([entry(n, (n + 1.0, 2.0)) for n in reversed(range(5))], alone=True)
    assert content(RunIndex(url)) == before


def test_a_load_that_fails_changes_nothing(url: str) -> None:
    index = RunIndex(url)
    index.put(entry(1))
    before = content(index)

    def cut() -> Iterator[Entry]:
        yield entry(2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.put_all(cut(), alone=True)
    assert content(index) == before


def _write(url: str, numbers: range, shared: bool) -> None:
    for number in numbers:
        RunIndex(url).put(entry(number, (float(number), 2.0)))
        if shared:
            RunIndex(url).put(entry(0, (float(number),)))


def test_processes_write_at_once(url: str) -> None:
    context = multiprocessing.get_context("spawn")
    ranges = [range(start, start + 20) for start in (100, 200, 300)]
    writers = [context.Process(target=_write, args=(url, one, True)) for one in ranges]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    index = RunIndex(url)
    assert len(index.runs()) == 61
    assert len(index.series("counted")) == 121


def test_a_store_that_cannot_be_used_is_told_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="benchspec index") as caught:
        RunIndex("postgresql+psycopg://bench:hidden@127.0.0.1:1/none")
    assert "hidden" not in str(caught.value)
    (tmp_path / "file").write_text("no database, and longer than the head of one would be" * 9)
    with pytest.raises(StorageError, match="index"):
        RunIndex(f"sqlite:///{tmp_path / 'file'}")
    with pytest.raises(StorageError, match="index"):
        RunIndex(f"sqlite:///{tmp_path / 'file' / 'below'}")


@pytest.mark.parametrize("wrong", ["mysql://u:hidden@h/d", "hidden", "postgresql://u:hidden@h/d"])
def test_other_addresses_are_refused(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, wrong)
    with pytest.raises(UsageError, match=VARIABLE) as caught:
        RunIndex()
    assert "hidden" not in str(caught.value)
