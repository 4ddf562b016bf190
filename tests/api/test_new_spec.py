"""Specs made of answers: each can be used, and says what was answered."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

import benchspec
from benchspec.api.new_spec import QUESTIONS, answered, new_spec
from benchspec.engine.language.load import load_spec
from benchspec.engine.model.errors import UsageError

WHERE, TOOLS, TIMES = (QUESTIONS[place].choices for place in (1, 3, 5))


def problems(path: Path) -> list[str]:
    return [str(one) for one in benchspec.validate(path) if one.severity == "error"]


@pytest.mark.parametrize(("where", "tool", "time"), list(product(WHERE, TOOLS, TIMES)))
def test_whatever_is_answered_can_be_planned(
    where: str, tool: str, time: str, tmp_path: Path
) -> None:
    path = benchspec.new(
        title="Mine against theirs", where=where, tool=tool, time=time, out=tmp_path / "s.yaml"
    )
    assert problems(path) == []
    planned = benchspec.plan(path).plan
    assert {one.target for one in planned.experiments} == {"mine", "theirs"}
    compare = load_spec(path).spec.compare
    assert compare is not None
    assert compare.baselines == ("mine",)


def test_what_is_hostile_in_an_answer_stays_text(tmp_path: Path) -> None:
    title = 'a: "b" # c\n{d: ${var:x}} [e'
    path = benchspec.new(
        title=title,
        targets='x"}: &a, y #!',
        places='echo "a: b"; sleep 1 | cat',
        out=tmp_path / "s.yaml",
    )
    text = path.read_text()
    assert '["echo", "a: b"]' in text
    assert text.count("\napiVersion:") == 1
    assert "\\n" in text


def test_commands_that_only_a_shell_reads_are_given_to_one() -> None:
    given = {"targets": "one, two, three", "places": "a 'b c'; d | e; f --g"}
    text = new_spec(answered(given, lambda question, before: question.default(before)))
    assert 'run: ["a", "b c"]' in text
    assert 'two: {with: {run: ["sh", "-c", "d | e"]}}' in text
    assert 'three: {with: {run: ["f", "--g"]}}' in text


def test_hosts_are_those_that_were_named() -> None:
    given = {"where": "ssh", "tool": "netperf", "places": "root@a:b, c:d"}
    text = new_spec(answered(given, lambda question, before: question.default(before)))
    assert '{client: {host: "a", user: "root"}, server: {host: "b"}}' in text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"where": "moon"}, "expected one of here, ssh, kubernetes"),
        ({"targets": "one"}, "expected two or more names"),
        ({"places": "./a"}, "found 1, expected 2"),
        ({"where": "ssh", "tool": "iperf3", "places": "a, b"}, "expected CLIENT:SERVER"),
        ({"tool": "openssl-speed", "places": "0, all"}, "expected CPUs"),
        ({"places": "echo 'a; b"}, "is no command"),
    ],
)
def test_answers_that_are_none_say_what_to_type(
    given: dict[str, str], said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        benchspec.new(**given, out=tmp_path / "s.yaml")  # type: ignore[arg-type]
    assert caught.value.remedy
    assert not (tmp_path / "s.yaml").exists()


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    path = benchspec.new(out=tmp_path / "s.yaml")
    with pytest.raises(UsageError, match="exists already"):
        benchspec.new(out=path)
    assert benchspec.new(out=path, force=True) == path
