"""Which trials had which nodes when, by the journals of one or several runs, and whether two of
them ever had one at the same time. Pure.

No two trials may: what a trial's own roles share is for the spec to say (``placement``), and what
others do on its nodes is in its figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...model.codec import decode
from ...model.results import Trial
from ...store.journal import Record
from ...store.records import FINISHED, STARTED
from ..trial_result import Intent


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupation:
    """One trial on one node, from ``began_at`` to ``ended_at`` (Unix s). ``node`` is the machine's
    identity where it is known, else its name.
    """

    run_id: str
    sequence: int
    experiment_id: str
    node: str
    identified: bool
    began_at: float
    ended_at: float

    def __str__(self) -> str:
        return f"trial {self.sequence} of {self.run_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Two trials that had one node at the same time."""

    first: Occupation
    second: Occupation

    def __str__(self) -> str:
        shared_s = min(self.first.ended_at, self.second.ended_at) - self.second.began_at
        return f"{self.first} and {self.second} shared node {self.first.node} for {shared_s:.3f} s"


def occupations(run_id: str, records: Sequence[Record]) -> list[Occupation]:
    """What the trials of one run occupied, by its journal: every trial that ended, valid or not, on
    every node it was seen on.
    """
    identities: dict[tuple[int, str], str] = {}
    found = []
    for record in records:
        if record.type == STARTED:
            intent = decode(Intent, record.data)
            known = {
                (intent.slot.sequence, node.name): node.identity
                for node in intent.nodes.values()
                if node.identity is not None
            }
            identities |= known
        elif record.type == FINISHED:
            trial = decode(Trial, record.data)
            found += [
                Occupation(
                    run_id=run_id,
                    sequence=trial.sequence,
                    experiment_id=trial.experiment_id,
                    node=identities.get((trial.sequence, name), name),
                    identified=(trial.sequence, name) in identities,
                    began_at=trial.started_at,
                    ended_at=trial.started_at + trial.duration_s,
                )
                for name in sorted(set(trial.nodes.values()))
            ]
    return found


def overlaps(occupied: Iterable[Occupation]) -> list[Overlap]:
    """All pairs of different trials that had one node at one time, by node and time; one that
    begins when another ends does not share with it.

    Nodes of two runs are one only if their identity says so: many machines are called
    ``localhost``.
    """
    found: list[Overlap] = []
    present: list[Occupation] = []
    for one in sorted(occupied, key=lambda each: (each.node, each.began_at)):
        present = [
            other for other in present if other.node == one.node and other.ended_at > one.began_at
        ]
        found += [
            Overlap(first=other, second=one)
            for other in present
            if _are_two_on_one_node(other, one)
        ]
        present.append(one)
    return found


def _are_two_on_one_node(one: Occupation, other: Occupation) -> bool:
    """Of two that were on nodes called the same."""
    return (
        one.sequence != other.sequence
        if one.run_id == other.run_id
        else one.identified and other.identified
    )
