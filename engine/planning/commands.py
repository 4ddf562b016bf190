"""What a command must be, whichever runner runs it."""

from __future__ import annotations

import re

from ..model.contract.values import Command
from ..model.errors import RunFailed

_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_command(command: Command) -> None:
    """Refuse what no kernel can run or what would let a secret out. Raises RunFailed."""
    where = command.argv[0] if command.argv else "command"
    if not command.argv or not command.argv[0]:
        raise RunFailed("found an empty command, expected a program", where=f"role {command.role}")
    if any(
        "\0" in text for text in (*command.argv, *command.env.values(), *command.secrets.values())
    ):
        raise RunFailed(
            "found a NUL byte in an argument or environment value; no program can receive one",
            where=where,
        )
    for name in (*command.env, *command.secrets):
        if _ENVIRONMENT_NAME.fullmatch(name) is None:
            raise RunFailed(
                f"found environment name {name!r}, expected letters, digits and '_'", where=where
            )
    if any(
        secret and secret in argument
        for secret in command.secrets.values()
        for argument in command.argv
    ):
        raise RunFailed(
            "a secret stands in an argument, where every user of the host can read it",
            where=where,
            remedy="let the program read it from its environment",
        )
