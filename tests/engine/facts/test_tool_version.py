"""Versions as programs say them."""

from __future__ import annotations

import pytest

from benchspec.engine.facts.tool_version import read_version


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("fio-3.33\n", "3.33"),
        ("iperf 3.12 (cJSON 1.7.15)\nLinux host 6.1.0", "3.12"),
        ("OpenSSL 3.0.11+quic~1-2 19 Sep 2023", "3.0.11+quic~1-2"),
        ("release 7\nbuilt 1.2", "1.2"),
        ("\n  build 20240101\nof yesterday\n", "build 20240101"),
        (" \n", None),
        ("", None),
    ],
)
def test_the_first_number_with_a_dot_else_the_first_line(said: str, version: str | None) -> None:
    assert read_version(said) == version
