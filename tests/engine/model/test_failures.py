"""Classes of failures, and those of errors."""

from __future__ import annotations

from benchspec.engine.model.errors import (
    FromOutside,
    JobTimeout,
    MissingTool,
    ParseError,
    TransportLost,
)
from benchspec.engine.model.failures import FailureClass


def test_only_what_comes_from_outside_may_be_measured_again() -> None:
    assert {one for one in FailureClass if one.is_from_outside} == {
        FailureClass.TRANSIENT,
        FailureClass.INFRASTRUCTURE,
    }


def test_every_error_says_of_which_class_a_trial_is_that_fails_by_it() -> None:
    assert TransportLost("x").failure is FailureClass.TRANSIENT
    assert FromOutside("x").failure is FailureClass.INFRASTRUCTURE
    for kind in (JobTimeout, MissingTool, ParseError):
        assert kind("x").failure is FailureClass.WORKLOAD
