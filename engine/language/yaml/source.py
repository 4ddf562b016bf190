"""A YAML file as a JSON-like value, with the line and column of everything in it, and coded
problems for what cannot be read.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from yaml.error import Mark, MarkedYAMLError, YAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ...model.diagnostics import (
    Diagnostic,
    InvalidSpec,
    Path,
    Problem,
    Severity,
    escape,
    path_text,
    quote,
)
from ...model.secrets import TOKENS
from ...model.spec import Json
from .nodes import BeyondBounds, Builder, Composer, Fault, find_paths

MOST_BYTES = 2**20
MOST_FAULTS = 500
_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_NOT_PRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAG_DIRECTIVE = re.compile("^%TAG", re.MULTILINE)
_IGNORE = re.compile(r"(?:^|\s)#\s*benchspec:\s*ignore=([A-Z0-9, ]+)", re.ASCII)
_WIDEST_EXCERPT = 160


class Source:
    """One YAML file: its ``text``, the ``data`` in it, where everything lies, and the ``faults``
    found while reading.
    """

    def __init__(
        self,
        file: str,
        text: str,
        root: Node | None,
        data: Json,
        faults: tuple[Diagnostic, ...] = (),
    ) -> None:
        self.file = file
        self.text = text
        self.data = data
        self.faults = faults
        self.fault_paths: frozenset[Path] = frozenset()
        self._root = root
        self._lines: list[str] | None = None
        self._shown: dict[int, str] = {}
        self._ignored: dict[int, frozenset[str]] = {}

    def key_and_value(self, path: Path) -> tuple[Node | None, Node | None]:
        """The key node (None for a list item and the root) and the value node at ``path``; both
        None when it is not in the text.
        """
        key: Node | None = None
        node = self._root
        for step in path:
            key, node = _child(node, step)
            if node is None:
                return None, None
        return key, node

    def line(self, number: int) -> str:
        """Line ``number`` (from 1) without its line break; empty beyond the end."""
        if self._lines is None:
            self._lines = _LINE_BREAK.split(self.text)
        return self._lines[number - 1] if 0 < number <= len(self._lines) else ""

    def ignored(self, number: int) -> frozenset[str]:
        """The codes that a ``# benchspec: ignore=...`` comment on line ``number`` names."""
        if number not in self._ignored:
            match = _IGNORE.search(self.line(number))
            self._ignored[number] = (
                frozenset(re.split(r"[ ,]+", match[1].strip())) if match else frozenset()
            )
        return self._ignored[number]

    def _without_tokens(self, number: int) -> str:
        if number not in self._shown:
            self._shown[number] = TOKENS.sub(lambda match: "*" * len(match[0]), self.line(number))
        return self._shown[number]

    def diagnose(self, problem: Problem, severity: Severity, line: int, column: int) -> Diagnostic:
        """``problem`` at a place of this file (line and column from 1), with the line as
        excerpt.
        """
        excerpt, caret = cut_excerpt(self._without_tokens(line), column - 1)
        return Diagnostic(
            code=problem.code,
            severity=severity,
            path=path_text(problem.path),
            file=self.file,
            line=line,
            column=column,
            found=problem.found,
            expected=problem.expected,
            hint=problem.hint,
            excerpt=excerpt,
            caret=caret,
        )


