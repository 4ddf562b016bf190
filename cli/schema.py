"""``benchspec schema``."""

from __future__ import annotations

import click

from .app import VERBS


@click.command("schema", short_help=VERBS["schema"])
@click.argument("kind", default="benchmark")
@click.option("--list", "list_", is_flag=True, help="List the kinds there are.")
def command(kind: str, list_: bool) -> None:
    """Print the JSON Schema (draft 2020-12) of KIND: benchmark, a workload's tool, a runner, or
    what a run stores.

    Tools and runners are named as in a spec: `benchspec schema fio`, `benchspec schema local`. A
    run stores its manifest, its plan, trial (the trial.json beside raw output) and its journal,
    whose schema is that of one line.
    """
    from ..api.shipped import schema, schema_kinds

    if list_:
        for name in schema_kinds():
            click.echo(name)
        return
    click.echo(schema(kind), nl=False)
