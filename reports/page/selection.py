"""Which of a hundred observed facts a reader is shown, as the schema of facts says. The rest stays
in the run directory and, but for what may not be published, in the JSON.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...engine.facts.catalogue import find_kind
from .model import Configuration, FactLine, FactRow, FactTable

UNKNOWN, UNSEEN = "unknown", "not observed"


def is_shown(name: str) -> bool:
    """Whether pages show the fact as a property of a target: it may be published, and it does not
    change from one moment to the next.
    """
    kind = find_kind(name)
    return kind is not None and not kind.private and not kind.moves


def compare_facts(configurations: Sequence[Configuration]) -> FactTable:
    """Facts side by side: the main ones, and every other one that differs or was declared
    otherwise. What is alike or unknown is named only.
    """
    targets = [{row.name: row for row in c.facts} for c in configurations]
    lines, alike, unknown = [], [], []
    for name in sorted({name for rows in targets for name in rows}):
        rows = [rows.get(name) for rows in targets]
        seen = {row.observed for row in rows if row}
        declared = any(row and row.declared for row in rows)
        if seen == {UNKNOWN} and not declared:
            unknown.append(name)
        elif declared or len(seen) > 1 or any(row is None for row in rows) or _is_main(name):
            lines.append(FactLine(name=name, values=tuple(map(_words, rows))))
        else:
            alike.append(name)
    return FactTable(
        targets=tuple(c.title for c in configurations),
        lines=tuple(lines),
        alike=tuple(alike),
        unknown=tuple(unknown),
    )


def _words(row: FactRow | None) -> str:
    if row is None:
        return UNSEEN
    return f"{row.observed} (declared {row.declared})" if row.declared else row.observed


def _is_main(name: str) -> bool:
    kind = find_kind(name.partition(" (")[0])  # a row may say where it was seen
    return kind is not None and kind.main