def cut_excerpt(line: str, offset: int) -> tuple[str, int]:
    """The part of ``line`` around ``offset`` that fits into a message, without control characters,
    and the offset in it.
    """
    start = max(0, offset - _WIDEST_EXCERPT // 2) if len(line) > _WIDEST_EXCERPT else 0
    part = line[start : start + _WIDEST_EXCERPT].rstrip()
    return "".join(
        c if c.isprintable() else " " if c == "\t" else "?" for c in part
    ), offset - start


def _child(node: Node | None, step: str | int) -> tuple[Node | None, Node | None]:
    if isinstance(node, MappingNode) and isinstance(step, str):
        found = [(key, value) for key, value in node.value if key.value == step]
        return found[-1] if found else (None, None)
    if isinstance(node, SequenceNode) and isinstance(step, int) and step < len(node.value):
        return None, node.value[step]
    return None, None


def read_yaml(source: bytes, file: str) -> Source:
    """Parse ``source``; ``file`` is how messages call it. Problems that still leave a value are in
    :attr:`Source.faults`.

    Raises:
        InvalidSpec: too large, not UTF-8, not YAML, empty, several documents, or no mapping at the
            root.
    """
    text = _decode(source, file)
    whole = Source(file, text, None, None)
    with _located(whole):
        return _parse(whole)


def read_value(text: str, start: int, file: str, base: Path) -> Source:
    """Parse the YAML value that begins at ``start`` of ``text`` and is set at ``base`` of a
    document.

    Places count from the beginning of ``text``. An empty value is null.

    Raises:
        InvalidSpec: it is not YAML, or too large.
    """
    whole = Source(file, text, None, None)
    if len(text) > MOST_BYTES:
        raise _invalid(
            whole,
            Problem(
                code="BS002", path=(), found=f"{len(text)} characters", expected="at most 1 MiB"
            ),
            None,
        )
    with _located(whole):
        root = Composer(" " * start + text[start:]).get_single_node()
        return whole if root is None else _built(whole, root, base)


@contextlib.contextmanager
def _located(whole: Source) -> Iterator[None]:
    """What the parser refuses, as a problem with its place in ``whole``."""
    try:
        yield
    except BeyondBounds as stop:
        raise _invalid(whole, stop.problem, stop.mark) from stop
    except MarkedYAMLError as error:
        raise _invalid(whole, _syntax_problem(whole, error), error.problem_mark) from error
    except YAMLError as error:
        raise _unreadable(whole) from error


def _parse(whole: Source) -> Source:
    directive = _TAG_DIRECTIVE.search(whole.text)
    if directive:
        raise BeyondBounds(
            "BS013", "a %TAG directive", "plain data", _position(whole.text, directive.start())
        )
    root = Composer(whole.text).get_single_node()
    if root is None or (isinstance(root, ScalarNode) and root.value == ""):
        raise BeyondBounds("BS005", "an empty document", "a spec", _position(whole.text, 0))
    if not isinstance(root, MappingNode):
        what = "a list" if isinstance(root, SequenceNode) else f"the text {quote(root.value)}"
        raise BeyondBounds(
            "BS007",
            f"{what} as the whole document",
            "a mapping that starts with apiVersion: benchspec/v1",
            root.start_mark,
        )
    return _built(whole, root)


def _built(whole: Source, root: Node, base: Path = ()) -> Source:
    """The value of ``root``, which lies at ``base`` of its document."""
    builder = Builder()
    data = builder.build(root)
    result = Source(whole.file, whole.text, root, data)
    if builder.faults:
        paths = find_paths(root, {id(fault.node) for fault in builder.faults})
        result.fault_paths = frozenset((*base, *path) for path in paths.values())
        result.faults = tuple(
            _diagnose_fault(result, fault, (*base, *paths[id(fault.node)]))
            for fault in builder.faults[:MOST_FAULTS]
        )
    return result


def _decode(source: bytes, file: str) -> str:
    if len(source) > MOST_BYTES:
        problem = Problem(
            code="BS002", path=(), found=f"{len(source)} bytes", expected="at most 1 MiB"
        )
        raise InvalidSpec([Source(file, "", None, None).diagnose(problem, Severity.ERROR, 1, 1)])
    try:
        return source.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = source[: error.start]
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        text = source.decode("utf-8", "replace")
        problem = Problem(
            code="BS003",
            path=(),
            found=f"the byte 0x{source[error.start]:02x}, which is not UTF-8",
            expected="UTF-8",
            hint="save the file as UTF-8",
        )
        raise InvalidSpec(
            [Source(file, text, None, None).diagnose(problem, Severity.ERROR, line, column)]
        ) from error


def _position(text: str, index: int) -> Mark:
    before = text[:index]
    return Mark("", index, before.count("\n"), index - before.rfind("\n") - 1, None, 0)


def _invalid(source: Source, problem: Problem, mark: Any) -> InvalidSpec:
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
    if (
        line > 1 and source.line(line) == "" and column == 1
    ):  # the end of the text: what is missing is missing after the last line
        line = max((number for number in range(1, line) if source.line(number).strip()), default=1)
        column = len(source.line(line).rstrip()) + 1
    return InvalidSpec([source.diagnose(problem, Severity.ERROR, line, column)])


def _unreadable(source: Source) -> InvalidSpec:
    """The C reader tells a forbidden character only by its offset in bytes, so it is looked for
    again.
    """
    match = _NOT_PRINTABLE.search(source.text)
    index = match.start() if match else 0
    found = (
        f"the control character U+{ord(source.text[index]):04X}"
        if match
        else "text that cannot be read"
    )
    problem = Problem(code="BS008", path=(), found=found, expected="printable text")
    return _invalid(source, problem, _position(source.text, index))


def _syntax_problem(source: Source, error: MarkedYAMLError) -> Problem:
    line = source.line(error.problem_mark.line + 1) if error.problem_mark else ""
    if error.context and "single document" in error.context:
        return Problem(
            code="BS006",
            path=(),
            found="another document",
            expected="one document",
            hint="put each spec into a file of its own",
        )
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return Problem(
            code="BS009",
            path=(),
            found="a tab in the indentation",
            expected="spaces",
            hint="replace every tab by spaces",
        )
    said = ", ".join(part for part in (error.context, error.problem) if part)
    return Problem(
        code="BS008",
        path=(),
        found=f"text that is no YAML ({escape(said, 160)})",
        expected="YAML",
        hint=_syntax_hint(line, said) or _open_bracket(error),
    )


def _syntax_hint(line: str, said: str) -> str:
    if "${" in line:
        return 'inside { } and [ ] put a reference in quotes: "${var:name}"'
    if "mapping values are not allowed" in said:
        return (
            "put a text that contains ': ' in quotes, write a space behind the colon of a key in"
            " the line above, and check the indentation"
        )
    if "cannot start any token" in said:
        return "put the text in quotes"
    return ""


def _open_bracket(error: MarkedYAMLError) -> str:
    """Where a bracket was opened that is not closed."""
    if error.context_mark is None or "flow" not in str(error.context):
        return ""
    place = f"line {error.context_mark.line + 1}, column {error.context_mark.column + 1}"
    return f"close the bracket of {place}"


def _diagnose_fault(source: Source, fault: Fault, path: Path) -> Diagnostic:
    problem = Problem(
        code=fault.code, path=path, found=fault.found, expected=fault.expected, hint=fault.hint
    )
    mark = fault.node.start_mark
    return source.diagnose(problem, Severity.ERROR, mark.line + 1, mark.column + 1)
