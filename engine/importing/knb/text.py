"""knb's ``-o text``, in the shape of its JSON: ``key : value`` lines, then a section for each path,
with one for each protocol.

A figure is ``name = value unit``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...model.errors import ParseError
from ...model.spec import Json
from .figures import figure

_HEADS = {
    "Name": "name",
    "Date": "date",
    "Generator": "generator",
    "Version": "version",
    "Server": "server-node",
    "Client": "client-node",
    "UDP Socket size": "socket-buffer-size",
}
_FOUND = {
    "Discovered CPU": "cpu",
    "Discovered Kernel": "kernel",
    "Discovered k8s version": "k8s-version",
    "Discovered MTU": "mtu",
}
_SECTIONS = {"Idle": "idle", "Pod to pod": "pod2pod", "Pod to Service": "pod2svc"}
_UNITS = {"bandwidth": "Mbit/s", "client ram": "MB", "server ram": "MB"}
_SHARE = re.compile(r"(total|user|nice|system|iowait|steal) ([^%,()]*)%")


def read_text(text: str) -> Mapping[str, Json]:
    """The result. Raises ParseError naming the line."""
    about: dict[str, Json] = {}
    found: dict[str, Json] = {}
    section: dict[str, Json] = {}
    test: dict[str, Json] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        name, value, equals = _split(line)
        if equals:
            if test is None:
                raise ParseError(f"line {number}: found {line.strip()[:80]!r} outside of any test")
            _take(test, name, value, f"line {number}")
        elif name in _HEADS and value:
            about[_HEADS[name]] = value
        elif name in _FOUND:
            found[_FOUND[name]] = value
        elif name in _SECTIONS:
            section = {}
            found[_SECTIONS[name]] = section
            test = section if name == "Idle" else None
        elif name in ("TCP", "UDP"):
            test = {}
            section[name.lower()] = test
    if not text.rstrip().endswith("="):
        raise ParseError(
            "knb's text is cut: it does not end with its last rule",
            remedy="the run was probably stopped",
        )
    return {"metadata": about, "data": found}


def _split(line: str) -> tuple[str, str, bool]:
    """Name, value and whether it is a figure of a test."""
    if " = " in line or line.rstrip().endswith(" ="):
        name, _, value = line.partition(" =")
        return name.strip(), value.strip(), True
    name, _, value = line.partition(":")
    return name.strip(), value.strip(), False


def _take(test: dict[str, Json], name: str, value: str, where: str) -> None:
    role, _, what = name.partition(" ")
    if name in _UNITS:
        cell, _, unit = value.rpartition(" ")
        if unit != _UNITS[name]:
            raise ParseError(f"{where}: found {name} {value[:40]!r}, expected {_UNITS[name]}")
        _put(test, ("bandwidth",) if not what else (role, what), figure(cell.strip(), where))
    elif what == "cpu":
        for share, cell in _SHARE.findall(value):
            _put(test, (role, "cpu", share), figure(cell.strip(), where))


def _put(test: dict[str, Json], keys: tuple[str, ...], value: Json) -> None:
    for key in keys[:-1]:
        inner = test.setdefault(key, {})
        if not isinstance(inner, dict):
            return
        test = inner
    test[keys[-1]] = value
