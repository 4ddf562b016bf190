"""A plan for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .documents import print_json
from .tables import print_table
from .terminal import echo, print_wrapped, warn, width

if TYPE_CHECKING:
    from ...api.consent import Asked
    from ...api.planning import Planned
    from ...engine.planning.plan import Plan

_SHOWN = 1
"""Sessions whose order is shown: one is an example, all are in the JSON."""
_MOST = 12
"""Allocations of a session that are shown."""


def print_plan(planned: Planned) -> None:
    """Print experiments, order, steps, time, price and notes."""
    from ...engine.capabilities.model import Kind

    plan = planned.plan
    print_wrapped(
        f"{planned.loaded.spec.title}: {len(plan.experiments)} experiments,"
        f" {len(plan.order)} allocations, seed {plan.seed}"
    )
    header = ("workload", "point", "target", "primary metric", "id")
    rows = [
        (e.workload, ", ".join(f"{k}={v}" for k, v in e.point), e.target, e.primary, e.short_id)
        for e in plan.experiments
    ]
    shown = [index for index, _ in enumerate(header) if index != 1 or any(row[1] for row in rows)]
    widest = sum(max(len(row[index]) for row in [header, *rows]) + 2 for index in shown)
    if 0 < width() < widest:
        shown.pop()  # the ids, which the JSON has too
    print_table(
        [header[index] for index in shown], [[row[index] for index in shown] for row in rows]
    )
    _print_order(plan)
    steps = list(planned.steps())
    if steps:
        echo("\nSteps, in the order of each target")
    for step in steps:
        print_wrapped(step, first="  ", rest="    ")
    echo(f"\nTime: about {format_duration(plan.estimate_s)}")
    for target, amount in (plan.price or {}).items():
        echo(f"Price: {target} about {amount}")
    for note in plan.notes:
        print_wrapped(note, first="Note: ", rest="  ")
    for one in planned.capabilities().capabilities:
        if one.kind is Kind.DESTROYS:
            warn(f"Destroys what is in {one}")


def print_capabilities(asked: Asked, *, as_json: bool) -> None:
    """Print what a run asks for, and the digest of the list."""
    from ...engine.capabilities.model import to_lines

    if as_json:
        found = [one.to_json() for one in asked.capabilities]
        print_json({"digest": asked.digest, "capabilities": found})
        return
    for line in to_lines(asked.capabilities) or ["This spec only measures; nothing is asked for."]:
        echo(line)
    echo(f"Digest: {asked.digest}")


def _print_order(plan: Plan) -> None:
    names = {e.id: f"{e.target}/{e.cell}" for e in plan.experiments}
    echo("\nOrder")
    sessions: dict[int, list[str]] = {}
    for allocation in plan.order:
        sessions.setdefault(allocation.session, []).append(names[allocation.experiment_id])
    for session, order in list(sessions.items())[:_SHOWN]:
        more = len(order) - _MOST
        listed = "  ".join(order[:_MOST]) + (f"  ... and {more} more" if more > 0 else "")
        print_wrapped(listed, first=f"  session {session}: ", rest="    ")
    if len(sessions) > _SHOWN:
        echo(
            f"  {len(sessions) - _SHOWN} more sessions, each in its own random order"
            " (--json lists them)"
        )


def format_duration(seconds: float) -> str:
    """A duration for people."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"
