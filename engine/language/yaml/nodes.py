"""YAML as nodes with marks, and the JSON-like value of a node tree. No input, however hostile,
costs much or runs code.

The C parser composes nodes; the value is built from them here, because only here duplicate keys,
aliases that explode and ambiguous scalars can be told where they are. Tags and merge keys are
refused: a spec is plain data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode

from ...model.diagnostics import Path, Problem, escape, quote
from ...model.spec import Json
from .scalars import Trap, plain_value

try:
    from yaml._yaml import CParser
except ImportError as error:  # pragma: no cover - every wheel of PyYAML has it
    raise ImportError(
        "benchspec needs PyYAML with its C parser (libyaml): install PyYAML from a wheel, or"
        " libyaml before building it"
    ) from error

MOST_NODES = 20_000
MOST_DEPTH = 64
MOST_EXPANDED = 2 * 2**20
"""Upper bound of the value's size once aliases are followed: 64 for each node and 1 for each
character.
"""

MERGE = "<<"
_NODE_WEIGHT = 64
_PLAIN, _TEXT = "plain", "text"
_OWN_TAGS = frozenset(
    (_PLAIN, _TEXT, "tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
)


class BeyondBounds(Exception):
    """The document goes beyond what is read: a code, what was found, and where."""

    def __init__(self, code: str, found: str, expected: str, mark: Any) -> None:
        self.problem = Problem(code=code, path=(), found=found, expected=expected)
        self.mark = mark
        super().__init__(found)


class Composer(CParser):
    """The C parser, with one tag for plain scalars and one for all else, and a bound on depth and
    number of nodes.

    ``resolve`` and the two ``..._resolver`` methods are those it calls for every node; without the
    bound a deep document overflows the C stack.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0
        self.nodes = 0

    def resolve(self, kind: type[Node], value: Any, implicit: Any) -> str:
        """The tag of a node without an explicit one."""
        return _PLAIN if kind is ScalarNode and implicit[0] else _TEXT

    def descend_resolver(self, parent: Node | None, index: object) -> None:
        """Called before a node is composed. Raises BeyondBounds."""
        self.depth += 1
        self.nodes += 1
        if self.depth > MOST_DEPTH and parent is not None:
            raise BeyondBounds(
                "BS018",
                f"values nested more than {MOST_DEPTH} deep",
                "fewer levels",
                parent.start_mark,
            )
        if self.nodes > MOST_NODES and parent is not None:
            raise BeyondBounds(
                "BS017", f"more than {MOST_NODES} values", "a smaller document", parent.start_mark
            )

    def ascend_resolver(self) -> None:
        """Called when a node is composed."""
        self.depth -= 1


@dataclass(slots=True)
class Fault:
    """A problem at a node; its path is looked for only once there is one."""

    code: str
    node: Node
    found: str
    expected: str
    hint: str = ""


class Builder:
    """The value of a node tree. Shared nodes give shared values, so what is built must not be
    changed in place.
    """

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.size = 0
        self.depth = 0
        self._built: dict[int, tuple[Json, int] | None] = {}
        self._heights: dict[int, int] = {}

    def build(self, node: Node) -> Json:
        """The value of ``node``; what is wrong in it is added to ``faults``. Raises
        BeyondBounds.
        """
        if node.__class__ is ScalarNode:
            return self._scalar(node)
        key = id(node)
        if key in self._built:
            return self._again(node, self._built[key])
        self._built[key] = None
        before = self.size
        self.depth += 1
        value: Json = (
            self._mapping(node)
            if isinstance(node, MappingNode)
            else [self.build(item) for item in node.value]
        )
        self.depth -= 1
        if node.tag not in _OWN_TAGS:
            self._refuse_tag(node)
        self._grow(node, 0)
        self._built[key] = (value, self.size - before)
        return value

    def _grow(self, node: Node, size: int) -> None:
        self.size += size + _NODE_WEIGHT
        if self.size > MOST_EXPANDED:
            raise BeyondBounds(
                "BS017",
                "anchors and texts that grow beyond 2 MiB",
                "fewer aliases or shorter texts",
                node.start_mark,
            )

    def _again(self, node: Node, built: tuple[Json, int] | None) -> Json:
        """The value of an anchored node that an alias repeats."""
        if built is None:
            self.faults.append(
                Fault("BS016", node, "an anchor that contains itself", "a finite value")
            )
            return None
        value, size = built
        self._grow(node, size)
        if self.depth + self._height(node) > MOST_DEPTH:
            raise BeyondBounds(
                "BS018",
                f"values nested more than {MOST_DEPTH} deep by aliases",
                "fewer levels",
                node.start_mark,
            )
        return value

    def _height(self, node: Node) -> int:
        if node.__class__ is ScalarNode:
            return 0
        key = id(node)
        if key not in self._heights:
            self._heights[key] = 0
            children = (
                [value for _, value in node.value] if isinstance(node, MappingNode) else node.value
            )
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
        self.faults.append(
            Fault(
                value.code,
                node,
                escape(value.found),
                "a value every reader of YAML understands alike",
                value.hint,
            )
        )
        return text

    def _mapping(self, node: Node) -> Json:
        result: dict[str, Json] = {}
        twice = False
        for key_node, value_node in node.value:
            key = self._key(key_node)
            value = self.build(value_node)
            if (
                key == MERGE and key_node.tag is _PLAIN
            ):  # refused, but what it would bring is not missed as well
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
                self.faults.append(
                    Fault("BS010", key, found, "every key once", f"remove line {line} or this one")
                )
            elif key.__class__ is ScalarNode:
                lines[key.value] = key.start_mark.line + 1

    def _key(self, node: Node) -> str | None:
        if node.__class__ is not ScalarNode:
            self.faults.append(Fault("BS014", node, "a mapping or list as a key", "a text"))
            return None
        text: str = node.value
        self._grow(node, len(text))
        if node.tag is not _PLAIN:
            return text
        if text == MERGE:
            self.faults.append(
                Fault(
                    "BS015",
                    node,
                    "the merge key <<",
                    "the keys themselves",
                    "write the keys out, or alias the whole mapping",
                )
            )
            return text
        value = plain_value(text)
        if value.__class__ is not str and not (isinstance(value, Trap) and value.code == "BS011"):
            self.faults.append(
                Fault(
                    "BS014",
                    node,
                    f"the key {escape(text) or 'nothing'}, which is no text",
                    "a text",
                    f'write "{escape(text)}" in quotes',
                )
            )
        return text

    def _refuse_tag(self, node: Node) -> None:
        self.faults.append(
            Fault("BS013", node, f"the tag {escape(str(node.tag))}", "plain data", "remove the tag")
        )


def find_paths(root: Node, wanted: set[int]) -> dict[int, Path]:
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
                todo.append(
                    (value, (*path, str(key.value) if key.__class__ is ScalarNode else "?"))
                )
        else:
            todo.extend((item, (*path, index)) for index, item in enumerate(node.value))
    return found
