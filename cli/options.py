"""Options several verbs share. They are called as the use cases call their arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from ..api.settings import MOST_EXPERIMENTS, Keep

F = TypeVar("F", bound=Callable[..., object])

SPEC_FILE = click.Path(path_type=Path, dir_okay=False)
DIRECTORY = click.Path(path_type=Path, file_okay=False)
RUN = click.Path(path_type=Path)
"""A run directory, or a bundle of one."""


def overrides_option(function: F) -> F:
    """``--set k=v``, repeatable."""
    text = (
        "Replace a value of the spec, as in method.sessions=3; checked like the spec itself and"
        " recorded in the run. Repeatable."
    )
    return click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help=text)(
        function
    )


def plan_options(function: F) -> F:
    """What selects and orders: ``--only``, ``--seed``, ``--max-experiments``."""
    function = click.option(
        "--max-experiments",
        type=click.IntRange(min=1),
        default=MOST_EXPERIMENTS,
        show_default=True,
        help="Refuse a larger plan.",
    )(function)
    function = click.option(
        "--seed",
        type=click.IntRange(min=0),
        help="Order the blocks by this seed instead of method.seed.",
    )(function)
    text = (
        "Only experiments that match: target=aks, workload=storage, an axis (protocol=udp), an id,"
        " or a cell name with * and ?. Repeatable."
    )
    return click.option("--only", multiple=True, metavar="SELECTOR", help=text)(function)


def keep_option(function: F) -> F:
    """``--keep``."""
    text = (
        "Leave the targets standing after the run: always, only if it failed (for a look at them),"
        " or never. What is kept is used by the next run, and taken down by `benchspec down`. What"
        " comes with every session (per: session) is always destroyed."
    )
    return click.option(
        "--keep",
        type=click.Choice([keep.value for keep in Keep]),
        default=Keep.NEVER.value,
        show_default=True,
        help=text,
    )(function)


def host_keys_option(function: F) -> F:
    """``--accept-new-host-keys``."""
    text = (
        "Connect over SSH to hosts whose key nobody vouches for, too. The key is told, recorded in"
        " the run and binding from then on; a host that shows another key than the known one is"
        " refused all the same."
    )
    return click.option("--accept-new-host-keys", is_flag=True, help=text)(function)


def measuring_options(function: F) -> F:
    """What is allowed while measuring, and what is asked of its end: ``--yes``, ``--allow-drift``,
    ``--install-tools``, ``--complete``.
    """
    function = click.option(
        "--complete",
        is_flag=True,
        help="End with exit code 10 also where experiments were skipped for a missing tool.",
    )(function)
    function = click.option(
        "--install-tools",
        is_flag=True,
        help="Install missing tools with the host's package manager, after saying which.",
    )(function)
    function = click.option(
        "--allow-drift",
        is_flag=True,
        help="Measure even where the spec's claims are contradicted; the page says so.",
    )(function)
    return yes_option("Agree to all that the spec asks for; --yes=sha256:... to that list alone.")(
        function
    )


def yes_option(text: str) -> Callable[[F], F]:
    """``--yes``: what the spec asks for is agreed to; ``--yes=sha256:DIGEST``: to this list alone.
    (The group makes ``--yes-to DIGEST`` of it: an option of click has a value or has none.)
    """

    def add(function: F) -> F:
        function = click.option(
            "--yes-to", hidden=True, callback=_read_digest, help="What --yes=DIGEST becomes."
        )(function)
        return click.option("--yes", "-y", is_flag=True, help=text)(function)

    return add


def _read_digest(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    if value is not None and not re.fullmatch(r"sha256:[0-9a-f]{64}", value):
        raise click.BadParameter(
            "found no digest, expected --yes=sha256: and 64 hex digits, as `benchspec plan"
            " --capabilities` prints them"
        )
    return value


def watching_options(text: str) -> Callable[[F], F]:
    """How progress is shown: ``--json-lines``, ``--quiet``, of which ``text`` says what is left."""

    def add(function: F) -> F:
        function = quiet_option(text)(function)
        lines = "Print events as JSON lines on stdout."
        return click.option("--json-lines", is_flag=True, help=lines)(function)

    return add


def quiet_option(text: str) -> Callable[[F], F]:
    """``--quiet``, of which ``text`` says what is left."""
    return click.option("--quiet", "-q", is_flag=True, help=text)


def json_option(text: str = "Print JSON.") -> Callable[[F], F]:
    """``--json``."""
    return click.option("--json", "as_json", is_flag=True, help=text)


def target_and_file(argument: str) -> tuple[str, Path]:
    """``TARGET=FILE`` in its two parts. Raises UsageError."""
    from ..engine.model.errors import UsageError

    target, equals, path = argument.partition("=")
    if not equals or not target or not path:
        raise UsageError(
            f"found {argument!r}, expected TARGET=FILE with a file that is there",
            remedy="write it as aks=aks.json",
        )
    return target, Path(path)
