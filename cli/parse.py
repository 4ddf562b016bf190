"""``benchspec parse``."""

from __future__ import annotations

from typing import BinaryIO

import click

from .app import VERBS
from .options import print_json
from .terminal import echo


@click.command("parse", short_help=VERBS["parse"])
@click.argument("tool")
@click.argument("file", type=click.File("rb"))
@click.option("--with", "parameters", default="{}", metavar="JSON", help="The workload's parameters, where the parser needs them (command: extract).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(tool: str, file: BinaryIO, parameters: str, as_json: bool) -> None:
    """Read FILE (- for stdin), the raw output of TOOL, and print its measurements in base units (s, B, B/s, bit/s, 1/s, ratio).

    TOOL is that of a workload, or kubestr (its -o json) or knb (its JSON, .knbdata or text).

    An output that holds no measurement is exit code 4 with the reason, never a number.
    """
    import json

    from ..engine.errors import UsageError
    from ..workloads.registry import parse_output

    try:
        known = json.loads(parameters)
    except ValueError as error:
        raise UsageError(f"--with is no JSON: {error}", remedy='write it as --with \'{"key": "value"}\'') from error
    measurements = parse_output(tool, file.read(), known)
    if as_json:
        rows = [{"metric": m.metric, "value": m.value, "unit": m.unit, "labels": dict(m.labels)} for m in measurements]
        print_json({"tool": tool, "measurements": rows})
        return
    for m in measurements:
        echo(f"{m.series}\t{m.value!r}\t{m.unit}")
