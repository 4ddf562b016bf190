"""Bundles: the same bytes each time, every flipped byte named, and hostile ones refused."""

from __future__ import annotations

import gzip
import io
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from benchspec.engine.bundling import form
from benchspec.engine.bundling.bundle import check_bundle, unpacked, write_bundle
from benchspec.engine.bundling.form import END, INDEX, Packed, encode_index, store, sum_of, tar_head
from benchspec.engine.model.errors import IntegrityError, Locked, UsageError
from benchspec.engine.store.directory import RunDirectory
from benchspec.engine.store.journal import Journal

OLD = Path(__file__).parents[2] / "data" / "old-runs" / "finished"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    copy = shutil.copytree(OLD, tmp_path / "run")
    (copy / "report").mkdir()
    (copy / "report" / "page.md").write_text("a page")
    return copy


@pytest.fixture
def bundle(run: Path, tmp_path: Path) -> Path:
    write_bundle(RunDirectory.open(run), tmp_path / "run.tar.gz")
    return tmp_path / "run.tar.gz"


def tree(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def files_of(bundle: Path) -> tuple[list[Packed], list[bytes]]:
    """What a bundle says of its files, and their members."""
    data = bundle.read_bytes()
    begin = form.first_member(data)
    assert begin is not None
    files, members = list(form.decode_index(form.read_stored(data[:begin]))), []
    for file in files:
        members.append(data[begin : begin + file.packed_size])
        begin += file.packed_size
    assert data[begin:] == END
    return files, members


def test_the_same_run_gives_the_same_bytes(run: Path, bundle: Path, tmp_path: Path) -> None:
    other = shutil.copytree(run, tmp_path / "elsewhere")
    for path in other.rglob("*"):
        path.touch()
    shutil.rmtree(other / "report")
    write_bundle(RunDirectory.open(other), tmp_path / "other.tar.gz")
    assert bundle.read_bytes() == (tmp_path / "other.tar.gz").read_bytes()
    with pytest.raises(UsageError, match="exists already"):
        write_bundle(RunDirectory.open(run), bundle)


def test_what_is_unpacked_is_what_was_bundled(run: Path, bundle: Path) -> None:
    with unpacked(bundle) as directory:
        assert directory.name == "run"
        assert directory.parent.stat().st_mode & 0o077 == 0
        assert tree(directory) == tree(OLD)
    assert not directory.exists()
    assert check_bundle(bundle) == len(tree(OLD))


def test_other_programs_read_it(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    subprocess.run(["tar", "xzf", bundle, "-C", tmp_path / "out"], check=True)
    assert tree(tmp_path / "out").keys() == tree(OLD).keys() | {INDEX}
    with tarfile.open(bundle) as archive:
        assert {(one.uid, one.gid, one.mtime, one.mode) for one in archive} == {(0, 0, 0, 0o644)}
    assert gzip.decompress(bundle.read_bytes())[-1024:] == bytes(1024)


def test_every_flipped_byte_is_seen_and_its_file_named(bundle: Path, tmp_path: Path) -> None:
    files, members = files_of(bundle)
    data = bundle.read_bytes()
    at = len(data) - len(END) - sum(map(len, members))
    spots = [(INDEX, 0), (INDEX, 12), (INDEX, at // 2), (INDEX, at - 1)]
    for file, member in zip(files, members, strict=True):
        spots += [(file.path, at + one) for one in (0, 9, len(member) // 2, len(member) - 1)]
        at += len(member)
    spots += [("the end of the archive", at + one) for one in (0, 20, len(END) - 1)]
    broken = tmp_path / "broken.tar.gz"
    for name, spot in spots:
        broken.write_bytes(data[:spot] + bytes([data[spot] ^ 1]) + data[spot + 1 :])
        with pytest.raises(IntegrityError) as caught:
            check_bundle(broken)
        assert name in str(caught.value), spot
    for cut in (0, 5, len(data) // 2, len(data) - 1):
        broken.write_bytes(data[:cut])
        with pytest.raises(IntegrityError):
            check_bundle(broken)
    broken.write_bytes(data + b"x")
    with pytest.raises(IntegrityError):
        check_bundle(broken)


def made(path: str, data: bytes = b"hello", size: int | None = None) -> tuple[Packed, bytes]:
    member = store(tar_head("x", len(data)) + data + form.padding(len(data)))
    file = Packed(
        path=path,
        size=len(data) if size is None else size,
        sha256=sum_of(data),
        packed_size=len(member),
        packed_sha256=sum_of(member),
    )
    return file, member


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x", "a/../../x", "a//x", "./x", "", ".", "a\\x", "a\nx", "a/", "\0"]
)
def test_paths_outside_are_refused(path: str, tmp_path: Path) -> None:
    file, member = made(path)
    (tmp_path / "x.tar.gz").write_bytes(encode_index("r", [file]) + member + END)
    with pytest.raises(IntegrityError), unpacked(tmp_path / "x.tar.gz"):
        pass
    assert not (tmp_path.parent / "x").exists()


def test_more_than_may_be_unpacked_is_refused(tmp_path: Path) -> None:
    large, member = made("x", size=form.MOST_BYTES + 1)
    (tmp_path / "x.tar.gz").write_bytes(encode_index("r", [large]) + member + END)
    with pytest.raises(UsageError, match="more than"):
        check_bundle(tmp_path / "x.tar.gz")
    liar, member = made("x", b"0" * 5_000_000, size=10)
    (tmp_path / "y.tar.gz").write_bytes(encode_index("r", [liar]) + member + END)
    with pytest.raises(IntegrityError, match=r"tar\.gz: x"), unpacked(tmp_path / "y.tar.gz"):
        pass


def _link(archive: tarfile.TarFile) -> None:
    info = tarfile.TarInfo("link")
    info.type, info.linkname = tarfile.SYMTYPE, "/etc"
    archive.addfile(info)


def _plain(archive: tarfile.TarFile) -> None:
    archive.addfile(tarfile.TarInfo("manifest.json"), io.BytesIO())


@pytest.mark.parametrize("add", [_link, _plain])
def test_archives_of_others_are_refused(
    add: Callable[[tarfile.TarFile], None], tmp_path: Path
) -> None:
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
        add(archive)
    with pytest.raises(IntegrityError, match="no bundle"):
        check_bundle(tmp_path / "x.tar.gz")


def test_a_member_that_is_no_file_is_refused(tmp_path: Path) -> None:
    _, member = made("link", b"")
    head = bytearray(form.read_stored(member))
    head[156] = ord("2")
    forged = store(bytes(head))
    file = Packed(
        path="x",
        size=0,
        sha256=sum_of(b""),
        packed_size=len(forged),
        packed_sha256=sum_of(forged),
    )
    (tmp_path / "x.tar.gz").write_bytes(encode_index("r", [file]) + forged + END)
    with pytest.raises(IntegrityError, match=r"tar\.gz: x"):
        check_bundle(tmp_path / "x.tar.gz")


def test_links_in_a_run_are_not_bundled(run: Path, tmp_path: Path) -> None:
    (run / "raw" / "link").symlink_to("/etc/passwd")
    with pytest.raises(IntegrityError, match="something else"):
        write_bundle(RunDirectory.open(run), tmp_path / "x.tar.gz")
    assert not list(tmp_path.glob("*.tar.gz*"))


def test_a_live_run_is_not_bundled(run: Path, tmp_path: Path) -> None:
    with Journal(run / "journal.ndjson"), pytest.raises(Locked):
        write_bundle(RunDirectory.open(run), tmp_path / "x.tar.gz")
    with pytest.raises(UsageError, match="lies in"):
        write_bundle(RunDirectory.open(run), run / "x.tar.gz")
