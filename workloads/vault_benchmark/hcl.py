"""The configuration of vault-benchmark as HCL, written so that no value can become syntax.

Format: HCL native syntax (hashicorp/hcl, hclsyntax/spec.md) and vault-benchmark's docs/index.md:
top-level attributes, then one ``test "TYPE" "NAME"`` block each with ``weight`` and a ``config``
block. The same parameters give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ...engine.model.errors import SpecError
from ...engine.model.spec import Json

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quoted(text: str) -> str:
    """``text`` as an HCL string: no interpolation (``${``, ``%{``), no control characters."""
    escaped = "".join(_escape(character) for character in text)
    return '"' + escaped.replace("${", "$${").replace("%{", "%%{") + '"'


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isprintable() else f"\\U{ord(character):08x}"


def attributes(values: Mapping[str, Json], indent: str = "") -> str:
    """One ``name = value`` line per scalar or list of ``values`` and one nested block per mapping,
    in the order given.

    Raises:
        SpecError: a name that is no identifier, or a value that HCL has no plain form for.
    """
    return "".join(_attribute(name, value, indent) for name, value in values.items())


def _attribute(name: str, value: Json, indent: str) -> str:
    if isinstance(value, Mapping):
        return block(identifier(name), (), attributes(value, indent + "  "), indent)
    return f"{indent}{identifier(name)} = {_literal(name, value)}\n"


def block(kind: str, labels: Sequence[str], body: str, indent: str = "") -> str:
    """``kind "label" ... {`` body ``}``; ``body`` is indented already."""
    head = " ".join((kind, *(quoted(label) for label in labels)))
    return f"{indent}{head} {{\n{body}{indent}}}\n"


def identifier(name: str) -> str:
    """``name`` when it may stand unquoted. Raises SpecError."""
    if _IDENTIFIER.fullmatch(name) is None:
        raise SpecError(
            f"found {name!r}, expected the name of a vault-benchmark setting: letters, digits, '_'"
            " and '-'"
        )
    return name


def _literal(name: str, value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Sequence):
        return f"[{', '.join(_literal(name, item) for item in value)}]"
    raise SpecError(f"{name}: found {value!r}, expected a string, number, boolean, list or mapping")
