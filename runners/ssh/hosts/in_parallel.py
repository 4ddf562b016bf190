"""The same on many hosts at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ....engine.model.errors import BenchspecError

AT_ONCE = 32

T = TypeVar("T")
R = TypeVar("R")


def together(do: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """``do`` for every item, many at once; all are done before the first error is raised."""
    found, errors = attempt(do, items)
    if errors:
        raise errors[0]
    return found


def attempt(do: Callable[[T], R], items: Iterable[T]) -> tuple[list[R], list[BenchspecError]]:
    """What ``do`` gave for the items it succeeded for, and the errors of the others."""

    def careful(item: T) -> R | BenchspecError:
        try:
            return do(item)
        except BenchspecError as error:
            return error

    wanted = list(items)
    if len(wanted) < 2:
        outcomes = [careful(item) for item in wanted]
    else:
        with ThreadPoolExecutor(
            min(AT_ONCE, len(wanted)), thread_name_prefix="benchspec-ssh"
        ) as workers:
            outcomes = list(workers.map(careful, wanted))
    return [o for o in outcomes if not isinstance(o, BenchspecError)], [
        o for o in outcomes if isinstance(o, BenchspecError)
    ]
