"""Secrets: never written out, and referred to only where they are not published."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..diagnostics import Path, Problem, path_text
from ..secrets import TOKENS
from .view import View

SHORTEST_TOKEN = 15
_SECRET_KEY = re.compile(
    r"(?:^|[_.-])(?:password|passwd|passphrase|secret|token|api_?key|access_?key|private_?key|credentials?)$", re.IGNORECASE | re.ASCII
)
_SHORTEST = 6
_PUBLISHED = ("apiVersion", "kind", "name", "title", "description", "labels", "vars", "method", "compare", "report")
_PRIVATE_IN_TARGET = ("runner", "lifecycle", "components")


def written_out(view: View) -> Iterator[Problem]:
    """BS301, BS302: nothing has the form of a token, and keys named like secrets hold references."""
    for path, value in view.texts:
        if len(value) >= SHORTEST_TOKEN and TOKENS.search(value):
            yield Problem(code="BS301", path=path, found="a text of the form of a token or key", expected="a reference such as ${secret:env:NAME}")
        elif len(value) >= _SHORTEST and "${" not in value and _SECRET_KEY.search(str(path[-1])) and not _names_a_file(path):
            yield Problem(code="BS302", path=path, found="what looks like a secret", expected="a reference such as ${secret:env:NAME}")


def _names_a_file(path: Path) -> bool:
    return str(path[-1]).endswith(("_file", "_path"))


def published(view: View) -> Iterator[Problem]:
    """BS215: no secret goes where it would be printed or stored."""
    for reference in view.references:
        if reference.kind == "secret" and _is_published(reference.path):
            found = f"a secret in {path_text(reference.path[:1])}, which is published"
            yield Problem(code="BS215", path=reference.path, found=found, expected="secrets in with, lifecycles and runners only")


def _is_published(path: Path) -> bool:
    if path[0] in _PUBLISHED:
        return True
    if path[0] == "targets":
        return len(path) < 3 or path[2] not in _PRIVATE_IN_TARGET
    if path[0] == "workloads":
        return not ("with" in path[2:5] or "matrix" in path[2:3] or "zip" in path[2:3])
    return False


CHECKS = (written_out, published)
"""The rules of this module."""
