"""Whose doing a failure was."""

from __future__ import annotations

import signal

import pytest

from benchspec.engine.execution.failure_class import (
    class_of,
    class_of_ending,
    class_of_error,
    how_it_ended,
    worst_exit,
)
from benchspec.engine.model.contract.values import Completed
from benchspec.engine.model.errors import ParseError, TransportLost
from benchspec.engine.model.failures import FailureClass


def ended(*codes: int) -> list[Completed]:
    return [
        Completed(
            argv=("tool",),
            exit_code=code,
            stdout=b"",
            stderr=b"",
            started_at=0.0,
            duration_s=1.0,
        )
        for code in codes
    ]


@pytest.mark.parametrize(
    ("codes", "kind", "worst"),
    [
        ((0, 0), "parse", 0),
        ((0, 3), "exit", 3),
        ((128 + signal.SIGKILL, 1), "killed", 137),
        ((255, 0), "exit", 255),
        ((), "parse", None),
    ],
)
def test_the_program_that_ended_badly_comes_before_its_output(
    codes: tuple[int, ...], kind: str, worst: int | None
) -> None:
    assert (how_it_ended(ended(*codes)), worst_exit(ended(*codes))) == (kind, worst)


def test_who_killed_it_is_not_known_without_the_count_of_the_kernel() -> None:
    assert class_of_ending("killed", 137, {}) is FailureClass.WORKLOAD
    assert class_of_ending("exit", 3, {}) is FailureClass.WORKLOAD


def test_an_error_brings_its_class_unless_all_was_measured() -> None:
    lost = TransportLost("lost", where="here", remedy="none")
    assert lost.failure.is_from_outside
    assert class_of_error(None, True) is None
    assert class_of_error(lost, False) is lost.failure
    assert class_of_error(lost, True) is FailureClass.INVALID
    parse = ParseError("nothing measured")
    assert class_of_error(parse, True) is parse.failure


def test_a_failure_without_a_class_is_the_workloads() -> None:
    assert class_of(None, {}) is FailureClass.WORKLOAD
    assert class_of(FailureClass.TRANSIENT, {}) is FailureClass.TRANSIENT
