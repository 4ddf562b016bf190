"""Questions asked on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from ...engine.model.errors import UsageError

if TYPE_CHECKING:
    from ...api.new_spec import Answers, Question


def asker() -> Callable[[Question, Answers], str] | None:
    """Asks on the terminal, again where an answer is none; None where there is no terminal."""
    if not sys.stdin.isatty():
        return None

    def ask(question: Question, before: Answers) -> str:
        while True:
            found = click.prompt(
                question.text(before),
                default=question.default(before),
                type=click.Choice(question.choices) if question.choices else str,
                err=True,
            )
            try:
                return question.check(found, before)
            except UsageError as error:
                click.echo(str(error), err=True)

    return ask
