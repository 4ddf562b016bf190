"""``${var:NAME}``, ``${secret:KIND:NAME}`` and ``${output:STEP.NAME}``: found, checked and, for
variables, replaced.

Variables are replaced when a spec is loaded; secrets and outputs are only known when it runs and
stay as they are. ``$${`` is a literal ``${``. Nothing else is interpolated, and a variable's value
is not looked into again, so that no reference can grow without end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ..model.diagnostics import At, Path, Problem, alternatives, did_you_mean, quote
from ..model.spec import Json, SecretKind

MOST_TEXT = 2 * 2**20
"""How many characters interpolation may make in all."""

MOST_PROBLEMS = 200
KINDS = ("var", "secret", "output")
_REFERENCE = re.compile(r"\$(?P<escaped>\$)?\{(?P<body>[^{}]*)\}?")
_RUNTIME = re.compile(r"(?<!\$)\$\{(secret|output):([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Reference:
    """A ``secret`` or ``output`` reference at ``path``; ``name`` is what follows the kind."""

    kind: str
    name: str
    path: Path


def has_reference(text: str) -> bool:
    """Whether ``text`` stands for something that is known only when it runs (or for an unknown
    variable).
    """
    return "${" in text


def runtime_references(found: Iterable[tuple[Path, str]]) -> Iterator[Reference]:
    """Every secret and output reference in texts and their paths, in order."""
    for path, leaf in found:
        if "${" in leaf:
            for match in _RUNTIME.finditer(leaf):
                yield Reference(match[1], match[2], path)


def texts(value: Json, path: Path = ()) -> list[tuple[Path, str]]:
    """Every text in ``value`` with its path, in order."""
    found: list[tuple[Path, str]] = []
    _collect_texts(value, path, found)
    return found


def _collect_texts(value: Json, path: Path, found: list[tuple[Path, str]]) -> None:
    if isinstance(value, str):
        found.append((path, value))
    elif isinstance(value, dict):
        for key, item in value.items():
            _collect_texts(item, (*path, key), found)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _collect_texts(item, (*path, index), found)


@dataclass(slots=True)
class Substitution:
    """Replaces variables throughout a document; ``problems`` and the ``used`` names are collected
    on the way.
    """

    variables: Mapping[str, Json]
    problems: list[Problem] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    made: int = 0

    def apply(self, value: Json, path: Path = ()) -> Json:
        """``value`` with its variables replaced; the very same object where there is nothing to
        replace.
        """
        if isinstance(value, str):
            return self._text(value, path) if "${" in value else value
        if isinstance(value, dict):
            items = {key: self.apply(item, (*path, key)) for key, item in value.items()}
            return items if any(items[key] is not item for key, item in value.items()) else value
        if isinstance(value, list):
            replaced = [self.apply(item, (*path, index)) for index, item in enumerate(value)]
            return (
                replaced
                if any(new is not old for new, old in zip(replaced, value, strict=True))
                else value
            )
        return value

    def unused(self) -> Iterator[Problem]:
        """BS210 for every variable that nothing refers to."""
        for name in self.variables:
            if name not in self.used:
                found, expected = (
                    f"the variable {quote(name)}, which nothing uses",
                    f"${{var:{name}}} somewhere",
                )
                yield Problem(
                    code="BS210", path=("vars", name), found=found, expected=expected, at=At.KEY
                )

    def _text(self, text: str, path: Path) -> Json:
        whole = _REFERENCE.fullmatch(text)
        if (
            whole
            and not whole["escaped"]
            and whole["body"].startswith("var:")
            and text.endswith("}")
        ):
            value = self._value(whole["body"].removeprefix("var:"), path)
            self._count(len(str(value)), path)
            return text if value is None else value
        return (
            _REFERENCE.sub(lambda match: self._replace(match, path), text)
            if self.made <= MOST_TEXT
            else text
        )

    def _replace(self, match: re.Match[str], path: Path) -> str:
        if len(self.problems) > MOST_PROBLEMS:
            return match[0]
        kind, _, name = match["body"].partition(":")
        if match["escaped"]:
            return match[0] if kind in ("secret", "output") else match[0][1:]
        if not match[0].endswith("}") or kind not in KINDS or not name:
            self._refuse(match[0], kind, path)
        elif kind == "var":
            return self._interpolated(match[0], name, path)
        elif kind == "secret":
            self._check_secret(name, path)
        return match[0]

    def _interpolated(self, written: str, name: str, path: Path) -> str:
        value = self._value(name, path)
        if value is None:
            return written
        if isinstance(value, list):
            self.problems.append(
                _problem(
                    "BS211",
                    path,
                    f"a list of variable {quote(name)} inside a text",
                    "a text, number or boolean",
                )
            )
            return written
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return text if self._count(len(text), path) else written

    def _count(self, size: int, path: Path) -> bool:
        """Add to the text made so far; past the bound say so once and make no more."""
        before, self.made = self.made, self.made + size
        if before <= MOST_TEXT < self.made:
            self.problems.append(
                _problem(
                    "BS017",
                    path,
                    "variables that grow beyond 2 MiB",
                    "fewer references or shorter values",
                )
            )
        return self.made <= MOST_TEXT

    def _value(self, name: str, path: Path) -> Json:
        if name in self.variables:
            self.used.add(name)
            return self.variables[name]
        known = list(self.variables)
        self.problems.append(
            _problem(
                "BS209",
                path,
                f"the unknown variable {quote(name)}",
                f"a key of vars ({alternatives(known)})",
                did_you_mean(name, known),
            )
        )
        return None

    def _refuse(self, written: str, kind: str, path: Path) -> None:
        expected = "${var:NAME}, ${secret:KIND:NAME} or ${output:STEP.NAME}"
        alone = ":" not in written and kind not in KINDS
        hint = (
            f"declare {kind} under vars and write ${{var:{kind}}}, or $${{ for a literal ${{"
            if alone and kind.isidentifier()
            else did_you_mean(kind, KINDS) or "write $${ for a literal ${"
        )
        self.problems.append(
            _problem("BS211", path, f"the reference {quote(written)}", expected, hint)
        )

    def _check_secret(self, name: str, path: Path) -> None:
        kind, _, rest = name.partition(":")
        kinds = [member.value for member in SecretKind]
        if kind not in kinds:
            self.problems.append(
                _problem(
                    "BS212",
                    path,
                    f"the unknown kind of secret {quote(kind)}",
                    alternatives(kinds),
                    did_you_mean(kind, kinds),
                )
            )
        elif not rest or (kind == SecretKind.KUBERNETES and rest.count("/") != 2):
            form = (
                "${secret:kubernetes:NAMESPACE/NAME/KEY}"
                if kind == SecretKind.KUBERNETES
                else f"${{secret:{kind}:NAME}}"
            )
            self.problems.append(_problem("BS212", path, f"the secret {quote(name)}", form))


def _problem(code: str, path: Path, found: str, expected: str, hint: str = "") -> Problem:
    return Problem(code=code, path=path, found=found, expected=expected, hint=hint)


def substitute(document: Mapping[str, Json]) -> tuple[Mapping[str, Json], Substitution]:
    """Replace the variables of ``document`` (not in ``vars`` itself, whose references are
    refused).
    """
    declared = document.get("vars")
    variables = (
        {name: value for name, value in declared.items() if value is not None}
        if isinstance(declared, Mapping)
        else {}
    )
    substitution = Substitution(variables)
    if not any("${" in text for _, text in texts(document)):
        return document, substitution
    for path, text in texts(declared, ("vars",)):
        if "${" in text.replace("$${", ""):
            substitution.problems.append(
                _problem(
                    "BS211", path, f"a reference in a variable ({quote(text)})", "a plain value"
                )
            )
    result = {
        key: value if key == "vars" else substitution.apply(value, (key,))
        for key, value in document.items()
    }
    return result, substitution
