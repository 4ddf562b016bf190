from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchspec.engine.model.errors import RunFailed, StorageError, UsageError
from benchspec.engine.model.spec import Role, RolePlace, Site
from benchspec.runners.agent.record import Record
from benchspec.runners.local import record, state
from benchspec.runners.registry import get_runner

HERE = Site(name="here", runner="local")


def test_the_state_directory_follows_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere")
    assert state.state_root() == Path("/somewhere/benchspec")
    for ignored in ("", "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", ignored)
        assert state.state_root() == Path(f"/var/tmp/benchspec-{os.getuid()}")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "/etc", "-rf", "a\n", "a b", "ü", "x" * 201]
)
def test_an_id_is_one_file_name(name: str) -> None:
    with pytest.raises(UsageError, match="expected letters"):
        state.places(HERE, name)


def test_a_relative_workdir_is_refused() -> None:
    for workdir in ("data", 7):
        with pytest.raises(UsageError, match="absolute"):
            state.places(Site(name="here", runner="local", options={"workdir": workdir}), "r")


def test_workdir_moves_the_work_and_clean_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    site = Site(name="here", runner="local", options={"workdir": str(tmp_path / "data")})
    runner = get_runner("local")
    session = runner.connect(site, "r1")
    allocation = session.allocate([RolePlace(role=Role.CLIENT, site="here")], "a")
    assert allocation.surroundings().workdirs[Role.CLIENT] == str(
        tmp_path / "data" / "benchspec-r1" / "here" / "a" / "client"
    )
    (tmp_path / "data" / "own-file").touch()
    assert [(leftover.kind, leftover.name) for leftover in runner.leftovers(site, "r1")] == [
        ("directory", str(tmp_path / "data" / "benchspec-r1" / "here")),
        ("directory", str(tmp_path / "state" / "benchspec" / "r1" / "here")),
    ]
    for leftover in runner.leftovers(site, "r1"):
        runner.remove(site, leftover)
    assert list((tmp_path / "data").iterdir()) == [tmp_path / "data" / "own-file"]
    assert list((tmp_path / "state" / "benchspec").iterdir()) == []


def test_a_directory_that_others_may_enter_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "file").touch()
    for name in ("open", "link", "file"):
        with pytest.raises(StorageError, match="private"):
            state.make_private(tmp_path / name)
    state.make_private(tmp_path / "new" / "deep")
    state.make_private(tmp_path / "new" / "deep")
    assert (tmp_path / "new" / "deep").stat().st_mode & 0o777 == 0o700


def test_a_directory_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to give a directory away")
    (tmp_path / "theirs").mkdir(mode=0o700)
    os.chown(tmp_path / "theirs", 65534, 65534)
    with pytest.raises(StorageError, match="uid 65534"):
        state.make_private(tmp_path / "theirs")


def test_an_unwritable_place_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(StorageError, match="XDG_STATE_HOME"):
        get_runner("local").connect(HERE, "r")


def test_a_read_only_place_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a read-only file system")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(tmp_path)], check=True)
    try:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        with pytest.raises(StorageError, match="read-only"):
            get_runner("local").connect(HERE, "r")
        with pytest.raises(StorageError, match="cannot be removed"):
            state.Places(run=tmp_path / "x", work=tmp_path / "x" / "work").remove_if_empty()
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_directories_that_hold_something_stay(tmp_path: Path) -> None:
    made = state.Places(
        run=tmp_path / "s" / "r" / "here", work=tmp_path / "s" / "r" / "here" / "work"
    )
    made.create()
    (made.jobs / "x").touch()
    made.remove_if_empty()
    assert (made.jobs / "x").exists()
    assert not made.allocations.exists()


def test_names_inside_a_directory(tmp_path: Path) -> None:
    assert state.inside(tmp_path, "a/b") == tmp_path / "a" / "b"
    with pytest.raises(RunFailed):
        state.inside(tmp_path, "nul\0")


def test_removing_what_is_gone_is_harmless(tmp_path: Path) -> None:
    state.remove_tree(tmp_path / "never")
    with pytest.raises(StorageError):
        state.remove_tree(Path("/proc/self"))


def as_somebody(action: Callable[[], object]) -> str:
    """What ``action`` ends with as a user without root's rights: the name of its error, or
    nothing.
    """
    if os.geteuid() != 0:
        pytest.skip("needs root to become somebody else")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgid(65534)
            os.setuid(65534)
            action()
        except (
            BaseException
        ) as error:  # told to the parent, since a fork of the tests must not go on as one
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with open(reading) as stream:
        return stream.read()


@pytest.fixture
def theirs() -> Iterator[Path]:
    """A directory of another user, below one that everybody can enter."""
    path = Path(tempfile.mkdtemp(dir="/var/tmp"))
    os.chown(path, 65534, 65534)
    yield path
    subprocess.run(["rm", "-rf", str(path)], check=True)


def test_directories_that_their_owner_may_not_change_are_removed(theirs: Path) -> None:
    def remove() -> None:
        (theirs / "w" / "closed" / "deep").mkdir(parents=True)
        (theirs / "w" / "closed" / "deep" / "file").touch()
        (theirs / "w" / "link").symlink_to("/")
        for name in ("w/closed/deep", "w/closed", "w"):
            (theirs / name).chmod(0)
        state.remove_tree(theirs / "w")

    assert as_somebody(remove) == ""
    assert list(theirs.iterdir()) == []


def test_a_file_that_may_not_be_read_is_told(theirs: Path) -> None:
    def fetch() -> None:
        (theirs / "f").touch(mode=0)
        record.fetched(
            Record(argv=("x",), workdir=str(theirs), fetch=("f",), allocation="a", started_at=0.0)
        )

    assert as_somebody(fetch).startswith("RunFailed: ")
