"""Reports, comparisons and pages in a documentation site."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path

import pytest

import benchspec
from benchspec.engine.model.errors import Inconclusive, IntegrityError, NotComparable, UsageError


def test_a_report_is_the_same_bytes_each_time(finished: Path, tmp_path: Path) -> None:
    files = benchspec.render(finished)
    assert benchspec.render(str(finished)) == files
    page = benchspec.report(finished, out=tmp_path)
    assert page == tmp_path / "page.md"
    assert {name: (tmp_path / name).read_bytes() for name in files} == dict(files)
    assert list(benchspec.render(finished, "csv")) == ["results.csv"]
    assert list(benchspec.render(finished, "openmetrics")) == ["results.prom"]
    assert list(benchspec.render(finished, "bencher")) == ["bencher.json"]
    assert list(benchspec.render(finished, "parquet")) == ["results.parquet"]
    with pytest.raises(UsageError, match="unknown format"):
        benchspec.render(finished, "pdf")


def test_a_flipped_byte_is_an_integrity_error(finished: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(finished, tmp_path / "copy")
    raw = copy / "raw" / "000001" / "0-stdout"
    raw.write_bytes(raw.read_bytes().replace(b"42", b"43"))
    with pytest.raises(IntegrityError):
        benchspec.render(copy)
    with pytest.raises(IntegrityError):
        benchspec.load(copy)


def test_a_published_page_is_checked(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="names no folder"):
        benchspec.publish(finished)
    page = benchspec.publish(finished, tmp_path)
    assert benchspec.publish(finished, tmp_path) == page
    assert benchspec.check_docs(page, spec=finished / "spec.yaml") == {page: ()}
    old = benchspec.check_docs(page, max_age_days=1, today=date(2999, 1, 1))
    assert len(old[page]) == 1
    page.write_text(page.read_text().replace("42", "43"))
    assert len(benchspec.check_docs(str(page))[page]) == 1


def test_comparisons_say_what_they_carry(finished: Path, tmp_path: Path) -> None:
    turned = benchspec.compare(finished, baseline="b")
    assert list(turned.by_name) == ["b"]
    pages = turned.write_pages(tmp_path / "turned")["b"]
    assert pages.answer.sentences
    assert {row.baseline for row in pages.answer.rows} == {"", "b"}
    assert pages.page == tmp_path / "turned" / "page.md"
    assert pages.html.read_text().startswith("<!DOCTYPE html>")
    turned.require_comparable()
    copy = shutil.copytree(finished, tmp_path / "copy")
    both = benchspec.compare(finished, copy)
    assert set(both.by_name) == {"a", "b"}
    with pytest.raises(Inconclusive):
        both.require_verdicts()
    assert set(benchspec.compare(finished, copy, target="a").by_name) == {"a"}
    with pytest.raises(UsageError, match="expected two runs"):
        benchspec.compare(finished)
    assert NotComparable.exit_code == 7
