"""Secrets: never written out, and referred to only where they are not published."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...model.diagnostics import Path, Problem, alternatives, path_text
from ...model.secrets import REFERENCE, TOKENS
from .view import LIFECYCLE_PARTS, View

SHORTEST_TOKEN = 15
_SECRET_KEY = re.compile(
    r"(?:^|[_.-])(?:password|passwd|passphrase|secret|token|api_?key|access_?key|private_?key|credentials?)$",
    re.IGNORECASE | re.ASCII,
)
_SHORTEST = 6
_PUBLISHED = (
    "apiVersion",
    "kind",
    "name",
    "title",
    "description",
    "labels",
    "vars",
    "method",
    "compare",
    "report",
)
_PRIVATE_IN_TARGET = ("runner", "lifecycle", "components")


def written_out(view: View) -> Iterator[Problem]:
    """BS301, BS302: nothing has the form of a token, and keys named like secrets hold
    references.
    """
    for path, value in view.texts:
        if len(value) >= SHORTEST_TOKEN and TOKENS.search(value):
            yield Problem(
                code="BS301",
                path=path,
                found="a text of the form of a token or key",
                expected="a reference such as ${secret:env:NAME}",
            )
        elif (
            len(value) >= _SHORTEST
            and "${" not in value
            and _SECRET_KEY.search(str(path[-1]))
            and not _names_a_file(path)
        ):
            yield Problem(
                code="BS302",
                path=path,
                found="what looks like a secret",
                expected="a reference such as ${secret:env:NAME}",
            )


def _names_a_file(path: Path) -> bool:
    return str(path[-1]).endswith(("_file", "_path"))


def published(view: View) -> Iterator[Problem]:
    """BS215: no secret goes where it would be printed or stored."""
    for reference in view.references:
        if reference.kind == "secret" and _is_published(reference.path):
            found = f"a secret in {path_text(reference.path[:1])}, which is published"
            yield Problem(
                code="BS215",
                path=reference.path,
                found=found,
                expected="secrets in with, lifecycles and runners only",
            )


def _is_published(path: Path) -> bool:
    if path[0] in _PUBLISHED:
        return True
    if path[0] == "targets":
        return len(path) < 3 or path[2] not in _PRIVATE_IN_TARGET
    if path[0] == "workloads":
        return not ("with" in path[2:5] or "matrix" in path[2:3] or "zip" in path[2:3])
    return False


def misplaced(view: View) -> Iterator[Problem]:
    """BS303: a reference stands where its value is put in, and nowhere else."""
    for path, value in view.texts:
        if "${secret:" not in value.replace("$${", ""):
            continue
        if path[0] == "workloads" and not _is_published(path):
            yield from _in_workload(view, path, value)
        elif path[0] == "targets" and (part := _part_of_step(path)) in _NOT_IN_STEP:
            found = f"a secret in {part}, where every user of the host can read it"
            yield Problem(
                code="BS303", path=path, found=found, expected="secrets in the step's env"
            )


def _in_workload(view: View, path: Path, value: str) -> Iterator[Problem]:
    tool, parameter = view.tools.get(str(path[1])), _parameter(path)
    if tool is not None and tool.secrets is not None and parameter not in tool.secrets:
        expected = (
            f"secrets in {alternatives(sorted(tool.secrets))} only"
            if tool.secrets
            else "no secret: no parameter of this tool takes one"
        )
        yield Problem(code="BS303", path=path, found=f"a secret in {parameter}", expected=expected)
    elif REFERENCE.fullmatch(value) is None:
        expected = "the reference as the whole value: put the whole value into the secret"
        yield Problem(
            code="BS303", path=path, found="a secret within a longer text", expected=expected
        )


def _parameter(path: Path) -> str:
    """The tool's parameter that a text of a workload belongs to: below with, or below (or named by)
    an axis of its matrix.
    """
    if "with" in path:
        return str(path[path.index("with") + 1]) if path.index("with") + 1 < len(path) else "with"
    for axes in ("matrix", "zip"):
        if axes in path[2:3]:
            return str(path[5]) if len(path) > 5 else str(path[3])
    return str(path[-1])


_NOT_IN_STEP = ("run", "script", "capture")


def _part_of_step(path: Path) -> str:
    """The part of a lifecycle's step that a text belongs to; nothing for other texts."""
    parts = [
        index
        for index, key in enumerate(path)
        if key in LIFECYCLE_PARTS and index and path[index - 1] == "lifecycle"
    ]
    return str(path[parts[0] + 2]) if parts and len(path) > parts[0] + 2 else ""


CHECKS = (written_out, published, misplaced)
"""The rules of this module."""
