"""How it is measured, compared and reported: what could never give a verdict, and where output may
go.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from ...model.diagnostics import Problem, quote
from ...model.text.json_access import items, mapping, quantity, text, whole
from ...model.units import Dimension
from .lifecycles import leaves_folder
from .view import View

FEWEST_SESSIONS = 5
"""Below it a 95 % interval on session means is more than twice as wide as with many sessions (t
with 3 degrees of freedom: 3.18).
"""

LARGEST_MARGIN = 0.5


def verdicts(view: View) -> Iterator[Problem]:
    """BS280, BS282: a comparison has enough behind it to come to a verdict."""
    if not view.compare:
        return
    smoke = view.method.get("mode") == "smoke"
    if smoke:
        yield Problem(
            code="BS280",
            path=("method", "mode"),
            found="smoke, which never carries a verdict, beside compare",
            expected="full, or no compare",
        )
    sessions = whole(view.method.get("sessions"))
    if sessions is not None and sessions < FEWEST_SESSIONS and not smoke:
        found = f"{sessions} sessions" if sessions != 1 else "1 session"
        yield Problem(
            code="BS282",
            path=("method", "sessions"),
            found=found,
            expected=f"at least {FEWEST_SESSIONS} for a verdict",
        )


def margins(view: View) -> Iterator[Problem]:
    """BS283, BS284: the equivalence margin means something and can be reached."""
    margin = quantity(view.compare.get("equivalence"), Dimension.RATIO)
    if margin is None:
        return
    path, shown = ("compare", "equivalence"), quote(view.compare["equivalence"])
    if not 0 < margin < LARGEST_MARGIN:
        meant = isinstance(view.compare["equivalence"], int | float) and 0.5 <= margin < 50
        yield Problem(
            code="BS283",
            path=path,
            found=shown,
            expected="more than 0 and less than 50 %",
            hint=f"{shown} is {100 * margin:g} %, did you mean {shown} %?" if meant else "",
        )
        return
    wished = mapping(view.method.get("precision")).get("half_width")
    half_width = quantity(wished, Dimension.RATIO)
    if half_width is not None and half_width >= margin:
        yield Problem(
            code="BS284",
            path=path,
            found=f"{shown} with intervals of half-width {quote(wished)}",
            expected="a margin above the half-width",
        )


def duets(view: View) -> Iterator[Problem]:
    """BS281, BS285: a duet has two targets that do not disturb each other."""
    if view.method.get("order") != "duet" or not view.targets:
        return
    path = ("method", "order")
    if len(view.targets) != 2:
        yield Problem(
            code="BS285",
            path=path,
            found=f"a duet of {len(view.targets)} targets",
            expected="exactly 2 targets",
        )
        return
    first, second = view.targets
    places = [
        {json.dumps(options, sort_keys=True, default=str) for options in view.site_options(target)}
        for target in (first, second)
    ]
    if places[0] & places[1] and not _apart(view, first, second):
        yield Problem(
            code="BS281",
            path=path,
            found=f"{quote(first)} and {quote(second)} at the same time on one place",
            expected="sites or CPUs of their own",
        )


def _apart(view: View, first: str, second: str) -> bool:
    """Whether both targets are pinned to CPUs, and to different ones."""
    one, other = _cpus(view, first), _cpus(view, second)
    return bool(one) and bool(other) and not one & other


def _cpus(view: View, target: str) -> set[int]:
    cpus = view.targets[target].get("cpus")
    lists = [cpus] if isinstance(cpus, list) else list(mapping(cpus).values())
    return {cpu for numbers in lists for cpu in items(numbers) if isinstance(cpu, int)}


def precision(view: View) -> Iterator[Problem]:
    """BS286: adding sessions can add some."""
    sessions, most = (
        whole(view.method.get("sessions")),
        whole(mapping(view.method.get("precision")).get("max_sessions")),
    )
    if sessions is not None and most is not None and most < sessions:
        yield Problem(
            code="BS286",
            path=("method", "precision", "max_sessions"),
            found=str(most),
            expected=f"at least {sessions}, as method.sessions says",
        )


def folders(view: View) -> Iterator[Problem]:
    """BS287, BS288: pages go below the working folder, templates come from beside the spec."""
    report = mapping(view.document.get("report"))
    docs, template = text(report.get("docs")), text(report.get("template"))
    if docs and leaves_folder(docs):
        yield Problem(
            code="BS287",
            path=("report", "docs"),
            found=quote(docs),
            expected="a relative path without '..'",
        )
    if template and leaves_folder(template):
        yield Problem(
            code="BS288",
            path=("report", "template"),
            found=quote(template),
            expected="a relative path without '..'",
            hint="put the template beside the spec",
        )


CHECKS = (verdicts, margins, duets, precision, folders)
"""The rules of this module."""
