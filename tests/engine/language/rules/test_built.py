"""Rules that look at the model: notes that a comment silences, and nothing beside an error."""

from __future__ import annotations

from pathlib import Path

from benchspec.engine.language.load import check_spec
from benchspec.engine.model.diagnostics import Severity

TWINS = """\
apiVersion: benchspec/v1
kind: Benchmark
name: noise
title: Noise
targets:
  a: {runner: local}
  b: {runner: local}
workloads:
  w: {tool: iperf3, path: loopback}
method: {sessions: 10}
compare: {baseline: a}
"""


def check(folder: Path, text: str) -> list[tuple[str, Severity, int]]:
    path = folder / "noise.yaml"
    path.write_text(text, "utf-8")
    return [(each.code, each.severity, each.line) for each in check_spec(path)]


def test_an_a_a_run_is_a_note_at_the_target(tmp_path: Path) -> None:
    assert check(tmp_path, TWINS) == [("BS294", Severity.NOTE, 7)]


def test_a_comment_says_that_it_is_meant(tmp_path: Path) -> None:
    meant = TWINS.replace("b: {runner: local}", "b: {runner: local} # benchspec: ignore=BS294")
    assert check(tmp_path, meant) == []


def test_a_spec_with_an_error_has_no_model_to_ask(tmp_path: Path) -> None:
    wrong = TWINS.replace("path: loopback", "path: loopbac")
    assert [code for code, *_ in check(tmp_path, wrong)] != []
    assert "BS294" not in {code for code, *_ in check(tmp_path, wrong)}
