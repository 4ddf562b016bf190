"""Regular expressions and JSON paths that a spec brings: refused here, before a run would come upon
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...model.diagnostics import Path, Problem
from ...model.errors import SpecError
from ...model.spec import Json
from ...model.text.json_access import mapping, text
from ...model.text.jsonpath import parse_path
from ...model.text.safe_regex import compile_pattern
from .view import View


def unusable(view: View) -> Iterator[Problem]:
    """BS227: every pattern and path of captures and extraction rules can be used."""
    for _, path, step in view.steps():
        for name, reader in mapping(step.get("capture")).items():
            yield from _check(mapping(reader), (*path, "capture", name))
    for workload, about in view.workloads.items():
        tool = view.tools.get(workload)
        if tool is not None and tool.declares:
            holders: list[tuple[Path, Mapping[str, Json]]] = [
                (("workloads", workload, "with"), about)
            ]
            holders += [
                (("workloads", workload, "overrides", name, "with"), mapping(o))
                for name, o in mapping(about.get("overrides")).items()
            ]
            for path, holder in holders:
                yield from _rules(
                    mapping(mapping(holder.get("with")).get(tool.declares)), (*path, tool.declares)
                )


def _rules(rules: Mapping[str, Json], path: Path) -> Iterator[Problem]:
    for name, rule in rules.items():
        if not name.startswith("x-"):
            yield from _check(mapping(rule), (*path, name))


def _check(rule: Mapping[str, Json], path: Path) -> Iterator[Problem]:
    for key, check in (("regex", compile_pattern), ("jsonpath", parse_path)):
        written = text(rule.get(key))
        if not written or "${" in written:
            continue
        try:
            check(written)
        except SpecError as error:
            found, _, expected = error.message.removeprefix("found ").partition(", expected ")
            yield Problem(
                code="BS227",
                path=(*path, key),
                found=found,
                expected=expected or error.remedy or "one that benchspec understands",
            )


CHECKS = (unusable,)
"""The rules of this module."""
