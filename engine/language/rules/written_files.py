"""What a tool would read as more than data, and files and devices that a measurement would
overwrite.

What a tool's schema declares for it: ``x-options`` of a parameter that is a job file (the closed
table of its options), and ``x-benchspec.destroys`` (the parameters that together name a file).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...model.diagnostics import Path, Problem, quote
from ...model.spec import Json
from ...model.text.json_access import items, mapping, text
from ...model.text.option_lines import Table, refused
from ..schema.points import Candidate, candidates
from .view import Tool, View

DESTROYS = "destroys"
"""The parameter that lists the files and devices whose contents may be lost."""

_NO_FOLDERS = ("/dev", "/proc", "/sys")
"""Below these nothing is a plain file."""


def job_texts(view: View) -> Iterator[Problem]:
    """BS289: a job file holds options that say how to read and write, and no others."""
    for name, tool in view.tools.items():
        tables = {key: table_of(field) for key, field in tool.fields.items() if OPTIONS in field}
        seen = set()
        for candidate in candidates(name, view.workloads[name]) if tables else ():
            for key, table in tables.items():
                given, origin = text(candidate.parameters.get(key)), candidate.origins.get(key)
                if origin is None or (given, origin) in seen:
                    continue
                seen.add((given, origin))
                for line in refused(given, table):
                    yield Problem(
                        code="BS289",
                        path=origin,
                        found=f"{line.found} in line {line.line}",
                        expected=line.expected,
                    )


OPTIONS = "x-options"


def table_of(field: Mapping[str, Json]) -> Table:
    """The closed table that the schema of a parameter declares."""
    about = mapping(field.get(OPTIONS))
    return Table(
        options=frozenset(map(text, items(about.get("allowed")))),
        values={
            name: tuple(map(text, items(values)))
            for name, values in mapping(about.get("values")).items()
        },
        files=frozenset(map(text, items(about.get("files")))),
    )


def overwritten(view: View) -> Iterator[Problem]:
    """BS293: files and devices outside of a work directory are written only if the spec says that
    their contents may be lost.
    """
    for name, tool in view.tools.items():
        if tool.destroys:
            found = (_overwritten(one, tool) for one in candidates(name, view.workloads[name]))
            yield from dict.fromkeys(problem for one in found for problem in one)


def _overwritten(candidate: Candidate, tool: Tool) -> Iterator[Problem]:
    parameters, origins = candidate.parameters, candidate.origins
    allowed = {text(path) for path in items(parameters.get(DESTROYS))}
    folder_key, file_key = text(tool.destroys.get("folder")), text(tool.destroys.get("file"))
    folder = text(parameters.get(folder_key)).rstrip("/") if folder_key else ""
    if not folder_key:
        path = text(tool.parameter(parameters, file_key))
        if is_absolute(path) and path not in allowed:
            yield _unnamed(path, origins[file_key])
        return
    if not allowed:
        if folder and any(f"{folder}/".startswith(f"{one}/") for one in _NO_FOLDERS):
            yield Problem(
                code="BS293",
                path=origins[folder_key],
                found=f"{quote(folder)}, whose files are no plain files",
                expected="the device in destroys, as in destroys: [/dev/nvme1n1]",
            )
        return
    named = [mapping(job).get(file_key) for job in items(parameters.get("jobs"))]
    names = [text(one or parameters.get(file_key)) for one in named or [None]]
    if not folder or "" in names:
        yield Problem(
            code="BS293",
            path=origins[DESTROYS],
            found=f"destroys without {folder_key if not folder else file_key}",
            expected=f"{folder_key} and {file_key}, which together are the path that is measured",
        )
        return
    paths = {f"{folder}/{one}": one for one in names}
    for path in paths:
        if path not in allowed:
            yield _unnamed(path, origins.get(file_key, origins[DESTROYS]))
    for path in sorted(allowed - paths.keys()):
        yield Problem(
            code="BS293",
            path=origins[DESTROYS],
            found=f"{quote(path)}, which nothing measures",
            expected=f"{' and '.join(paths)}",
        )


def _unnamed(path: str, origin: Path) -> Problem:
    return Problem(
        code="BS293",
        path=origin,
        found=f"{quote(path)}, which may be there already",
        expected=f"destroys: [{path}], if its contents may be lost",
    )


def is_absolute(path: str) -> bool:
    """Whether a path of POSIX or Windows is no name below a work directory."""
    return path.startswith(("/", "\\")) or path[1:2] == ":" or ".." in path.split("/")


CHECKS = (job_texts, overwritten)
"""The rules of this module."""
