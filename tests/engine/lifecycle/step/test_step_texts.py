"""The pure parts of lifecycle steps: captures, references, interpreters, waits that cannot be
asked.
"""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchspec.engine.lifecycle.outputs import (
    MOST_CHARACTERS,
    fill_text,
    fill_value,
    read_outputs,
    references,
)
from benchspec.engine.lifecycle.step.commands import interpreter_of
from benchspec.engine.lifecycle.step.waits import wait_for
from benchspec.engine.model.errors import RunFailed
from benchspec.engine.model.spec import Json, Step


def capturing(**how: Json) -> Step:
    return Step(name="s", action="run", arguments={"argv": ["x"]}, capture={"it": how})


@pytest.mark.parametrize(
    ("how", "printed", "value"),
    [
        ({"regex": "id=(\\d+)"}, b"x id=12\nid=13", "12"),
        ({"regex": "id=\\d+"}, b"\xff id=12", "id=12"),
        ({"stdout": True}, b"two\nlines\r\n\n", "two\nlines"),
        ({"jsonpath": "$.a[-1]"}, b'note: x\n{"a": [1, 2.5]}\n', "2.5"),
        ({"jsonpath": "$.a"}, b'{"a": true}', "true"),
        ({"jsonpath": "$[0]"}, b'["x"]', "x"),
        ({"jsonpath": "$[*].a"}, b'[{"a": null}, {"a": "y"}]', "y"),
    ],
)
def test_outputs_are_read(how: dict[str, Json], printed: bytes, value: str) -> None:
    assert read_outputs(capturing(**how), printed) == {"it": value}


@pytest.mark.parametrize(
    "printed",
    [b"", b"\n", b"a\0b", b"x" * (MOST_CHARACTERS + 1), b"${output:a.b}", b"$${secret:env:X}"],
)
def test_what_could_not_be_used_is_no_output(printed: bytes) -> None:
    with pytest.raises(RunFailed, match="expected stdout True"):
        read_outputs(capturing(stdout=True), printed)


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_value_is_put_in_as_it_is_and_never_looked_into(before: str, value: str) -> None:
    if "{" not in before:
        assert (
            fill_text(f"{before} ${{output:s.it}}.", lambda name: value, lambda name: "never")
            == f"{before} {value}."
        )


def test_references_and_escapes() -> None:
    text = "${output:a.b} $${output:a.b} ${secret:env:T} $${secret:env:T} ${other}"
    assert (
        fill_text(text, lambda name: name.upper(), lambda name: "S")
        == "A.B ${output:a.b} S ${secret:env:T} ${other}"
    )
    value: Json = {"list": [text, 1], "plain": "x"}
    filled = fill_value(value, lambda name: "V")
    assert filled == {
        "list": ["V ${output:a.b} ${secret:env:T} $${secret:env:T} ${other}", 1],
        "plain": "x",
    }
    assert references(value, "output") == {"a.b"}
    assert references(value, "secret") == {"env:T"}


@pytest.mark.parametrize(
    ("script", "argv"),
    [
        (b"#!/bin/bash -e\nx", ("/bin/bash", "-e")),
        (b"#! /usr/bin/env -S python3 -I\r\nx", ("/usr/bin/env", "-S python3 -I")),
        (b"#!\nx", ("sh",)),
        (b"echo x", ("sh",)),
        (b"", ("sh",)),
    ],
)
def test_a_script_is_executed_by_the_program_its_first_line_names(
    script: bytes, argv: tuple[str, ...]
) -> None:
    assert interpreter_of(script) == argv


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"tcp": "nohost"}, "expected host:port"),
        ({"tcp": "h:70000"}, "expected host:port"),
        ({"tcp": f"{'a' * 70}.x:1"}, "whose host is no name"),
        ({"http": "file:///etc/passwd"}, "expected a URL"),
        ({"http": "http://[x/"}, "which is no URL"),
        ({"seconds": "soon"}, "expected a time"),
    ],
)
def test_what_cannot_be_asked_is_told_at_once(arguments: dict[str, Json], told: str) -> None:
    began = time.monotonic()
    with pytest.raises(RunFailed, match=told):
        wait_for(arguments, 30)
    assert time.monotonic() - began < 20


class Redirecting(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(302)
        self.send_header("Location", "file:///etc/passwd")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def redirecting() -> Iterator[int]:
    with http.server.HTTPServer(("127.0.0.1", 0), Redirecting) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()


def test_an_answer_that_leads_to_a_file_is_no_answer(redirecting: int) -> None:
    with pytest.raises(RunFailed, match=r"did not answer within 0\.3 s"):
        wait_for({"http": f"http://127.0.0.1:{redirecting}/"}, 0.3)
