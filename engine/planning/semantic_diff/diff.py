"""What a change of a spec means: which meanings differ, which experiments come and go, and which
stored results become incomparable.

Two specs are compared as models, after variables, defaults and units: comments, formatting, key
order and ``60 s`` for ``1 min`` are no difference. Experiments are matched by target and cell, and
told apart by id. Nothing is executed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...model.contract.workload import Workload
from ...model.diagnostics import escape
from ...model.spec import Experiment, Json, LoadedSpec
from ...model.units import Dimension, scale_for
from .. import identity
from ..expand import MAX_EXPERIMENTS, expand
from .semantic_leaves import Meaning, Meanings, Subject, of_experiment, of_spec

LONGEST_VALUE = 300
"""Characters of a value in the text for reviewers; the JSON has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One meaning that differs; None on the side that does not have it."""

    path: str
    subject: Subject
    area: str
    old: Json
    new: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An experiment by name and id."""

    target: str
    cell: str
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Affected:
    """An experiment that both specs have, by target and cell, with two ids: results of the old one
    are incomparable ``because`` of these changes.
    """

    target: str
    cell: str
    old_id: str
    new_id: str
    because: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecDiff:
    """The whole difference. ``kept`` experiments need not run again; results of ``changed`` and
    ``removed`` ones have no successor.
    """

    changes: tuple[Change, ...]
    added: tuple[Entry, ...]
    removed: tuple[Entry, ...]
    kept: tuple[Entry, ...]
    changed: tuple[Affected, ...]

    @property
    def empty(self) -> bool:
        """Whether both specs mean the same."""
        return not (self.changes or self.added or self.removed or self.changed)


def diff_specs(
    old: LoadedSpec,
    new: LoadedSpec,
    workloads: Mapping[str, Workload],
    *,
    max_experiments: int = MAX_EXPERIMENTS,
) -> SpecDiff:
    """Compare two specs.

    Raises:
        SpecError: one of them does not expand.
    """
    before = {
        (e.target, e.cell): e for e in expand(old.spec, workloads, max_experiments=max_experiments)
    }
    after = {
        (e.target, e.cell): e for e in expand(new.spec, workloads, max_experiments=max_experiments)
    }
    kept = {e.id for e in before.values()} & {
        e.id for e in after.values()
    }  # by id: a renamed experiment is still the same
    return SpecDiff(
        changes=_compare(of_spec(old.spec), of_spec(new.spec)),
        added=tuple(
            _entry(e) for key, e in after.items() if key not in before and e.id not in kept
        ),
        removed=tuple(
            _entry(e) for key, e in before.items() if key not in after and e.id not in kept
        ),
        kept=tuple(_entry(e) for e in after.values() if e.id in kept),
        changed=tuple(
            Affected(
                target=e.target,
                cell=e.cell,
                old_id=before[key].id,
                new_id=e.id,
                because=_compare(of_experiment(old.spec, before[key]), of_experiment(new.spec, e)),
            )
            for key, e in after.items()
            if key in before and before[key].id != e.id
        ),
    )


def _entry(experiment: Experiment) -> Entry:
    return Entry(target=experiment.target, cell=experiment.cell, id=experiment.id)


def _compare(old: Meanings, new: Meanings) -> tuple[Change, ...]:
    """The paths whose values differ in meaning: in the order of the new side, then what only the
    old one has.
    """
    before, after = dict(old), dict(new)
    paths = [*after, *(path for path in before if path not in after)]
    return tuple(
        _change(path, before.get(path), after.get(path))
        for path in paths
        if _differs(before.get(path), after.get(path))
    )


def _differs(old: Meaning | None, new: Meaning | None) -> bool:
    return (
        old is None
        or new is None
        or identity.digest({"value": old.value}) != identity.digest({"value": new.value})
    )


def _change(path: str, old: Meaning | None, new: Meaning | None) -> Change:
    of = new or old
    subject, area = (of.subject, of.area) if of else (Subject.REPORT, path)
    return Change(
        path=path,
        subject=subject,
        area=area,
        old=old.value if old else None,
        new=new.value if new else None,
    )


