"""What is done on many hosts is done on all of them, whichever of them fails."""

from __future__ import annotations

import threading

import pytest

from benchspec.engine.model.errors import RunFailed
from benchspec.runners.ssh.hosts.in_parallel import attempt, together


def test_results_have_the_order_of_their_items_and_errors_stay_apart() -> None:
    def half(number: int) -> int:
        if number % 2:
            raise RunFailed(f"{number} is odd")
        return number // 2

    found, errors = attempt(half, range(5))
    assert found == [0, 1, 2]
    assert [error.message for error in errors] == ["1 is odd", "3 is odd"]


@pytest.mark.parametrize("count", [1, 5])
def test_all_are_done_before_the_first_error_is_raised(count: int) -> None:
    done: list[int] = []

    def fail(number: int) -> None:
        done.append(number)
        raise RunFailed(f"host {number}")

    with pytest.raises(RunFailed, match="host 0"):
        together(fail, range(count))
    assert sorted(done) == list(range(count))


def test_they_are_done_at_once() -> None:
    meeting = threading.Barrier(4, timeout=30)
    assert sorted(together(lambda _: meeting.wait(), range(4))) == [0, 1, 2, 3]


def test_what_is_no_error_of_a_host_is_not_kept_back() -> None:
    def broken(number: int) -> int:
        return 1 // number

    for items in ([0], [1, 0]):
        with pytest.raises(ZeroDivisionError):
            attempt(broken, items)


def test_nothing_to_do_is_done() -> None:
    assert attempt(str, []) == ([], [])
