"""Commands that no runner runs are refused, and the reason never repeats a secret."""

from __future__ import annotations

import pytest

from benchspec.engine.model.contract.values import Command
from benchspec.engine.model.errors import RunFailed
from benchspec.engine.model.spec import Role
from benchspec.engine.planning.commands import check_command


def command(
    *argv: str, env: dict[str, str] | None = None, secrets: dict[str, str] | None = None
) -> Command:
    return Command(argv=argv, role=Role.CLIENT, timeout_s=1.0, env=env or {}, secrets=secrets or {})


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (command(), "empty command"),
        (command(""), "empty command"),
        (command("fio", "a\0b"), "NUL byte"),
        (command("fio", env={"A": "a\0b"}), "NUL byte"),
        (command("fio", secrets={"A": "a\0b"}), "NUL byte"),
        (command("fio", env={"A B": "1"}), "environment name 'A B'"),
        (command("fio", env={"A=B": "1"}), "environment name 'A=B'"),
        (command("fio", secrets={"1A": "x"}), "environment name '1A'"),
        (
            command("curl", "--user=me:hunter2", secrets={"TOKEN": "hunter2"}),
            "a secret stands in an argument",
        ),
    ],
)
def test_what_cannot_run_or_would_tell_a_secret_is_refused(refused: Command, why: str) -> None:
    with pytest.raises(RunFailed, match=why) as caught:
        check_command(refused)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "accepted",
    [
        command("fio", "", "a b", "$HOME", "ü\n"),
        command("env", env={"_A1": ""}, secrets={"TOKEN": "hunter2"}),
        command("env", "--x", secrets={"EMPTY": ""}),
    ],
)
def test_odd_but_possible_commands_are_accepted(accepted: Command) -> None:
    check_command(accepted)
