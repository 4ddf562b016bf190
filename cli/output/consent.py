"""Asking for consent to what a spec does beyond measuring."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...engine.model.errors import UsageError
from .terminal import echo

if TYPE_CHECKING:
    from ...api.consent import Asked, Consent


def ask(*, yes: bool, yes_to: str | None = None, spec: Path | None = None) -> Consent:
    """A consent that shows what is asked for and asks, unless ``yes``, or ``yes_to`` is the digest
    of exactly this list, or the user agreed to it before for ``spec``. It raises UsageError when
    there is no terminal to ask on, and click.Abort when the user says no.
    """

    def consent(asked: Asked) -> bool:
        from ...engine.store.own_runs import has_consent, remember_consent

        bound = yes or yes_to is not None
        if not bound and spec is not None and has_consent(spec, asked.digest):
            return True
        show(asked)
        if yes_to is not None and yes_to != asked.digest:
            raise UsageError(
                f"found {asked.digest}, expected {yes_to}: the spec asks for something else than"
                " what was agreed to",
                remedy="read the list above; if it is meant, agree to it with its own digest",
            )
        if not bound and not sys.stdin.isatty():
            raise UsageError(
                "the spec does more than measure, and there is no terminal to ask on",
                remedy=(
                    "read the list above, then run again with --yes, or with"
                    f" --yes={asked.digest}, which agrees to exactly this list"
                ),
            )
        agreed = bound or click.confirm("Agree to all of this?", abort=True, err=True)
        if agreed and spec is not None:
            remember_consent(spec, asked.digest)
        return agreed

    return consent


def show(asked: Asked) -> None:
    """Print the list on stderr, grouped by what can go wrong."""
    from ...engine.capabilities.model import to_lines

    for line in to_lines(asked.capabilities):
        echo(line, err=True)
