"""Names and labels of the objects benchspec makes. Ids may hold what an object's name must not (RFC
1123), so names carry a hash of them too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
"""An object of the API as its JSON."""

GROUP = "benchspec.dev"
MANAGED_BY = {"app.kubernetes.io/managed-by": "benchspec"}
RUN, SITE, ALLOCATION, ROLE = (f"{GROUP}/{word}" for word in ("run", "site", "allocation", "role"))
_UNFIT = re.compile(r"[^a-z0-9]+")
_UNFIT_LABEL = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST, _READABLE = 63, 24


def digest(*parts: str) -> str:
    """Ten hex digits that stand for ``parts``."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]


def object_name(role: str, *parts: str) -> str:
    """A DNS label that people can read (the last of ``parts`` says most) and that no other
    ``parts`` share; short enough for suffixes.
    """
    readable = _UNFIT.sub("-", parts[-1].lower())[-_READABLE:].strip("-")
    return "-".join(filter(None, ("bs", role, readable, digest(role, *parts))))


def label_value(text: str) -> str:
    """``text`` as a label's value: itself where that is possible, else shortened and with a
    hash.
    """
    fit = _UNFIT_LABEL.sub("-", text).strip("-._")
    return (
        text
        if fit == text and len(text) <= _LONGEST
        else f"{fit[: _LONGEST - 11].strip('-._')}-{digest(text)}".lstrip("-")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """Whose an object is: the run and the site, and what the site's author adds."""

    run_id: str
    site: str
    extra: Mapping[str, str]

    def labels(self, allocation_id: str | None = None, role: str | None = None) -> dict[str, str]:
        """The labels by which an object is found again."""
        found = {**{key: label_value(value) for key, value in self.extra.items()}, **MANAGED_BY}
        found |= {RUN: label_value(self.run_id), SITE: label_value(self.site)}
        if allocation_id is not None:
            found[ALLOCATION] = label_value(allocation_id)
        if role is not None:
            found[ROLE] = role
        return found

    def selector(self, allocation_id: str | None = None) -> str:
        """What lists the run's objects on the site, or those of one allocation."""
        wanted = {**MANAGED_BY, RUN: label_value(self.run_id), SITE: label_value(self.site)}
        if allocation_id is not None:
            wanted[ALLOCATION] = label_value(allocation_id)
        return ",".join(f"{key}={value}" for key, value in wanted.items())
