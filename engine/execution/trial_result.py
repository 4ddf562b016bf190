"""What a trial leaves on disk: the raw files of its jobs and a description, from which the trial
can be told again if its record was lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..model.codec import decode, encode
from ..model.contract.values import Completed, Node, Sample
from ..model.errors import IntegrityError
from ..model.failures import FailureClass
from ..model.spec import Role
from ..store.directory import DESCRIPTION, MONITOR
from .slots import Slot


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What the journal says before a trial starts: its slot, its jobs, its round, its roles' nodes.
    ``deadlines_s`` belong to the jobs.
    """

    slot: Slot
    jobs: tuple[str, ...]
    deadlines_s: tuple[float, ...]
    allocation_id: str
    allocation: int
    nodes: Mapping[Role, Node] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of the jobs: their raw results, what the monitors saw, or why there is none.
    ``failure``: of which class the error is. ``nodes_after``: where the roles were then.
    """

    completed: tuple[Completed, ...]
    samples: Mapping[str, Sequence[Sample]] = field(default_factory=dict)
    error: str | None = None
    error_kind: str | None = None
    failure: FailureClass | None = None
    started_at: float = 0.0
    duration_s: float = 0.0
    reattached: bool = False
    nodes_after: Mapping[Role, Node] | None = None


def to_files(completed: Sequence[Completed], outcome: Outcome, intent: Intent) -> dict[str, bytes]:
    """The raw files of a trial by name: ``0-stdout``, ``0-stderr``, ``0-file-NAME``,
    ``monitor.json`` and the description.
    """
    files: dict[str, bytes] = {}
    clients = []
    for number, one in enumerate(completed):
        files |= {f"{number}-stdout": one.stdout, f"{number}-stderr": one.stderr}
        files |= {_file_name(number, name): data for name, data in one.files.items()}
        clients.append(
            {
                "argv": list(one.argv),
                "exit_code": one.exit_code,
                "started_at": one.started_at,
                "duration_s": one.duration_s,
                "files": sorted(one.files),
            }
        )
    if outcome.samples:
        files[MONITOR] = _compact(
            {
                role: [[s.elapsed_s, dict(s.values)] for s in samples]
                for role, samples in outcome.samples.items()
            }
        )
    description = {
        "intent": encode(intent),
        "clients": clients,
        "started_at": outcome.started_at,
        "duration_s": outcome.duration_s,
        "error": outcome.error,
        "error_kind": outcome.error_kind,
        "reattached": outcome.reattached,
        "nodes_after": encode(outcome.nodes_after),
    }
    if outcome.failure is not None:
        description["failure"] = outcome.failure.value
    files[DESCRIPTION] = _compact(description)
    return files


def _file_name(number: int, name: str) -> str:
    """One raw file per fetched file: the directories of its name are joined to it by commas, which
    no name to fetch has.
    """
    return f"{number}-file-{name.replace('/', ',')}"


def _compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def from_files(files: Mapping[str, bytes]) -> tuple[Intent, Outcome] | None:
    """The inverse of :func:`to_files`. Raises IntegrityError: the files are not what was
    written.
    """
    if DESCRIPTION not in files:
        return None
    try:
        return _restored(files)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise IntegrityError(
            f"raw files of a trial without a record do not read: {error!r}",
            where=f"raw files {', '.join(sorted(files))}",
            remedy=(
                "restore the trial's directory from a copy, or remove it to measure the trial again"
            ),
        ) from error


def _restored(files: Mapping[str, bytes]) -> tuple[Intent, Outcome]:
    told = json.loads(files[DESCRIPTION])
    after = told.get("nodes_after")
    monitor = json.loads(files.get(MONITOR, b"{}"))
    completed = tuple(
        Completed(
            argv=tuple(client["argv"]),
            exit_code=client["exit_code"],
            stdout=files[f"{n}-stdout"],
            stderr=files[f"{n}-stderr"],
            started_at=client["started_at"],
            duration_s=client["duration_s"],
            files={name: files[_file_name(n, name)] for name in client["files"]},
        )
        for n, client in enumerate(told["clients"])
    )
    outcome = Outcome(
        completed=completed,
        samples={
            role: [Sample(elapsed_s=at, values=values) for at, values in samples]
            for role, samples in monitor.items()
        },
        error=told["error"],
        error_kind=told["error_kind"],
        failure=FailureClass(told["failure"]) if "failure" in told else None,
        started_at=told["started_at"],
        duration_s=told["duration_s"],
        reattached=told["reattached"],
        nodes_after=(
            None
            if after is None
            else {Role(role): decode(Node, node) for role, node in after.items()}
        ),
    )
    return decode(Intent, told["intent"]), outcome
