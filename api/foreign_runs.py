"""Run directories that somebody else made: their spec is checked again before anything is done."""

from __future__ import annotations

from datetime import date
from itertools import islice

from ..engine.language.rules import RULES, check_rules
from ..engine.language.schema.plugins import check_plugins
from ..engine.language.schema.registry import benchmark_schema
from ..engine.model.diagnostics import Problem, Severity, path_text
from ..engine.model.errors import IntegrityError
from ..engine.model.spec import Spec
from ..engine.planning.expand import expand
from ..engine.planning.plan import Plan
from ..engine.store.directory import RunDirectory
from ..engine.store.manifest import PLAN, RESOLVED
from ..engine.store.own_runs import is_own
from ..workloads.registry import WORKLOADS

_MOST = 100


def require_valid_spec(directory: RunDirectory) -> None:
    """Hold the resolved spec of a directory that this user did not make against schemas and rules:
    sums prove nothing against whoever made them.

    Raises:
        IntegrityError: it is no valid spec; the place in it is named.
    """
    if is_own(directory):
        return
    document = directory.resolved()
    found: list[Problem] = [
        *benchmark_schema().problems(document),
        *islice(check_plugins(document), _MOST),
    ]
    found = found or [
        problem
        for problem in check_rules(document, None, date.today())
        if RULES[problem.code].severity is Severity.ERROR
    ]
    if found:
        first = found[0]
        raise IntegrityError(
            f"{path_text(first.path)}: found {first.found}, expected {first.expected}"
            f" ({first.code})",
            where=str(directory.path / RESOLVED),
            remedy="this directory is not yours, and its spec is no valid one: run it anew",
        )


def require_planned(directory: RunDirectory, spec: Spec, plan: Plan) -> None:
    """Hold the experiments of a directory that this user did not make against its spec.

    Raises:
        IntegrityError: one of them is not what the spec says.
    """
    if is_own(directory):
        return
    said = {experiment.id: experiment for experiment in expand(spec, WORKLOADS)}
    for experiment in plan.experiments:
        if said.get(experiment.id) != experiment:
            raise IntegrityError(
                f"the experiment {experiment.short_id} ({experiment.target}, {experiment.cell}) is"
                " not what the spec says",
                where=str(directory.path / PLAN),
                remedy="this directory is not yours, and its plan was changed: run its spec anew",
            )
