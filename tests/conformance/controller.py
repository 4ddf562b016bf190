"""A controller to be killed: starts jobs through a runner and tells on stdout how far it is. Run as
a program, with benchspec on the path.
"""

from __future__ import annotations

import json
import sys
import time

from benchspec.engine.model.contract.runner import Allocation, Session
from benchspec.engine.model.contract.values import Command
from benchspec.engine.model.spec import Role, RolePlace, Site
from benchspec.runners.registry import get_runner


def _command(argv: str) -> Command:
    return Command(argv=tuple(json.loads(argv)), role=Role.CLIENT, timeout_s=60, fetch=("counter",))


def _allocation(session: Session, allocation_id: str) -> Allocation:
    return session.allocate([RolePlace(role=Role.CLIENT, site="here")], allocation_id)


def start(session: Session, allocation_id: str, job_id: str, argv: str) -> None:
    """Start one job when told so on stdin, then wait to be killed."""
    allocation = _allocation(session, allocation_id)
    print("ready", flush=True)
    sys.stdin.readline()
    allocation.start(_command(argv), job_id)
    print("started", flush=True)
    time.sleep(60)


def run(session: Session, allocation_id: str, job_id: str, argv: str) -> None:
    """Start one job when told so on stdin and tell its output and exit code."""
    allocation = _allocation(session, allocation_id)
    print("ready", flush=True)
    sys.stdin.readline()
    job = allocation.start(_command(argv), job_id)
    job.wait(60)
    completed = job.collect()
    print(json.dumps([completed.exit_code, completed.stdout.decode()]), flush=True)


def main(kind: str, options: str, run_id: str, verb: str, *arguments: str) -> None:
    session = get_runner(kind).connect(
        Site(name="here", runner=kind, options=json.loads(options)), run_id
    )
    {"start": start, "run": run}[verb](session, *arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
