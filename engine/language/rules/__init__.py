"""Semantic rules: what a schema cannot say, because it is about several places of a spec or about
the world.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from itertools import islice
from pathlib import Path

from ...model.diagnostics import Problem
from ...model.spec import Json
from . import (
    axes,
    claims,
    images,
    lifecycles,
    limits,
    methods,
    patterns,
    secrets,
    sweeps,
    unknown_names,
    workloads,
    written_files,
)
from .catalogue import RULES, Rule
from .view import Check, View

MOST_PER_CHECK = 200

CHECKS: tuple[Check, ...] = (
    *unknown_names.CHECKS,
    *lifecycles.CHECKS,
    *patterns.CHECKS,
    *claims.CHECKS,
    *limits.CHECKS,
    *axes.CHECKS,
    *workloads.CHECKS,
    *written_files.CHECKS,
    *images.CHECKS,
    *sweeps.CHECKS,
    *methods.CHECKS,
    *secrets.CHECKS,
)
"""Every check; each yields problems of one or more codes."""

__all__ = ["CHECKS", "RULES", "Rule", "check_rules"]


def check_rules(
    document: Mapping[str, Json], folder: Path | None, today: date
) -> Iterator[Problem]:
    """Everything the rules find in ``document``, which was read from ``folder`` and may be wrong in
    any way.
    """
    view = View(document, folder, today)
    too_many = tuple(axes.sizes(view))
    yield from too_many
    for check in CHECKS if not too_many else ():
        yield from islice(check(view), MOST_PER_CHECK)
