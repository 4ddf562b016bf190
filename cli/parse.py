"""``benchspec parse``."""

from __future__ import annotations

import json
from typing import BinaryIO

import click

from .app import VERBS
from .options import json_option
from .output.measurements import print_measurements

PARAMETERS = "The workload's parameters, where the parser needs them (command: extract)."
_NO_GATES = "Print figures that the tool's own validity gates refuse as any others."


@click.command("parse", short_help=VERBS["parse"])
@click.argument("tool")
@click.argument("file", type=click.File("rb"))
@click.option("--with", "parameters", default="{}", metavar="JSON", help=PARAMETERS)
@click.option("--no-gates", is_flag=True, help=_NO_GATES)
@json_option()
def command(tool: str, file: BinaryIO, parameters: str, no_gates: bool, as_json: bool) -> None:
    """Read FILE (- for stdin), the raw output of TOOL, and print its measurements in base units (s,
    B, B/s, bit/s, 1/s, ratio).

    TOOL is that of a workload, or one that `import` reads besides.

    An output that holds no measurement is exit code 4 with the reason, never a number; one that the
    tool's own validity gates refuse is printed with the reason and exit code 3.
    """
    from ..api.tool_output import judge, origin
    from ..engine.model.errors import UsageError

    try:
        known = json.loads(parameters)
    except ValueError as error:
        raise UsageError(
            f"--with is no JSON: {error}", remedy='write it as --with \'{"key": "value"}\''
        ) from error
    data = file.read()
    output = judge(tool, data, known)
    reasons = () if no_gates else output.reasons
    print_measurements(tool, output, origin(tool, data), reasons, as_json=as_json)