def diff_to_json(diff: SpecDiff) -> dict[str, Json]:
    """The difference as JSON values, every key always there."""
    return {
        "changes": [_change_to_json(change) for change in diff.changes],
        "added": _entries(diff.added),
        "removed": _entries(diff.removed),
        "kept": _entries(diff.kept),
        "changed": [
            {
                "target": a.target,
                "cell": a.cell,
                "old_id": a.old_id,
                "new_id": a.new_id,
                "because": [_change_to_json(c) for c in a.because],
            }
            for a in diff.changed
        ],
    }


def _entries(entries: Sequence[Entry]) -> list[Json]:
    return [{"target": entry.target, "cell": entry.cell, "id": entry.id} for entry in entries]


def _change_to_json(change: Change) -> dict[str, Json]:
    return {
        "path": change.path,
        "subject": change.subject.value,
        "area": change.area,
        "old": change.old,
        "new": change.new,
    }


_HEADINGS = {
    Subject.ENVIRONMENT: "Environment",
    Subject.WORKLOAD: "Workloads",
    Subject.METHOD: "Method",
    Subject.JUDGEMENT: "How results are judged",
    Subject.REPORT: "Report and prose",
}


def diff_to_text(diff: SpecDiff) -> str:
    """The difference for a reviewer, as Markdown: what changed by subject, then what that does to
    stored results.
    """
    if diff.empty:
        return "Both specs mean the same: every stored result stays comparable."
    return "\n".join([*_changes_to_text(diff.changes), *_results_to_text(diff)]).lstrip("\n")


def _changes_to_text(changes: Sequence[Change]) -> Iterator[str]:
    for subject, heading in _HEADINGS.items():
        found = [change for change in changes if change.subject is subject]
        if found:
            yield f"\n## {heading}\n"
            yield from (f"- {_code(change.path)}: {_sides(change)}" for change in found)


def _results_to_text(diff: SpecDiff) -> Iterator[str]:
    counts = {
        "kept (need not run again)": diff.kept,
        "incomparable": diff.changed,
        "added": diff.added,
        "removed": diff.removed,
    }
    yield (
        "\n## Results\n\nExperiments:"
        f" {', '.join(f'{len(found)} {what}' for what, found in counts.items())}.\n"
    )
    for affected in diff.changed:
        reasons = (
            ", ".join(f"{_code(change.path)} {_sides(change)}" for change in affected.because)
            or "it meant the same as another experiment"
        )
        ids = f"{affected.old_id[:12]} to {affected.new_id[:12]}"
        yield (
            f"- incomparable: {_code(f'{affected.target} {affected.cell}')} ({ids}) because of"
            f" {reasons}"
        )
    yield from (
        f"- without a successor: {_code(f'{entry.target} {entry.cell}')} ({entry.id[:12]})"
        for entry in diff.removed
    )
    yield from (
        f"- to be measured: {_code(f'{entry.target} {entry.cell}')} ({entry.id[:12]})"
        for entry in diff.added
    )


def _sides(change: Change) -> str:
    if change.old is None:
        return f"added {_show(change.path, change.new)}"
    if change.new is None:
        return f"removed {_show(change.path, change.old)}"
    return f"{_show(change.path, change.old)} to {_show(change.path, change.new)}"


_UNITS = {
    "memory.total": Dimension.BYTES,
    "storage.size": Dimension.BYTES,
    "net.link": Dimension.BIT_RATE,
}


def _code(text: str) -> str:
    """``text`` from a spec as code on one line: in a comment on a pull request no link, mention or
    HTML may grow out of it.
    """
    line = escape(" ".join(text.split()), LONGEST_VALUE)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}" if line else "(empty)"


def _show(path: str, value: Json) -> str:
    """A value for people; the claims in bytes and bit/s get a readable unit."""
    for claim, dimension in _UNITS.items():
        if path.endswith(claim) and isinstance(value, int | float):
            factor, unit = scale_for([float(value)], dimension)
            return f"{value / factor:.6g} {unit}"
    if isinstance(value, int | float):
        return json.dumps(value)
    return _code(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
