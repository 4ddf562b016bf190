"""How often seeded random cases are tried: a share in the suite, all of them by `tox -e whole`."""

from __future__ import annotations

import os


def repeats(name: str, share: int, *, whole: int) -> int:
    """A number of cases: ``whole`` with BENCHSPEC_WHOLE=1, else ``share``; BENCHSPEC_<name> says
    another.
    """
    given = os.environ.get(f"BENCHSPEC_{name}")
    return int(given) if given else whole if os.environ.get("BENCHSPEC_WHOLE") == "1" else share
