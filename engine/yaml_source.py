"""A YAML file as a JSON-like value, with the line and column of everything in it. No input, however hostile, costs much or runs code.

The C parser composes nodes, which carry their marks; the value is built from them here, because only here duplicate keys, aliases that
explode and ambiguous scalars can be told where they are. Tags and merge keys are refused: a spec is plain data.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from yaml.error import Mark, MarkedYAMLError, YAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from .diagnostics import Diagnostic, InvalidSpec, Path, Problem, Severity, escape, path_text, quote
from .spec import Json
from .yaml_scalars import Trap, plain_value

try:
    from yaml._yaml import CParser
except ImportError as error:  # pragma: no cover - every wheel of PyYAML has it
    raise ImportError("benchspec needs PyYAML with its C parser (libyaml): install PyYAML from a wheel, or libyaml before building it") from error

MOST_BYTES = 2**20
MOST_NODES = 20_000
MOST_DEPTH = 64
MOST_EXPANDED = 2 * 2**20
"""Upper bound of the value's size once aliases are followed: 64 for each node and 1 for each character."""

MOST_FAULTS = 500
_NODE_WEIGHT = 64
_PLAIN, _TEXT = "plain", "text"
MERGE = "<<"
_OWN_TAGS = frozenset((_PLAIN, _TEXT, "tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"))
_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_NOT_PRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAG_DIRECTIVE = re.compile("^%TAG", re.MULTILINE)
_IGNORE = re.compile(r"(?:^|\s)#\s*benchspec:\s*ignore=([A-Z0-9, ]+)", re.ASCII)
_WIDEST_EXCERPT = 160


class _Stop(Exception):
    """The document goes beyond what is read: a code, what was found, and where."""

    def __init__(self, code: str, found: str, expected: str, mark: Any) -> None:
        self.problem = Problem(code=code, path=(), found=found, expected=expected)
        self.mark = mark
        super().__init__(found)


