"""Which steps need a cluster, and what a runner without one says of them."""

from __future__ import annotations

import pytest

from benchspec.engine.model.spec import Json, Step
from benchspec.engine.planning.cluster_steps import is_of_cluster, problems_without_cluster


def step(action: str, **arguments: Json) -> Step:
    return Step(name="s", action=action, arguments=arguments)


@pytest.mark.parametrize(
    ("made", "of_cluster", "what"),
    [
        (step("manifest", file="a.yaml"), True, "manifest"),
        (step("wait", condition="Ready", kind="Pod"), True, "wait: condition"),
        (step("chart", chart="a"), False, "chart"),
    ],
)
def test_what_only_a_cluster_can_do_is_a_problem_elsewhere(
    made: Step, of_cluster: bool, what: str
) -> None:
    assert is_of_cluster(made) is of_cluster
    (problem,) = problems_without_cluster(made)
    assert problem.message.startswith(f"step s: found {what}, expected run, script")
    assert problem.remedy is not None
    assert "kind kubernetes" in problem.remedy


@pytest.mark.parametrize("made", [step("run", argv=["true"]), step("wait", tcp="127.0.0.1:1")])
def test_other_steps_are_for_every_runner(made: Step) -> None:
    assert not is_of_cluster(made)
    assert list(problems_without_cluster(made)) == []
