"""What a code means, whichever table it stands in: diagnostics (BS...), findings (F...) and exit
codes (exit-...).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from ...model.exit_codes import EXIT_CODES
from ...model.findings import CODES

EXIT = "exit-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A title of a few words, and what it means and what to do. Diagnostics have a severity too."""

    title: str
    explanation: str
    severity: str = ""


def explain_code(name: str) -> tuple[Explanation | None, str]:
    """The explanation of the code ``name``, and the nearest code there is when that one is unknown
    (or nothing).
    """
    table = explanations()
    near = difflib.get_close_matches(name, table, n=1, cutoff=0.7)
    return table.get(name), near[0] if near else ""


def explanations() -> Mapping[str, Explanation]:
    """Every code there is, in order of its table."""
    from ..rules.catalogue import RULES

    table = {
        code: Explanation(
            title=rule.title, explanation=rule.explanation, severity=rule.severity.value
        )
        for code, rule in RULES.items()
    }
    table |= {
        code: Explanation(title=found.title, explanation=found.explanation)
        for code, found in CODES.items()
    }
    return table | {
        f"{EXIT}{code}": Explanation(title=found.title, explanation=found.explanation)
        for code, found in EXIT_CODES.items()
    }