class _Composer(CParser):
    """The C parser, with one tag for plain scalars and one for all else, and a bound on depth and number of nodes.

    ``resolve`` and the two ``..._resolver`` methods are those it calls for every node; without the bound a deep document overflows the C stack.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0
        self.nodes = 0

    def resolve(self, kind: type[Node], value: Any, implicit: Any) -> str:
        return _PLAIN if kind is ScalarNode and implicit[0] else _TEXT

    def descend_resolver(self, parent: Node | None, index: object) -> None:
        self.depth += 1
        self.nodes += 1
        if self.depth > MOST_DEPTH and parent is not None:
            raise _Stop("BS018", f"values nested more than {MOST_DEPTH} deep", "fewer levels", parent.start_mark)
        if self.nodes > MOST_NODES and parent is not None:
            raise _Stop("BS017", f"more than {MOST_NODES} values", "a smaller document", parent.start_mark)

    def ascend_resolver(self) -> None:
        self.depth -= 1


@dataclass(slots=True)
class _Fault:
    """A problem at a node; its path is looked for only once there is one."""

    code: str
    node: Node
    found: str
    expected: str
    hint: str = ""


class _Builder:
    """The value of a node tree. Shared nodes give shared values, so what is built must not be changed in place."""

    def __init__(self) -> None:
        self.faults: list[_Fault] = []
        self.size = 0
        self.depth = 0
        self._built: dict[int, tuple[Json, int] | None] = {}
        self._heights: dict[int, int] = {}

    def build(self, node: Node) -> Json:
        if node.__class__ is ScalarNode:
            return self._scalar(node)
        key = id(node)
        if key in self._built:
            return self._again(node, self._built[key])
        self._built[key] = None
        before = self.size
        self.depth += 1
        value: Json = self._mapping(node) if isinstance(node, MappingNode) else [self.build(item) for item in node.value]
        self.depth -= 1
        if node.tag not in _OWN_TAGS:
            self._refuse_tag(node)
        self._grow(node, 0)
        self._built[key] = (value, self.size - before)
        return value

    def _grow(self, node: Node, size: int) -> None:
        self.size += size + _NODE_WEIGHT
        if self.size > MOST_EXPANDED:
            raise _Stop("BS017", "anchors and texts that grow beyond 2 MiB", "fewer aliases or shorter texts", node.start_mark)

    def _again(self, node: Node, built: tuple[Json, int] | None) -> Json:
        """The value of an anchored node that an alias repeats."""
        if built is None:
            self.faults.append(_Fault("BS016", node, "an anchor that contains itself", "a finite value"))
            return None
        value, size = built
        self._grow(node, size)
        if self.depth + self._height(node) > MOST_DEPTH:
            raise _Stop("BS018", f"values nested more than {MOST_DEPTH} deep by aliases", "fewer levels", node.start_mark)
        return value

    def _height(self, node: Node) -> int:
        if node.__class__ is ScalarNode:
            return 0
        key = id(node)
        if key not in self._heights:
            self._heights[key] = 0
            children = [value for _, value in node.value] if isinstance(node, MappingNode) else node.value
            self._heights[key] = 1 + max((self._height(child) for child in children), default=0)
        return self._heights[key]

    def _scalar(self, node: Node) -> Json:
        text: str = node.value
        self._grow(node, len(text))
        if node.tag is not _PLAIN:
            if node.tag not in _OWN_TAGS:
                self._refuse_tag(node)
            return text
        value = plain_value(text)
        if not isinstance(value, Trap):
            return value
        self.faults.append(_Fault(value.code, node, escape(value.found), "a value every reader of YAML understands alike", value.hint))
        return text

    def _mapping(self, node: Node) -> Json:
        result: dict[str, Json] = {}
        twice = False
        for key_node, value_node in node.value:
            key = self._key(key_node)
            value = self.build(value_node)
            if key == MERGE and key_node.tag is _PLAIN:  # refused, but what it would bring is not missed as well
                result = {**value, **result} if isinstance(value, dict) else result
            elif key is not None:
                twice = twice or key in result
                result[key] = value
        if twice:
            self._refuse_repeated_keys(node)
        return result

    def _refuse_repeated_keys(self, node: Node) -> None:
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if key.__class__ is ScalarNode and key.value in lines:
                line = lines[key.value]
                found = f"the key {quote(key.value)} again, which line {line} has already"
                self.faults.append(_Fault("BS010", key, found, "every key once", f"remove line {line} or this one"))
            elif key.__class__ is ScalarNode:
                lines[key.value] = key.start_mark.line + 1

    def _key(self, node: Node) -> str | None:
        if node.__class__ is not ScalarNode:
            self.faults.append(_Fault("BS014", node, "a mapping or list as a key", "a text"))
            return None
        text: str = node.value
        self._grow(node, len(text))
        if node.tag is not _PLAIN:
            return text
        if text == MERGE:
            self.faults.append(_Fault("BS015", node, "the merge key <<", "the keys themselves", "write the keys out, or alias the whole mapping"))
            return text
        value = plain_value(text)
        if value.__class__ is not str and not (isinstance(value, Trap) and value.code == "BS011"):
            self.faults.append(
                _Fault("BS014", node, f"the key {escape(text) or 'nothing'}, which is no text", "a text", f'write "{escape(text)}" in quotes')
            )
        return text

    def _refuse_tag(self, node: Node) -> None:
        self.faults.append(_Fault("BS013", node, f"the tag {escape(str(node.tag))}", "plain data", "remove the tag"))


class Source:
    """One YAML file: its ``text``, the ``data`` in it, where everything lies, and the ``faults`` found while reading."""

    def __init__(self, file: str, text: str, root: Node | None, data: Json, faults: tuple[Diagnostic, ...] = ()) -> None:
        self.file = file
        self.text = text
        self.data = data
        self.faults = faults
        self.fault_paths: frozenset[Path] = frozenset()
        self._root = root
        self._lines: list[str] | None = None

    def key_and_value(self, path: Path) -> tuple[Node | None, Node | None]:
        """The key node (None for a list item and the root) and the value node at ``path``; both None when it is not in the text."""
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
        match = _IGNORE.search(self.line(number))
        return frozenset(re.split(r"[ ,]+", match[1].strip())) if match else frozenset()

    def diagnose(self, problem: Problem, severity: Severity, line: int, column: int) -> Diagnostic:
        """``problem`` at a place of this file (line and column from 1), with the line as excerpt."""
        excerpt, caret = cut_excerpt(self.line(line), column - 1)
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
    """The part of ``line`` around ``offset`` that fits into a message, without control characters, and the offset in it."""
    start = max(0, offset - _WIDEST_EXCERPT // 2) if len(line) > _WIDEST_EXCERPT else 0
    part = line[start : start + _WIDEST_EXCERPT].rstrip()
    return "".join(c if c.isprintable() else " " if c == "\t" else "?" for c in part), offset - start


def _child(node: Node | None, step: str | int) -> tuple[Node | None, Node | None]:
    if isinstance(node, MappingNode) and isinstance(step, str):
        found = [(key, value) for key, value in node.value if key.value == step]
        return found[-1] if found else (None, None)
    if isinstance(node, SequenceNode) and isinstance(step, int) and step < len(node.value):
        return None, node.value[step]
    return None, None


def read_yaml(source: bytes, file: str) -> Source:
    """Parse ``source``; ``file`` is how messages call it. Problems that still leave a value are in :attr:`Source.faults`.

    Raises:
        InvalidSpec: too large, not UTF-8, not YAML, empty, several documents, or no mapping at the root.
    """
    text = _decode(source, file)
    whole = Source(file, text, None, None)
    try:
        return _parse(whole)
    except _Stop as stop:
        raise _invalid(whole, stop.problem, stop.mark) from stop
    except MarkedYAMLError as error:
        raise _invalid(whole, _syntax_problem(whole, error), error.problem_mark) from error
    except YAMLError as error:
        raise _unreadable(whole) from error


def read_value(text: str, start: int, file: str, base: Path) -> Source:
    """Parse the YAML value that begins at ``start`` of ``text`` and is set at ``base`` of a document; places count from the beginning of ``text``. An empty value is null.

    Raises:
        InvalidSpec: it is not YAML, or too large.
    """
    whole = Source(file, text, None, None)
    if len(text) > MOST_BYTES:
        raise _invalid(whole, Problem(code="BS002", path=(), found=f"{len(text)} characters", expected="at most 1 MiB"), None)
    try:
        root = _Composer(" " * start + text[start:]).get_single_node()
        return whole if root is None else _built(whole, root, base)
    except _Stop as stop:
        raise _invalid(whole, stop.problem, stop.mark) from stop
    except MarkedYAMLError as error:
        raise _invalid(whole, _syntax_problem(whole, error), error.problem_mark) from error
    except YAMLError as error:
        raise _unreadable(whole) from error


def _parse(whole: Source) -> Source:
    directive = _TAG_DIRECTIVE.search(whole.text)
    if directive:
        raise _Stop("BS013", "a %TAG directive", "plain data", _position(whole.text, directive.start()))
    root = _Composer(whole.text).get_single_node()
    if root is None or (isinstance(root, ScalarNode) and root.value == ""):
        raise _Stop("BS005", "an empty document", "a spec", _position(whole.text, 0))
    if not isinstance(root, MappingNode):
        what = "a list" if isinstance(root, SequenceNode) else f"the text {quote(root.value)}"
        raise _Stop("BS007", f"{what} as the whole document", "a mapping that starts with apiVersion: benchspec/v1", root.start_mark)
    return _built(whole, root)


def _built(whole: Source, root: Node, base: Path = ()) -> Source:
    """The value of ``root``, which lies at ``base`` of its document."""
    builder = _Builder()
    data = builder.build(root)
    result = Source(whole.file, whole.text, root, data)
    if builder.faults:
        paths = _paths(root, {id(fault.node) for fault in builder.faults})
        result.fault_paths = frozenset((*base, *path) for path in paths.values())
        result.faults = tuple(_diagnose_fault(result, fault, (*base, *paths[id(fault.node)])) for fault in builder.faults[:MOST_FAULTS])
    return result


def _decode(source: bytes, file: str) -> str:
    if len(source) > MOST_BYTES:
        problem = Problem(code="BS002", path=(), found=f"{len(source)} bytes", expected="at most 1 MiB")
        raise InvalidSpec([Source(file, "", None, None).diagnose(problem, Severity.ERROR, 1, 1)])
    try:
        return source.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = source[: error.start]
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        text = source.decode("utf-8", "replace")
        problem = Problem(
            code="BS003", path=(), found=f"the byte 0x{source[error.start]:02x}, which is not UTF-8", expected="UTF-8", hint="save the file as UTF-8"
        )
        raise InvalidSpec([Source(file, text, None, None).diagnose(problem, Severity.ERROR, line, column)]) from error


def _position(text: str, index: int) -> Mark:
    before = text[:index]
    return Mark("", index, before.count("\n"), index - before.rfind("\n") - 1, None, 0)


def _invalid(source: Source, problem: Problem, mark: Any) -> InvalidSpec:
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
    if line > 1 and source.line(line) == "" and column == 1:  # the end of the text: what is missing is missing after the last line
        line = max((number for number in range(1, line) if source.line(number).strip()), default=1)
        column = len(source.line(line).rstrip()) + 1
    return InvalidSpec([source.diagnose(problem, Severity.ERROR, line, column)])


def _unreadable(source: Source) -> InvalidSpec:
    """The C reader tells a forbidden character only by its offset in bytes, so it is looked for again."""
    match = _NOT_PRINTABLE.search(source.text)
    index = match.start() if match else 0
    found = f"the control character U+{ord(source.text[index]):04X}" if match else "text that cannot be read"
    problem = Problem(code="BS008", path=(), found=found, expected="printable text")
    return _invalid(source, problem, _position(source.text, index))


def _syntax_problem(source: Source, error: MarkedYAMLError) -> Problem:
    line = source.line(error.problem_mark.line + 1) if error.problem_mark else ""
    if error.context and "single document" in error.context:
        return Problem(code="BS006", path=(), found="another document", expected="one document", hint="put each spec into a file of its own")
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return Problem(code="BS009", path=(), found="a tab in the indentation", expected="spaces", hint="replace every tab by spaces")
    said = ", ".join(part for part in (error.context, error.problem) if part)
    return Problem(code="BS008", path=(), found=f"text that is no YAML ({escape(said, 160)})", expected="YAML", hint=_syntax_hint(line, said))


def _syntax_hint(line: str, said: str) -> str:
    if "${" in line:
        return 'inside { } and [ ] put a reference in quotes: "${var:name}"'
    if "mapping values are not allowed" in said:
        return "put a text that contains ': ' in quotes, and check the indentation"
    if "cannot start any token" in said:
        return "put the text in quotes"
    return ""


def _diagnose_fault(source: Source, fault: _Fault, path: Path) -> Diagnostic:
    problem = Problem(code=fault.code, path=path, found=fault.found, expected=fault.expected, hint=fault.hint)
    mark = fault.node.start_mark
    return source.diagnose(problem, Severity.ERROR, mark.line + 1, mark.column + 1)


def _paths(root: Node, wanted: set[int]) -> dict[int, Path]:
    """The path of every node in ``wanted``, the first one where an alias repeats it."""
    found: dict[int, Path] = {}
    seen: set[int] = set()
    todo: list[tuple[Node, Path]] = [(root, ())]
    while todo:
        node, path = todo.pop()
        if id(node) in wanted:
            found.setdefault(id(node), path)
        if node.__class__ is ScalarNode or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, MappingNode):
            for key, value in node.value:
                todo.append((key, (*path, str(key.value) if key.__class__ is ScalarNode else "?")))
                todo.append((value, (*path, str(key.value) if key.__class__ is ScalarNode else "?")))
        else:
            todo.extend((item, (*path, index)) for index, item in enumerate(node.value))
    return found
