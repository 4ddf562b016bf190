"""Diagnostics for people (text), programs (JSON), GitHub's workflow commands and code scanning
(SARIF 2.1.0).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import quote

from ..model.diagnostics import Diagnostic, Severity
from ..model.spec import Json
from .rules.catalogue import RULES

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render_text(diagnostics: Sequence[Diagnostic]) -> str:
    """One block per diagnostic: place, code, path and message, then the line with a caret."""
    return "\n".join(str(diagnostic) for diagnostic in diagnostics)


def render_json(diagnostics: Sequence[Diagnostic]) -> str:
    """A JSON list with one object per diagnostic."""
    return json.dumps(
        [_record(diagnostic) for diagnostic in diagnostics], indent=2, ensure_ascii=False
    )


def _record(diagnostic: Diagnostic) -> dict[str, Json]:
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "file": diagnostic.file,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "path": diagnostic.path,
        "found": diagnostic.found,
        "expected": diagnostic.expected,
        "hint": diagnostic.hint,
        "message": diagnostic.message,
    }


_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render_github(diagnostics: Sequence[Diagnostic]) -> str:
    """One workflow command per diagnostic, escaped as GitHub's runner unescapes (``%``, CR, LF; in
    properties ``:`` and ``,`` too).
    """
    return "\n".join(_workflow_command(diagnostic) for diagnostic in diagnostics)


def _workflow_command(diagnostic: Diagnostic) -> str:
    place = f"file={_property(diagnostic.file)},line={diagnostic.line},col={diagnostic.column}"
    title = _property(f"{diagnostic.code} {diagnostic.path}")
    return f"::{_COMMANDS[diagnostic.severity]} {place},title={title}::{_data(diagnostic.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def render_sarif(diagnostics: Sequence[Diagnostic]) -> str:
    """One SARIF run; every code used is described by its entry of the catalogue."""
    codes = sorted({diagnostic.code for diagnostic in diagnostics})
    described: list[Json] = [
        {
            "id": code,
            "shortDescription": {"text": RULES[code].title},
            "fullDescription": {"text": RULES[code].explanation},
        }
        for code in codes
    ]
    driver: Mapping[str, Json] = {"name": "benchspec", "rules": described}
    run: Mapping[str, Json] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(d) for d in diagnostics],
    }
    return json.dumps(
        {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False
    )


def _result(diagnostic: Diagnostic) -> Json:
    region: Mapping[str, Json] = {"startLine": diagnostic.line, "startColumn": diagnostic.column}
    return {
        "ruleId": diagnostic.code,
        "level": diagnostic.severity.value,
        "message": {"text": f"{diagnostic.path}: {diagnostic.message}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {
                        "uri": quote(os.fsencode(diagnostic.file.replace("\\", "/")))
                    },
                    "region": region,
                }
            }
        ],
    }


FORMATS: dict[str, Callable[[Sequence[Diagnostic]], str]] = {
    "text": render_text,
    "json": render_json,
    "github": render_github,
    "sarif": render_sarif,
}
"""Every format by the name ``--format`` takes."""


def render(diagnostics: Sequence[Diagnostic], format_: str = "text") -> str:
    """``diagnostics`` in one of :data:`FORMATS`; text and github are empty when there are none."""
    return FORMATS[format_](diagnostics)
