"""A checker of journals: no two workloads are ever measured on one node at the same time."""

from __future__ import annotations

from collections.abc import Sequence

from benchspec.engine.store.journal import Record


def overlaps(records: Sequence[Record]) -> list[tuple[int, int]]:
    """Pairs of trials, by their numbers, of which the second was started on a machine on which the
    first had no end yet.

    A controller that dies ends none of its trials; what it left is collected or given up by the
    next before that one starts any.
    """
    running: dict[int, frozenset[str]] = {}
    found = []
    for record in records:
        if record.type == "trial.started":
            sequence = record.data["slot"]["sequence"]
            machines = frozenset(
                node["identity"] or node["name"] for node in record.data["nodes"].values()
            )
            assert machines, "every trial says where it runs"
            found += [
                (other, sequence)
                for other, theirs in running.items()
                if theirs & machines and other != sequence
            ]
            running[sequence] = machines
        elif record.type in ("trial.finished", "trial.lost"):
            running.pop(record.data["sequence"], None)
    return found
