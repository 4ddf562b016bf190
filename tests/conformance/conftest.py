from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from benchspec.engine.ports import Allocation, Command, Completed, Session
from benchspec.engine.spec import Role, RolePlace
from tests.conformance.beds import BEDS, Bed, Run


@pytest.fixture(params=sorted(BEDS))
def bed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bed]:
    directory = Path(tempfile.mkdtemp(prefix="benchspec conformance'"))  # a path that has to be quoted
    monkeypatch.setenv("XDG_STATE_HOME", str(directory))
    made = BEDS[request.param](directory, f"run-{directory.name[-8:].replace('_', '-')}x")
    yield made
    made.close()
    for leftover in made.runner.leftovers(made.site, made.run_id):
        made.runner.remove(made.site, leftover)
    made.held.close()
    shutil.rmtree(directory)


@pytest.fixture
def session(bed: Bed) -> Iterator[Session]:
    opened = bed.connect()
    yield opened
    opened.close()


@pytest.fixture
def allocation(session: Session) -> Iterator[Allocation]:
    made = session.allocate([RolePlace(role=Role.CLIENT, site="here"), RolePlace(role=Role.SERVER, site="here")], "allocation-1")
    yield made
    made.release()


@pytest.fixture
def run(allocation: Allocation) -> Run:
    """Run a program to its end in the client's role."""
    count = iter(range(1000))

    def to_the_end(*argv: str, env: Mapping[str, str] | None = None, fetch: tuple[str, ...] = (), cpus: tuple[int, ...] = ()) -> Completed:
        command = Command(argv=argv, role=Role.CLIENT, timeout_s=60, env=env or {}, fetch=fetch, cpus=cpus)
        job = allocation.start(command, f"job-{next(count)}")
        job.wait(command.timeout_s)
        return job.collect()

    return to_the_end
