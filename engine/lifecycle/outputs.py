"""Outputs of lifecycle steps: how they are read from what a step printed, and put where
``${output:STEP.NAME}`` stands.

A value is replaced once and never looked into again, and it goes into one argument or variable as
it is: nothing in it can become a second argument, a shell's word or another reference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from ..model.errors import ParseError, RunFailed
from ..model.spec import Json, Step
from ..model.text.json_output import last_document
from ..model.text.jsonpath import parse_path, select
from ..model.text.safe_regex import compile_pattern, find

MOST_CHARACTERS = 64 * 1024
"""A longer output is refused: it would not fit into an argument."""

_REFERENCE = re.compile(r"\$(?P<escaped>\$)?\{(?P<kind>output|secret):(?P<name>[^{}]*)\}")
_EXCERPT = 200

Resolve = Callable[[str], str]
"""What stands for the name of an output or a secret. Raises RunFailed."""


def check_captures(step: Step) -> None:
    """Find out before anything runs that a capture is wrong. Raises SpecError."""
    for how in step.capture.values():
        if isinstance(how, Mapping) and isinstance(how.get("regex"), str):
            compile_pattern(str(how["regex"]))
        elif isinstance(how, Mapping) and isinstance(how.get("jsonpath"), str):
            parse_path(str(how["jsonpath"]))


def read_outputs(step: Step, printed: bytes) -> dict[str, str]:
    """Every output that ``step`` captures, by name.

    Raises:
        RunFailed: one of them is not in ``printed``, is ambiguous, or is nothing that could be
            used.
    """
    outputs = {}
    for name, how in step.capture.items():
        rule = how if isinstance(how, Mapping) else {}
        try:
            outputs[name] = _usable(_read(rule, printed))
        except RunFailed as error:
            expected = ", ".join(
                f"{kind} {value}" for kind, value in rule.items() if not kind.startswith("x-")
            )
            raise RunFailed(
                f"capture {name}: {error.message}, expected {expected}; the output was"
                f" {_excerpt(printed)}"
            ) from error
    return outputs


def _read(rule: Mapping[str, Json], printed: bytes) -> str:
    if "regex" in rule:
        matches = find(compile_pattern(str(rule["regex"])), printed.decode("utf-8", "replace"))
        if not matches:
            raise RunFailed("found no match")
        return str(matches[0][1] if matches[0].re.groups else matches[0][0])
    if "jsonpath" in rule:
        return _by_jsonpath(str(rule["jsonpath"]), printed)
    return printed.decode("utf-8", "replace").rstrip("\r\n")


def _by_jsonpath(path: str, printed: bytes) -> str:
    found = [value for value in select(_document(printed), parse_path(path)) if value is not None]
    if len(found) != 1:
        raise RunFailed(f"found {len(found)} values")
    if isinstance(found[0], str):
        return found[0]
    if isinstance(found[0], bool | int | float):
        return json.dumps(found[0])
    raise RunFailed("found an object or a list")


def _document(printed: bytes) -> Json:
    try:
        whole: Json = json.loads(printed)
        return whole
    except (ValueError, RecursionError):
        pass  # text around the document, as many tools print it
    try:
        return last_document(printed, "the step")
    except ParseError as error:
        raise RunFailed("found no JSON") from error


def _usable(value: str) -> str:
    if not value:
        raise RunFailed("found nothing")
    if len(value) > MOST_CHARACTERS:
        raise RunFailed(f"found {len(value)} characters, at most {MOST_CHARACTERS} can be used")
    if "\0" in value or "�" in value:
        raise RunFailed("found bytes that are no text")
    if _REFERENCE.search(value):
        raise RunFailed("found a reference such as ${secret:...}, which only the spec may write")
    return value


def _excerpt(printed: bytes) -> str:
    text = printed.decode("utf-8", "replace").strip()
    return repr(text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}...") if text else "empty"


def fill_text(text: str, output: Resolve, secret: Resolve) -> str:
    """``text`` with its references replaced, each once; ``$${output:...}`` and ``$${secret:...}``
    become literal.
    """

    def replace(match: re.Match[str]) -> str:
        if match["escaped"]:
            return match[0][1:]
        return (output if match["kind"] == "output" else secret)(match["name"])

    return _REFERENCE.sub(replace, text) if "${" in text else text


def fill_value(value: Json, output: Resolve) -> Json:
    """``value`` with the outputs replaced in every text of it; secret references stay, since a
    workload's commands resolve them.
    """
    if isinstance(value, str):
        return _fill_outputs(value, output)
    if isinstance(value, Mapping):
        return {key: fill_value(item, output) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [fill_value(item, output) for item in value]
    return value


def _fill_outputs(text: str, output: Resolve) -> str:
    def replace(match: re.Match[str]) -> str:
        if match["kind"] == "secret":
            return match[0]
        return match[0][1:] if match["escaped"] else output(match["name"])

    return _REFERENCE.sub(replace, text) if "{output:" in text else text


def references(value: Json, kind: str) -> frozenset[str]:
    """The names of all ``kind`` references (output or secret) in the texts of ``value``."""
    if isinstance(value, str):
        return frozenset(
            m["name"] for m in _REFERENCE.finditer(value) if m["kind"] == kind and not m["escaped"]
        )
    if isinstance(value, Mapping):
        return frozenset().union(*(references(item, kind) for item in value.values()))
    if isinstance(value, list | tuple):
        return frozenset().union(*(references(item, kind) for item in value))
    return frozenset()
