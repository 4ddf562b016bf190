"""From a file to a spec: read, apply ``--set`` and variables, check everything at once, build the
model.

Every problem is found in one pass and has a place: ``file:line:col``, or ``--set N`` for what the
command line brought in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice
from pathlib import Path

from yaml.nodes import Node, ScalarNode

from ..model.diagnostics import (
    At,
    Diagnostic,
    InvalidSpec,
    Problem,
    Severity,
    did_you_mean,
    escape,
    in_order,
    quote,
)
from ..model.diagnostics import Path as DocumentPath
from ..model.spec import Json, LoadedSpec
from .build import build_spec
from .interpolation import Substitution, substitute
from .overrides import Override, apply_overrides, read_overrides
from .relative_paths import anchor_files
from .rules import RULES, check_rules
from .rules.built import check_built
from .schema.plugins import check_plugins
from .schema.registry import benchmark_schema
from .yaml.source import MOST_BYTES, Source, read_yaml

__all__ = ["API_VERSION", "build_spec", "check_spec", "load_spec"]

API_VERSION = "benchspec/v1"
MOST_DIAGNOSTICS = 200
SECRET_CODES = ("BS301", "BS302")


def load_spec(path: Path, *, overrides: Sequence[str] = ()) -> LoadedSpec:
    """Read the spec at ``path`` with ``--set`` arguments applied.

    Raises:
        InvalidSpec: it has at least one error; all diagnostics are in it.
    """
    checked = _check(path, overrides)
    if any(diagnostic.severity is Severity.ERROR for diagnostic in checked.diagnostics):
        raise InvalidSpec(checked.diagnostics)
    document = anchor_files(checked.document, path.parent)
    return LoadedSpec(
        spec=build_spec(document),
        path=path,
        source=checked.source,
        document=document,
        overrides=tuple(overrides),
    )


def check_spec(path: Path, overrides: Sequence[str] = ()) -> tuple[Diagnostic, ...]:
    """Everything wrong with the spec at ``path``, errors and warnings, in order of place; empty
    when there is nothing.
    """
    try:
        return _check(path, overrides).diagnostics
    except InvalidSpec as error:
        return error.diagnostics


@dataclass(frozen=True, slots=True)
class _Checked:
    """A resolved document with everything that is wrong with it."""

    document: Mapping[str, Json]
    source: bytes
    diagnostics: tuple[Diagnostic, ...]


def _check(path: Path, texts: Sequence[str]) -> _Checked:
    """Raises InvalidSpec where there is no document to go on with."""
    content = _read(path)
    source = read_yaml(content, str(path))
    overrides, refused = read_overrides(texts)
    places = _Places(source, overrides)
    document, problems = apply_overrides(
        source.data if isinstance(source.data, Mapping) else {}, overrides
    )
    wrong_version = _check_version(document)
    if wrong_version is not None:
        raise InvalidSpec([places.diagnose(wrong_version)])
    resolved, substitution = substitute(document)
    found = [*problems, *_problems(resolved, substitution, path.parent, places.faulty())]
    return _Checked(
        resolved,
        content,
        _limited(
            _without_secrets(in_order((*source.faults, *refused, *places.diagnose_all(found))))
        ),
    )


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        reason = escape(error.strerror or str(error))
        problem = Problem(
            code="BS001",
            path=(),
            found=f"a file that cannot be read ({reason})",
            expected="a YAML file",
        )
        raise InvalidSpec(
            [Source(str(path), "", None, None).diagnose(problem, Severity.ERROR, 1, 1)]
        ) from error


def _check_version(document: Mapping[str, Json]) -> Problem | None:
    """Another version of the language has other rules, so nothing else is said about such a
    document.
    """
    version = document.get("apiVersion", API_VERSION)
    if version == API_VERSION:
        return None
    hint = did_you_mean(version, [API_VERSION])
    old = isinstance(version, str) and version.startswith("benchspec/")
    remedy = "bring the spec up to date with `benchspec migrate SPEC`" if old else hint
    return Problem(
        code="BS108", path=("apiVersion",), found=quote(version), expected=API_VERSION, hint=remedy
    )


def _problems(
    document: Mapping[str, Json],
    substitution: Substitution,
    folder: Path,
    faulty: frozenset[DocumentPath],
) -> Iterator[Problem]:
    """What is wrong with a resolved document, without what only follows from a problem at the same
    place.
    """
    first = [
        *substitution.problems,
        *benchmark_schema().problems(document),
        *islice(check_plugins(document), MOST_DIAGNOSTICS),
    ]
    known = {(problem.path, problem.at) for problem in substitution.problems}
    structural = [
        p
        for p in first
        if p.path not in faulty and (p in substitution.problems or (p.path, p.at) not in known)
    ]
    yield from structural
    known |= {(problem.path, problem.at) for problem in structural if problem.at is not At.HOLDER}
    semantic = (*check_rules(document, folder, date.today()), *substitution.unused())
    for problem in semantic:
        if problem.path not in faulty and (
            problem.code in SECRET_CODES or (problem.path, problem.at) not in known
        ):
            yield problem
    if not faulty and not any(map(_is_error, (*first, *semantic))):
        yield from check_built(build_spec(document))


def _is_error(problem: Problem) -> bool:
    return RULES[problem.code].severity is Severity.ERROR


def _without_secrets(diagnostics: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """A secret that is written out is in no message about it or about its line: logs of checks are
    read by more people than specs.
    """
    secret = [diagnostic for diagnostic in diagnostics if diagnostic.code in SECRET_CODES]
    lines, paths = {(d.file, d.line) for d in secret}, {d.path for d in secret}

    def blot(diagnostic: Diagnostic) -> Diagnostic:
        if (diagnostic.file, diagnostic.line) in lines:
            diagnostic = replace(diagnostic, excerpt="", caret=0)
        quoted = diagnostic.path in paths and diagnostic.code not in (
            *SECRET_CODES,
            "BS101",
        )  # which is about the key
        return replace(diagnostic, found="a secret written out", hint="") if quoted else diagnostic

    return tuple(map(blot, diagnostics))


def _limited(diagnostics: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """At most MOST_DIAGNOSTICS of them, and one that says how many there are more."""
    rest = len(diagnostics) - MOST_DIAGNOSTICS
    if rest <= 0:
        return diagnostics
    last = diagnostics[MOST_DIAGNOSTICS]
    more = replace(
        last,
        code="BS099",
        severity=Severity.ERROR,
        path="$",
        found=f"{rest} more problems",
        expected="none",
        hint="",
        excerpt="",
        caret=0,
    )
    return (*diagnostics[:MOST_DIAGNOSTICS], more)


class _Places:
    """Where problems of a document lie: in its file, or in the ``--set`` that brought the value
    in.
    """

    def __init__(self, source: Source, overrides: Sequence[Override]) -> None:
        self._source = source
        self._overrides = tuple(reversed(overrides))

    def faulty(self) -> frozenset[DocumentPath]:
        """The paths with a value that YAML itself does not settle."""
        return self._source.fault_paths.union(
            *(override.source.fault_paths for override in self._overrides)
        )

    def diagnose_all(self, problems: Iterable[Problem]) -> Iterator[Diagnostic]:
        """Every problem at its place, without warnings that a comment on their line silences."""
        for problem in problems:
            diagnostic = self.diagnose(problem)
            silenced = (
                diagnostic.severity is not Severity.ERROR and diagnostic.file == self._source.file
            )
            if not (silenced and diagnostic.code in self._source.ignored(diagnostic.line)):
                yield diagnostic

    def diagnose(self, problem: Problem) -> Diagnostic:
        """``problem`` with its file, line, column and severity."""
        severity = RULES[problem.code].severity
        override = next(
            (override for override in self._overrides if override.covers(problem.path)), None
        )
        key, value = self._source.key_and_value(problem.path)
        if override is None and value is None:
            override = next(
                (
                    override
                    for override in self._overrides
                    if override.path[: len(problem.path)] == problem.path
                ),
                None,
            )
        if override is not None:
            return override.diagnose(problem, severity)
        node = (
            self._nearest(problem.path)
            if value is None
            else value
            if problem.at is At.VALUE or key is None
            else key
        )
        if node is None or (problem.at is At.HOLDER and not problem.path):
            return self._source.diagnose(problem, severity, *self._start())
        return self._source.diagnose(
            as_written(problem, value),
            severity,
            node.start_mark.line + 1,
            node.start_mark.column + 1,
        )

    def _nearest(self, path: DocumentPath) -> Node | None:
        """The key (or item) of the deepest place on ``path`` that is in the file, for what a
        variable brought in.
        """
        for length in range(len(path) - 1, 0, -1):
            key, value = self._source.key_and_value(path[:length])
            if value is not None:
                return key or value
        return None

    def _start(self) -> tuple[int, int]:
        _, root = self._source.key_and_value(())
        return (
            (root.start_mark.line + 1, root.start_mark.column + 1) if root is not None else (1, 1)
        )


def as_written(problem: Problem, node: Node | None) -> Problem:
    """A number where a text belongs, shown as it stands in the file: 1.20, which as a number is
    1.2.
    """
    from .schema.explain import QUOTE_IT

    if problem.hint != QUOTE_IT or not isinstance(node, ScalarNode) or node.style:
        return problem
    written = escape(node.value)
    return replace(
        problem,
        found=f"{problem.found.rpartition(' ')[0]} {written}".strip(),
        hint=f'{QUOTE_IT}: "{written}"',
    )
