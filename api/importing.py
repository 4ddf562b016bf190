"""Results of other programs made into a run directory, for reports and comparisons."""

from __future__ import annotations

import glob
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from ..engine.importing import foreign, tables
from ..engine.importing.import_run import (
    Result,
    Skipped,
    describe,
    read_result,
    refuse_copies,
    to_document,
    workloads_of,
    write_records,
)
from ..engine.model.errors import ParseError, SpecError, UsageError
from ..engine.model.units import Dimension, parse_quantity
from ..engine.planning.validity_gates import describe as describe_gate
from ..engine.store.directory import RunDirectory
from .indexing import index_run
from .new_runs import make_directory
from .planning import Planned, plan
from .settings import RUNS, File

REPORTS = ("knb", "kubestr")
"""Tools whose one file holds several experiments."""

FORMS = (*REPORTS, *foreign.TOOLS, *foreign.ALIASES, tables.NAME)
_MOST = 1000
_FROM_SPEC = ("title", "description", "labels", "vars", "compare", "report")
_FROM_WORKLOAD = ("title", "description", "gates", "primary", "path", "placement")


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A run directory of imported results; ``failures`` are tests of theirs that failed, results
    that the tool's gates refuse, and files that were left out: the file and the reason.
    ``unindexed``: why the run is not in the index, and what loads it later.
    """

    directory: Path
    failures: tuple[tuple[str, str], ...]
    unindexed: str | None = None


def import_(
    form: str,
    results: Iterable[tuple[str, File]],
    *,
    name: str | None = None,
    out: File | None = None,
    runs: File = RUNS,
    spec: File | None = None,
    skip_bad: bool = False,
    sessions: str = "file",
) -> Imported:
    """Make a run directory (``out``, or one in ``runs``) of what another program (``form``)
    measured. ``results`` are (target, file or pattern such as ``aks/*.json``); the first target is
    the baseline. ``name`` is the benchmark's.

    ``spec`` brings titles, claims, limits and comparisons. ``sessions`` says what a session is:
    ``file``, ``name=REGEX`` (what its group finds in the file's name) or ``gap=DURATION`` (files
    that were made no further apart). ``skip_bad`` leaves out files that cannot be read and names
    them.

    Raises:
        UsageError: the same file twice, no such file, or files that cannot be one experiment.
        ParseError: files are broken; all are named.
        SpecError: ``spec`` does not fit.
        StorageError: it cannot be written.
    """
    form = foreign.ALIASES.get(form, form)
    files = [(target, file) for target, each in results for file in _files(Path(each))]
    read, skipped = _read(form, files, skip_bad=skip_bad)
    read = _in_sessions(read, sessions)
    given = {} if spec is None else _given(Path(spec))
    title = name or str(given.get("name") or f"imported-{form}")
    described = describe(form, read, skipped, sessions)
    where = None if out is None else Path(out)
    for native in (True, False):
        workloads, names = _workloads(form, read, native=native)
        document = _merged(to_document(form, title, read, workloads), given)
        try:
            planned, directory = _make(document, where, Path(runs), described)
        except SpecError:
            if native and form not in REPORTS:
                continue  # what the tool said of its settings is nothing that a run could be of
            raise
        break
    write_records(directory, planned.loaded.spec, planned.plan, read, names, skipped)
    return Imported(
        directory=directory.path,
        failures=tuple(_failures(read, skipped)),
        unindexed=index_run(directory.path),
    )


def _files(given: Path) -> list[Path]:
    """The file, or all that a pattern matches, by name. Raises UsageError for none."""
    if given.is_file():
        return [given]
    found = sorted(Path(one) for one in glob.glob(str(given), recursive=True))
    if not (files := [one for one in found if one.is_file()]):
        raise UsageError(
            f"found no file {str(given)!r}, expected TARGET=FILE with a file that is there, or a"
            " pattern",
            remedy="write it as aks=aks.json or aks='results/aks-*.json'",
        )
    return files


def _read(
    form: str, files: Sequence[tuple[str, Path]], *, skip_bad: bool
) -> tuple[list[Result], list[Skipped]]:
    found: list[Result] = []
    skipped: list[Skipped] = []
    readable: list[Result] = []
    for target, path in files:
        try:
            data = path.read_bytes()
            if form != tables.NAME and not data.strip():
                raise ParseError("the file is empty")
            results = _reader(form)(target, path.name, data)
            if form != tables.NAME:
                if skip_bad:
                    refuse_copies([*readable, *results])
                readable += results
            found += results
        except (ParseError, UsageError, OSError) as error:
            reason = error.message if isinstance(error, ParseError | UsageError) else str(error)
            skipped.append(Skipped(target=target, name=path.name, reason=reason))
    if skipped and (not skip_bad or not found):
        named = "\n".join(f"  {one.target}: {one.name}: {one.reason}" for one in skipped)
        raise ParseError(
            f"{len(skipped)} of {len(files)} files cannot be read:\n{named}",
            remedy="leave them out with --skip-bad, which names them in the run" if found else None,
        )
    refuse_copies(readable)
    return found, skipped


def _reader(form: str) -> Callable[[str, str, bytes], list[Result]]:
    if form == tables.NAME:
        return foreign.read_table
    if form in REPORTS:
        return lambda target, name, data: [read_result(form, target, name, data)]
    return lambda target, name, data: [foreign.read_file(form, target, name, data)]


def _in_sessions(results: Sequence[Result], rule: str) -> list[Result]:
    """The results with their sessions named. Raises UsageError for a rule that is none, or does not
    fit a file.
    """
    kind, _, argument = rule.partition("=")
    if rule == "file":
        return list(results)
    if kind == "name" and argument:
        return [replace(one, session=_named(one.name, argument)) for one in results]
    if kind == "gap" and argument:
        return _by_gap(results, parse_quantity(argument, Dimension.TIME))
    raise UsageError(
        f"found --sessions {rule!r}, expected file, name=REGEX or gap=DURATION such as gap=10min"
    )


def _named(name: str, pattern: str) -> str:
    try:
        found = re.search(pattern, name)
    except re.error as error:
        raise UsageError(f"--sessions: {pattern!r} is no regular expression: {error}") from error
    if found is None:
        raise UsageError(f"--sessions: found nothing like {pattern!r} in the name {name!r}")
    return found[1] if found.re.groups and found[1] is not None else found[0]


def _by_gap(results: Sequence[Result], gap_s: float) -> list[Result]:
    if unknown := [one.name for one in results if not one.made_at]:
        raise UsageError(
            f"--sessions gap: {unknown[0]} does not say when it was made",
            remedy="use name=REGEX, or file",
        )
    found: list[Result] = []
    last: dict[str, tuple[float, int]] = {}
    for one in sorted(results, key=lambda each: each.made_at):
        before, number = last.get(one.target, (one.made_at, 1))
        number += one.made_at - before > gap_s
        last[one.target] = (one.made_at, number)
        found.append(replace(one, session=f"session {number}"))
    order = {one.target: position for position, one in reversed(list(enumerate(results)))}
    return sorted(found, key=lambda each: order[each.target])


def _workloads(
    form: str, results: Sequence[Result], *, native: bool
) -> tuple[dict[str, Any], dict[tuple[str, ...], str]]:
    if form in REPORTS:
        return workloads_of(form, results)
    data = list(dict.fromkeys(one.data for one in results)) if form == tables.NAME else []
    metrics = foreign.metrics_in(form, data)
    native = native and form not in (tables.NAME, "hyperfine", "vegeta")
    return foreign.describe_workloads(form, results, metrics, native=native)


class _Loader(yaml.SafeLoader):
    """YAML whose dates are texts, as in every spec."""


_Loader.yaml_implicit_resolvers = {
    first: [one for one in known if one[0] != "tag:yaml.org,2002:timestamp"]
    for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _given(path: Path) -> Mapping[str, Any]:
    """The document of ``--spec``, which may leave out what the files say. Raises SpecError."""
    try:
        found = yaml.load(path.read_bytes(), Loader=_Loader)  # a SafeLoader
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        raise SpecError(f"{path}: it cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise SpecError(f"{path}: found no mapping, expected a spec")
    return found


def _merged(document: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The document with what the spec adds; what was measured and how is the files' to say. Targets
    and workloads are matched by name. Raises SpecError for names that the files do not have.
    """
    for key in _FROM_SPEC:
        if key in given:
            document[key] = given[key]
    for part, kept in (("targets", None), ("workloads", _FROM_WORKLOAD)):
        added = given.get(part) or {}
        if unknown := set(added) - set(document[part]):
            raise SpecError(
                f"--spec: found {part} {', '.join(sorted(unknown))}, expected some of"
                f" {', '.join(document[part])}, which the files have"
            )
        for name, own in added.items():
            said = {key: value for key, value in own.items() if kept is None or key in kept}
            document[part][name] = {**document[part][name], **said}
    return document


def _failures(results: Sequence[Result], skipped: Sequence[Skipped]) -> Iterable[tuple[str, str]]:
    for one in results:
        for piece in one.pieces:
            if piece.error:
                yield one.name, piece.error
            for gate in piece.gates:
                if not gate.passed:
                    yield one.name, f"not valid: {describe_gate(gate)}"
        if one.unread:
            yield one.name, f"{len(one.unread)} lines with results were not read"
    for left in skipped:
        yield left.name, f"left out: {left.reason}"


def _make(
    document: dict[str, object], out: Path | None, runs: Path, imported: dict[str, object]
) -> tuple[Planned, RunDirectory]:
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder, "imported.yaml")  # the name may not be one yet
        spec.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")  # JSON is YAML
        planned = plan(spec, max_experiments=_MOST)
        directory = make_directory(planned.loaded, planned.plan, out, runs=runs, imported=imported)
        return planned, directory
