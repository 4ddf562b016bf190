"""``benchspec plan``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .app import VERBS
from .options import DIRECTORY, SPEC_FILE, json_option, overrides_option, plan_options
from .output.documents import print_json
from .output.terminal import echo

CAPABILITIES = (
    "Show what the spec does beyond measuring, and so asks for, with the digest that --yes= takes."
)
RENDER = "Write every command and file that would be used into this directory."


@click.command("plan", short_help=VERBS["plan"])
@click.argument("spec", type=SPEC_FILE)
@overrides_option
@plan_options
@json_option("Print the whole plan as JSON.")
@click.option("--capabilities", is_flag=True, help=CAPABILITIES)
@click.option("--render", type=DIRECTORY, help=RENDER)
def command(
    spec: Path, as_json: bool, capabilities: bool, render: Path | None, **chosen: Any
) -> None:
    """Expand SPEC into experiments and show their order, the time and price they take, and which
    margins this many sessions cannot reach.

    Needs no network and executes nothing.
    """
    from ..api.planning import plan, render_plan
    from .output.plan import print_capabilities, print_plan

    planned = plan(spec, **chosen)
    if render is not None:
        echo(f"{render_plan(planned, render)} files written to {render}", err=True)
    if capabilities:
        print_capabilities(planned.capabilities(), as_json=as_json)
    elif as_json:
        print_json(planned.to_json())
    else:
        print_plan(planned)
