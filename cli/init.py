"""``benchspec init``."""

from __future__ import annotations

from pathlib import Path

import click

from .app import VERBS
from .output.progress import choose_observer
from .output.terminal import echo

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("init", short_help=VERBS["init"])
@click.argument("template", default="quickstart")
@click.option("--out", "-o", type=FILE, help="The file to write.  [default: TEMPLATE.yaml]")
@click.option("--list", "list_", is_flag=True, help="List the templates there are.")
@click.option("--force", is_flag=True, help="Overwrite the file.")
def command(template: str, out: Path | None, list_: bool, force: bool) -> None:
    """Write TEMPLATE, a ready-made spec with comments, to start from, and the files it refers to
    beside it.

    It begins with the line that gives editors the schema.
    """
    from ..api.shipped import init, template_names

    if list_:
        for name in template_names():
            echo(name)
        return
    with choose_observer(json_lines=False, quiet=True) as observer:
        init(template, out=out, force=force, observer=observer)
