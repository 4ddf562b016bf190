"""Lifecycle steps that only a cluster can carry out: objects of its API to make or to wait for."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.contract.values import Problem
from ..model.spec import Step


def is_of_cluster(step: Step) -> bool:
    """Whether the step makes or awaits objects of a cluster, through its session."""
    return step.action == "manifest" or "condition" in step.arguments


def problems_without_cluster(step: Step) -> Sequence[Problem]:
    """Why ``step`` cannot be carried out by a runner that has no cluster."""
    if not (is_of_cluster(step) or step.action == "chart"):
        return []
    what = "wait: condition" if step.action == "wait" else step.action
    remedy = "use run or script, or put the target on a runner of kind kubernetes"
    return [
        Problem(
            message=(
                f"step {step.name}: found {what}, expected run, script or another wait: there is no"
                " cluster"
            ),
            remedy=remedy,
        )
    ]
