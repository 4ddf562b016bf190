from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from benchspec.engine.model.contract.runner import Allocation, Session
from benchspec.engine.model.contract.values import Command, Completed
from benchspec.engine.model.spec import Role, RolePlace
from tests.conformance.beds import BEDS, EMPTYING, Bed, Run

_NUMBERS = itertools.count()
"""A job's id is given once in a run, and tests may share one."""


@pytest.fixture(scope="module", params=sorted(BEDS))
def kind(request: pytest.FixtureRequest) -> str:
    """The runner under test; a module's tests of one runner are run together."""
    return str(request.param)


@contextmanager
def fresh_bed(kind: str) -> Iterator[Bed]:
    """A bed for a run that nobody had before; nothing of it stays."""
    directory = Path(
        tempfile.mkdtemp(prefix="benchspec conformance'")
    )  # a path that has to be quoted
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(directory))
        made = BEDS[kind](directory, f"run-{directory.name[-8:].replace('_', '-')}x")
        with made.held:
            yield made
            made.close()
            for leftover in made.runner.leftovers(made.site, made.run_id):
                made.runner.remove(made.site, leftover)
    shutil.rmtree(directory)


class Lender:
    """One bed for the tests of a module, where allocations take longer to make than most tests: one
    after the other has what is there, emptied.
    """

    def __init__(self, kind: str) -> None:
        self._kind, self._held = kind, ExitStack()
        self._bed: Bed | None = None

    def lend(self) -> Bed:
        """The bed, made when it is not there."""
        if self._bed is None:
            self._bed = self._held.enter_context(fresh_bed(self._kind))
        return self._bed

    def take_back(self) -> None:
        """Remove it; who asks next gets another."""
        self._bed = None
        self._held.close()


@pytest.fixture(scope="module")
def lender(kind: str) -> Iterator[Lender]:
    made = Lender(kind)
    yield made
    made.take_back()


@pytest.fixture
def fresh() -> None:
    """For tests of how things come and go: nothing is lent to them."""


@pytest.fixture
def empty(request: pytest.FixtureRequest, kind: str) -> Callable[[Allocation], None] | None:
    """What makes an allocation as good as new, when it is lent."""
    return None if "fresh" in request.fixturenames else EMPTYING.get(kind)


@pytest.fixture
def bed(kind: str, lender: Lender, empty: Callable[[Allocation], None] | None) -> Iterator[Bed]:
    if empty is not None:
        lent = lender.lend()
        yield lent
        lent.close()
    else:
        lender.take_back()  # its pods keep other runs off their nodes
        with fresh_bed(kind) as made:
            yield made


@pytest.fixture
def session(bed: Bed) -> Iterator[Session]:
    opened = bed.connect()
    yield opened
    opened.close()


@contextmanager
def allocated(
    session: Session,
    lender: Lender,
    empty: Callable[[Allocation], None] | None,
    cpus: tuple[int, ...] = (),
) -> Iterator[Allocation]:
    """Client and server; a session takes over what is lent as it takes over what a dead controller
    left.
    """
    roles = [
        RolePlace(role=Role.CLIENT, site="here", cpus=cpus),
        RolePlace(role=Role.SERVER, site="here"),
    ]
    made = session.allocate(roles, "allocation-1")
    yield made
    if empty is None:
        made.release()
        return
    try:
        empty(made)
    except BaseException:  # the next test gets another
        lender.take_back()
        raise


@pytest.fixture
def allocation(
    session: Session, lender: Lender, empty: Callable[[Allocation], None] | None
) -> Iterator[Allocation]:
    with allocated(session, lender, empty) as made:
        yield made


@pytest.fixture
def pinned(
    session: Session, lender: Lender, empty: Callable[[Allocation], None] | None
) -> Iterator[Allocation]:
    """The client has the first CPU."""
    with allocated(session, lender, empty, cpus=(0,)) as made:
        yield made


@pytest.fixture
def run(allocation: Allocation) -> Run:
    """Run a program to its end in the client's role."""

    def to_the_end(
        *argv: str,
        env: Mapping[str, str] | None = None,
        fetch: tuple[str, ...] = (),
        cpus: tuple[int, ...] = (),
    ) -> Completed:
        command = Command(
            argv=argv, role=Role.CLIENT, timeout_s=60, env=env or {}, fetch=fetch, cpus=cpus
        )
        job = allocation.start(command, f"job-{next(_NUMBERS)}")
        job.wait(command.timeout_s)
        return job.collect()

    return to_the_end
