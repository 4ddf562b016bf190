"""Which programs the test bed calls: in shell scripts (read with shfmt's parser), in steps of
specs, and in the tests' own subprocess calls.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import yaml

_SHELLS = ("sh", "bash", "dash")
_FILLED = re.compile(r"\$\{[a-z]+:[^}]*\}")  # what benchspec fills in before a shell sees the text
_CALLS = (
    "subprocess.run",
    "subprocess.Popen",
    "subprocess.check_output",
    "subprocess.check_call",
    "call",
    "_apart",
)
_NAMED = ("shutil.which",)


def of_script(text: str) -> frozenset[str]:
    """The programs that a shell script names as commands, without functions of its own and what the
    shell itself does.
    """
    tree = json.loads(
        subprocess.run(
            ["shfmt", "-ln", "posix", "--to-json"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    nodes = list(_nodes(tree))
    own = {node["Name"]["Value"] for node in nodes if node.get("Type") == "FuncDecl"}
    called = {
        name
        for node in nodes
        if node.get("Type") == "CallExpr"
        for name in of_command([_literal(word) for word in node.get("Args", ())])
    }
    return frozenset(name for name in called - own if not _of_the_shell(name))


def of_command(argv: Sequence[str | None]) -> frozenset[str]:
    """The programs of one command; None stands for a word that is known only when it runs."""
    match argv:
        case [str(shell), "-c", str(text), *_] if shell in _SHELLS:
            return of_script(text) | {shell}
        case ["trap", str(text), *_]:
            return of_script(text)
        case ["exec", str(name), *rest] if not name.startswith("-"):
            return of_command([name, *rest])
        case [str(name), *_]:
            return frozenset({name} if _is_program(name) else ())
    return frozenset()


def of_spec(text: str) -> frozenset[str]:
    """The programs of a spec's steps and of the shell scripts that it holds."""
    found: set[str] = set()
    for node in _nodes(yaml.safe_load(_FILLED.sub("1", text))):
        run, files = node.get("run"), node.get("files")
        if isinstance(run, list):
            found |= of_command([str(word) for word in run])
        for name, script in files.items() if isinstance(files, dict) else ():
            found |= of_script(script) if str(name).endswith(".sh") else frozenset()
    return frozenset(found)


def of_module(text: str) -> frozenset[str]:
    """The programs that a Python module of the tests starts, looks for, or has in a tuple of
    ``PROGRAMS``, as far as they stand there in words.
    """
    tree = ast.parse(text)
    names: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names.setdefault(node.targets[0].id, []).append(node.value)
    found = {
        word
        for name in ("PROGRAMS", "_PROGRAMS")
        for value in names.get(name, ())
        for word in _words(value)
        if word
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and node.args
            and (name := ast.unparse(node.func)) in (*_CALLS, *_NAMED)
        ):
            first = node.args[0]
            for value in names.get(first.id, ()) if isinstance(first, ast.Name) else (first,):
                found |= of_command(_words(value if name not in _NAMED else ast.Tuple([value])))
    return frozenset(found)


def _words(value: ast.expr) -> list[str | None]:
    if not isinstance(value, ast.List | ast.Tuple):
        return []
    return [
        item.value if isinstance(item, ast.Constant) and isinstance(item.value, str) else None
        for item in value.elts
    ]


def _literal(word: Mapping[str, Any]) -> str | None:
    parts = word["Parts"]
    return (
        parts[0].get("Value", "")
        if len(parts) == 1 and parts[0]["Type"] in ("Lit", "SglQuoted")
        else None
    )


def _nodes(tree: object) -> Iterator[dict[str, Any]]:
    """Every mapping of a document."""
    if isinstance(tree, dict):
        yield tree
    values: Iterable[object] = (
        tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    )
    for value in values:
        yield from _nodes(value)


def _is_program(name: str) -> bool:
    """Whether this is a program's name, not a path into a directory of the test's own or an
    option.
    """
    return bool(
        re.fullmatch(r"(/usr/sbin/|/usr/bin/|/bin/)?[A-Za-z0-9_.+-]+", name)
    ) and not name.startswith("-")


@cache
def _of_the_shell(name: str) -> bool:
    """What ``command -v`` knows without a path is built into the shell."""
    return (
        subprocess.run(
            ["sh", "-c", 'command -v "$1"', "sh", name], capture_output=True, text=True, check=False
        ).stdout.strip()
        == name
    )
