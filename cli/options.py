"""Options several verbs share, and the loading they stand for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .terminal import echo

if TYPE_CHECKING:
    from ..engine.plan import Plan
    from ..engine.spec import LoadedSpec

F = TypeVar("F", bound=Callable[..., object])

_ACCEPT = "benchspec.accept-new-host-keys"

RUNS = Path("runs")
"""Where run directories are made and looked for."""


class Keep(StrEnum):
    """Whether a run leaves its targets standing."""

    ALWAYS = "always"
    FAILED = "failed"
    NEVER = "never"


SPEC_FILE = click.Path(path_type=Path, dir_okay=False)
DIRECTORY = click.Path(path_type=Path, file_okay=False)


def overrides_option(function: F) -> F:
    """``--set k=v``, repeatable."""
    text = "Replace a value of the spec, as in method.sessions=3; checked like the spec itself and recorded in the run. Repeatable."
    return click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help=text)(function)


def plan_options(function: F) -> F:
    """What selects and orders: ``--only``, ``--seed``, ``--max-experiments``."""
    function = click.option("--max-experiments", type=click.IntRange(min=1), default=10_000, show_default=True, help="Refuse a larger plan.")(
        function
    )
    function = click.option("--seed", type=click.IntRange(min=0), help="Order the blocks by this seed instead of method.seed.")(function)
    text = "Only experiments that match: target=aks, workload=storage, an axis (protocol=udp), an id, or a cell name with * and ?. Repeatable."
    return click.option("--only", multiple=True, metavar="SELECTOR", help=text)(function)


def keep_option(function: F) -> F:
    """``--keep``."""
    text = (
        "Leave the targets standing after the run: always, only if it failed (for a look at them), or never. What is kept is used by the next "
        "run, and taken down by `benchspec down`. What comes with every session (per: session) is always destroyed."
    )
    return click.option("--keep", type=click.Choice([keep.value for keep in Keep]), default=Keep.NEVER.value, show_default=True, help=text)(function)


def host_keys_option(function: F) -> F:
    """``--accept-new-host-keys``; :func:`accepts_new_host_keys` says whether it was given."""

    def remember(context: click.Context, _: click.Parameter, value: bool) -> None:
        context.meta[_ACCEPT] = value

    text = (
        "Connect over SSH to hosts whose key nobody vouches for, too. The key is told, recorded in the run and binding from then on; a host that "
        "shows another key than the known one is refused all the same."
    )
    return click.option("--accept-new-host-keys", is_flag=True, expose_value=False, callback=remember, help=text)(function)


def accepts_new_host_keys() -> bool:
    """Whether the verb that is carried out was given ``--accept-new-host-keys``."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_ACCEPT))


def load_and_plan(path: Path, overrides: tuple[str, ...], seed: int | None, only: tuple[str, ...], max_experiments: int) -> tuple[LoadedSpec, Plan]:
    """Load the spec at ``path`` and plan it. Raises SpecError and UsageError."""
    from ..engine.load import load_spec
    from ..engine.plan import plan
    from ..workloads.registry import WORKLOADS

    loaded = load_spec(path, overrides=overrides)
    return loaded, plan(loaded, WORKLOADS, seed=seed, only=only, max_experiments=max_experiments)


def print_json(value: Mapping[str, Any]) -> None:
    """One JSON document on stdout."""
    echo(json.dumps(value, indent=2, ensure_ascii=False))
