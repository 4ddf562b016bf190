"""Bundles in place of run directories, and every byte of both checked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import benchspec
from benchspec.engine.model.errors import IntegrityError, UsageError
from tests.engine.execution.bench import run_cli

WITHOUT_SUM = {"page.md.j2"}


def test_a_bundle_is_read_like_its_directory(finished: Path, tmp_path: Path) -> None:
    one = benchspec.bundle(finished, tmp_path / "one.tar.gz")
    copy = shutil.copytree(finished, tmp_path / "copy")
    two = benchspec.bundle(copy, tmp_path / "two.tar.gz")
    assert one.read_bytes() == two.read_bytes()
    for format_ in ("markdown", "html", "json", "csv"):
        assert benchspec.render(one, format_) == benchspec.render(finished, format_)
    assert benchspec.report(one) == tmp_path / "one-report" / "page.md"
    assert benchspec.load(one).trials == benchspec.load(finished).trials
    assert benchspec.show(one).answer == benchspec.show(finished).answer
    assert benchspec.publish(one, tmp_path / "docs").is_file()
    found = benchspec.compare(finished, two)
    assert found.to_json() == benchspec.compare(finished, copy).to_json()
    pages = found.write_pages()["a"]
    assert pages.page == tmp_path / "two-report" / f"against-{finished.name}" / "a" / "page.md"
    turned = benchspec.compare(one, baseline="b").write_pages()["b"]
    assert turned.page.is_relative_to(tmp_path / "one-report")
    with pytest.raises(UsageError, match="no bundle"):
        benchspec.load(finished / "manifest.json")


def test_a_flipped_byte_of_any_file_is_named(finished: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(finished, tmp_path / "copy")
    shutil.rmtree(copy / "report")
    files = sorted(path for path in copy.rglob("*") if path.is_file())
    assert benchspec.verify(copy).files == len(files)
    checked = 0
    for path in files:
        data = path.read_bytes()
        if not data or path.name in WITHOUT_SUM:
            continue
        middle = len(data) // 2
        path.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])
        with pytest.raises(IntegrityError) as caught:
            benchspec.verify(copy)
        assert path.name in str(caught.value)
        path.write_bytes(data)
        checked += 1
    assert checked > 20
    benchspec.verify(copy)


def test_the_verbs(finished: Path, tmp_path: Path) -> None:
    made = run_cli("bundle", str(finished), "--out", str(tmp_path / "x.tar.gz"))
    assert made.stdout == f"{tmp_path / 'x.tar.gz'}\n"
    assert "as they were written" in run_cli("verify", str(tmp_path / "x.tar.gz")).stdout
    assert '"files"' in run_cli("verify", str(finished), "--json").stdout
    data = (tmp_path / "x.tar.gz").read_bytes()
    middle = len(data) // 2
    (tmp_path / "y.tar.gz").write_bytes(
        data[:middle] + bytes([data[middle] ^ 4]) + data[middle + 1 :]
    )
    broken = run_cli("verify", str(tmp_path / "y.tar.gz"))
    assert broken.returncode == 9
    assert "raw/" in broken.stderr or "journal" in broken.stderr
    shown = run_cli("report", str(tmp_path / "x.tar.gz"), "--format", "csv")
    assert shown.stdout.startswith("trial,session")
    assert run_cli("compare", str(tmp_path / "x.tar.gz"), str(finished), "--json").returncode == 0


def test_a_bundle_has_a_name_that_other_verbs_know(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected one that ends with \.tar\.gz"):
        benchspec.bundle(finished, tmp_path / "x.tgz")
    assert not (tmp_path / "x.tgz").exists()
