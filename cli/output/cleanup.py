"""What cleaning did and left, for people and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .documents import print_json
from .terminal import echo

if TYPE_CHECKING:
    from ...api.cleaning import Cleanup, Outcome


def show_cleanup(cleanup: Cleanup, *, as_json: bool) -> None:
    """Print it."""
    if as_json:
        print_json(
            {
                "runs": [_to_json(outcome) for outcome in cleanup.outcomes],
                "skipped": [{"run": path, "why": why} for path, why in cleanup.skipped.items()],
            }
        )
    else:
        _print(cleanup)


def _print(cleanup: Cleanup) -> None:
    for outcome in cleanup.outcomes:
        _print_outcome(outcome)
    for path, why in cleanup.skipped.items():
        echo(f"{path}: left alone: {why}")
    if not cleanup.outcomes and not cleanup.skipped:
        echo("there is nothing to clean")


def _print_outcome(outcome: Outcome) -> None:
    done = outcome.cleaned
    for target in done.destroyed if done else ():
        echo(f"{outcome.path}: destroyed target {target}")
    for name in done.removed if done else ():
        echo(f"{outcome.path}: removed {name}")
    if outcome.is_clean:
        echo(f"{outcome.path}: nothing of this run is left on its sites")
        return
    for problem in outcome.problems:
        echo(f"{outcome.path}: left: {problem}", err=True)


def _to_json(outcome: Outcome) -> dict[str, object]:
    from ...engine.model.codec import encode

    done = outcome.cleaned
    return {
        "run": outcome.path,
        "run_id": outcome.run_id,
        "clean": outcome.is_clean,
        "destroyed": list(done.destroyed) if done else [],
        "removed": list(done.removed) if done else [],
        "problems": list(done.problems) if done else [str(outcome.error)],
        "left": encode(done.left) if done else [],
    }
