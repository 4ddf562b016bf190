"""Runners and tools of a document, each checked against its own schema and no other.

The kind of a runner and the tool of a workload are looked up first; what they say is then held
against that one schema, so that a wrong parameter never gives messages about tools that were not
meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...model.diagnostics import At, Path, Problem, alternatives, did_you_mean, quote
from ...model.schema_files import known
from ...model.spec import Json, Placement, TrafficPath
from ...planning.matrix import Axis
from .points import Candidate, axes_of, candidates, path_of
from .registry import SchemaCheck, runner_schema, workload_schema

ANY_PROGRAM = "any program can be measured with `tool: command`"
MOST_EXPLAINED = 50
"""So many points of one workload are explained; the others have the same mistakes."""


def check_plugins(document: Mapping[str, Json]) -> Iterator[Problem]:
    """Everything wrong with the runners and the tools' parameters of ``document``."""
    yield from _runners(document)
    workloads = document.get("workloads")
    for name, workload in workloads.items() if isinstance(workloads, Mapping) else ():
        if isinstance(workload, Mapping):
            yield from _workload(name, workload)


def _runners(document: Mapping[str, Json]) -> Iterator[Problem]:
    sites = document.get("sites")
    for name, site in sites.items() if isinstance(sites, Mapping) else ():
        yield from _runner(site, ("sites", name))
    targets = document.get("targets")
    for name, target in targets.items() if isinstance(targets, Mapping) else ():
        if isinstance(target, Mapping):
            yield from _target(target, ("targets", name))


def _target(target: Mapping[str, Json], path: Path) -> Iterator[Problem]:
    named = [key for key in ("runner", "sites") if key in target]
    if len(named) != 1:
        found = "both runner and sites" if named else "neither runner nor sites"
        yield Problem(
            code="BS113",
            path=path,
            found=found,
            expected="exactly one of runner and sites",
            at=At.HOLDER,
        )
    if "runner" in target:
        yield from _runner(target["runner"], (*path, "runner"))


def _runner(runner: Json, path: Path) -> Iterator[Problem]:
    """A runner as a kind or as a mapping with a kind; other types are the language's schema to
    report.
    """
    options: Mapping[str, Json] = (
        {"kind": runner}
        if isinstance(runner, str)
        else runner
        if isinstance(runner, Mapping)
        else {}
    )
    kind = options.get("kind")
    if not isinstance(kind, str):
        return
    schema = runner_schema(kind)
    if schema is None:
        where = path if isinstance(runner, str) else (*path, "kind")
        yield _unknown("BS112", "kind of runner", kind, known("runners"), where)
    else:
        yield from schema.problems(options, path)


def _unknown(code: str, what: str, name: str, names: tuple[str, ...], path: Path) -> Problem:
    return Problem(
        code=code,
        path=path,
        found=f"the unknown {what} {quote(name)}",
        expected=alternatives(names),
        hint=did_you_mean(name, names) or (ANY_PROGRAM if "command" in names else ""),
    )


def _workload(name: str, workload: Mapping[str, Json]) -> Iterator[Problem]:
    tool = workload.get("tool")
    if not isinstance(tool, str):
        return
    schema = workload_schema(tool)
    if schema is None:
        yield _unknown("BS111", "tool", tool, known("workloads"), ("workloads", name, "tool"))
        return
    axes = axes_of(workload)
    yield from _situations(name, axes)
    yield from dict.fromkeys(
        _parameters(name, workload, schema, {axis.name: axis for axis in axes})
    )


def _parameters(
    name: str, workload: Mapping[str, Json], schema: SchemaCheck, axes: Mapping[str, Axis]
) -> Iterator[Problem]:
    explained = 0
    for candidate in candidates(name, workload):
        if schema.accepts(candidate.parameters):
            continue
        explained += 1
        if explained > MOST_EXPLAINED:
            return
        yield from (
            _placed(problem, name, workload, candidate, axes)
            for problem in schema.problems(candidate.parameters)
        )


def _placed(
    problem: Problem,
    name: str,
    workload: Mapping[str, Json],
    candidate: Candidate,
    axes: Mapping[str, Axis],
) -> Problem:
    """``problem`` of a candidate's parameters, at the place where the parameter was written."""
    if not problem.path:
        path: Path = ("workloads", name, "with") if "with" in workload else ("workloads", name)
        return _moved(problem, path)
    key, *rest = problem.path
    origin = candidate.origins.get(str(key), ("workloads", name))
    if problem.code == "BS101" and not rest and isinstance(origin[-1], int):
        axis = axes[str(key)]
        found = f"the axis {quote(axis.name)}, which is no parameter of {workload['tool']}"
        expected = (
            f"path, placement, or one of its parameters: {problem.expected.removeprefix('one of ')}"
        )
        return Problem(
            code="BS260",
            path=path_of(axis, name),
            found=found,
            expected=expected,
            hint=problem.hint,
            at=At.KEY,
        )
    return _moved(problem, (*origin, *rest))


def _moved(problem: Problem, path: Path) -> Problem:
    return Problem(
        code=problem.code,
        path=path,
        found=problem.found,
        expected=problem.expected,
        hint=problem.hint,
        at=problem.at,
    )


_SITUATION_VALUES = {
    "path": [member.value for member in TrafficPath],
    "placement": [member.value for member in Placement],
}


def _situations(name: str, axes: list[Axis]) -> Iterator[Problem]:
    """BS104 for a path or placement among the values of an axis."""
    for axis in axes:
        allowed = _SITUATION_VALUES.get(axis.name, [])
        for index, value in enumerate(axis.values if allowed else ()):
            if not isinstance(value, Mapping) and value not in allowed:
                hint = did_you_mean(value, allowed)
                yield Problem(
                    code="BS104",
                    path=path_of(axis, name, index),
                    found=quote(value),
                    expected=alternatives(allowed),
                    hint=hint,
                )
