"""Choosing a part of the plan with ``--only``: a selector that matches nothing is an error, never
an empty plan.

``target=NAME``, ``workload=NAME``, ``tool=NAME`` and ``AXIS=LABEL`` select by key; anything else is
the beginning of an experiment id (at least four hex digits) or the name of a cell. ``*`` and ``?``
stand for any text and any character. Selectors of one key add up, different keys narrow each other
down.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..model.errors import UsageError
from ..model.spec import Experiment
from .matrix import suggest

_KEY = re.compile(r"^(?P<key>[A-Za-z_][\w.-]*)=(?P<value>.*)$", re.DOTALL)
_ID = re.compile(r"^[0-9a-f]{4,64}$")
EXPERIMENT = "experiment"


def select(experiments: Sequence[Experiment], only: Sequence[str]) -> tuple[Experiment, ...]:
    """Return the experiments that ``only`` names, in their order; all of them when it is empty.

    Raises:
        UsageError: a selector matches nothing, or all of them together do.
    """
    chosen: dict[str, set[str]] = {}
    for selector in only:
        key, ids = _matching(experiments, selector)
        chosen.setdefault(key, set()).update(ids)
    found = tuple(e for e in experiments if all(e.id in ids for ids in chosen.values()))
    if not found:
        raise UsageError(
            f"no experiment matches all of {', '.join(map(repr, only))}",
            where="--only",
            remedy="`benchspec plan` lists them; drop a selector",
        )
    return found


def _matching(experiments: Sequence[Experiment], selector: str) -> tuple[str, set[str]]:
    match = _KEY.match(selector)
    if match:
        return match["key"], _by_key(experiments, selector, match["key"], match["value"])
    pattern = _pattern(selector)
    ids = {
        e.id
        for e in experiments
        if pattern.match(e.cell) or (_ID.match(selector) and e.id.startswith(selector))
    }
    if not ids:
        raise _unknown(selector, "cell or id", selector, {e.cell for e in experiments})
    return EXPERIMENT, ids


def _by_key(experiments: Sequence[Experiment], selector: str, key: str, value: str) -> set[str]:
    values = {e.id: text for e in experiments if (text := _values(e).get(key)) is not None}
    if not values:
        raise _unknown(selector, "key", key, {k for e in experiments for k in _values(e)})
    pattern = _pattern(value)
    ids = {i for i, text in values.items() if pattern.match(text)}
    if not ids:
        raise _unknown(selector, key, value, set(values.values()))
    return ids


def _values(experiment: Experiment) -> dict[str, str]:
    """What an experiment is selected by; an axis never hides the three fixed keys."""
    fixed = {"target": experiment.target, "workload": experiment.workload, "tool": experiment.tool}
    return dict(experiment.point) | fixed


def _pattern(text: str) -> re.Pattern[str]:
    """A glob with ``*`` and ``?`` alone: the brackets of a cell's name stand for themselves."""
    return re.compile(
        "".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in text) + r"\Z", re.DOTALL
    )


def _unknown(selector: str, what: str, found: str, known: Iterable[str]) -> UsageError:
    names = sorted(known)
    shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    message = f"found unknown {what} {found!r}, expected one of {shown}{suggest(found, names)}"
    return UsageError(message, where=f"--only {selector}", remedy="`benchspec plan` lists them")
