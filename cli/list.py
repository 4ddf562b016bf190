"""``benchspec list``."""

from __future__ import annotations

import click

from .app import VERBS
from .options import json_option


@click.command("list", short_help=VERBS["list"])
@click.argument("spec", metavar="[NAME]", required=False)
@json_option()
def command(spec: str | None, as_json: bool) -> None:
    """List the runs that the index has, in the order of time; with NAME those of the spec of this
    name.

    A run that ends is put into the index, in the user's state directory or where BENCHSPEC_STORE
    says. `benchspec index` loads run directories that are there.
    """
    from ..api.past_runs import list_
    from .output.documents import print_json
    from .output.history import show_list

    found = list_(spec)
    if as_json:
        print_json(found.to_json())
    else:
        show_list(found)
