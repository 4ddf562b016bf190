"""Which of a hundred observed facts a reader is shown. The rest stays in the run directory and, but for what names a machine, in the JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from .model import Configuration, FactLine, FactRow, FactTable

PRIVATE = ("*.id", "*.uuid", "*.serial", "host.name", "*hostname*", "*.address", "*.addresses", "*machine_id", "*.instance", "ssh.*")
"""What names a machine: on no page and in no export."""
VOLATILE = (
    "host.uptime", "boot.*", "load.*", "memory.available", "disk.free", "disk.requests", "storage.free", "storage.requests", "cvm.report",
    "cpu.steal", "cpu.throttled", "clock.*", "time.*",
)  # fmt: skip
"""What differs from one moment to the next: not a property of a target."""
MAIN = (
    "cloud.*", "machine.type", "machine.product", "nodes.*", "node.*", "cpu.model", "cpu.count", "cpu.governor", "cpu.smt", "cpu.turbo",
    "memory.total", "os.name", "os.arch", "kernel.release", "virt.kind", "cvm.*", "path.mtu", "path.kind", "net.mtu", "net.speed", "net.link",
    "net.driver", "net.congestion_control", "cni.*", "mesh.*", "kubernetes.*", "storage.*", "disk.device", "disk.filesystem", "disk.scheduler",
    "disk.encryption", "disk.rotational", "tool.*",
)  # fmt: skip
"""What is shown of every target, whether it differs or not."""
UNKNOWN, UNSEEN = "unknown", "not observed"


def is_private(name: str) -> bool:
    """Whether the fact names a machine (``os.id`` does not)."""
    bare = name.rpartition("/")[2]
    return bare != "os.id" and _matches(bare, PRIVATE)


def is_steady(name: str) -> bool:
    """Whether the fact says what a target is, not how it was at one moment or which machine it was."""
    return not is_private(name) and not _matches(name.rpartition("/")[2], VOLATILE)


def compare_facts(configurations: Sequence[Configuration]) -> FactTable:
    """Facts side by side: the main ones, and every other one that differs or was declared otherwise. What is alike or unknown is named only."""
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
    return FactTable(targets=tuple(c.title for c in configurations), lines=tuple(lines), alike=tuple(alike), unknown=tuple(unknown))


def _words(row: FactRow | None) -> str:
    if row is None:
        return UNSEEN
    return f"{row.observed} (declared {row.declared})" if row.declared else row.observed


def _is_main(name: str) -> bool:
    return _matches(name.rpartition("/")[2].partition(" (")[0], MAIN)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
