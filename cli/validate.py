"""``benchspec validate``."""

from __future__ import annotations

from pathlib import Path

import click

from .app import VERBS
from .options import SPEC_FILE, overrides_option
from .output.diagnostics import print_problems
from .output.terminal import echo


@click.command("validate", short_help=VERBS["validate"])
@click.argument("specs", nargs=-1, required=True, type=SPEC_FILE)
@overrides_option
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    show_default=True,
    help="How problems are printed.",
)
@click.option("--quiet", "-q", is_flag=True, help="Print problems only.")
def command(specs: tuple[Path, ...], overrides: tuple[str, ...], format_: str, quiet: bool) -> int:
    """Check SPECS against the schemas and the semantic rules. Executes nothing and needs no
    network.

    Problems are printed to stdout as `file:line:col [code] $.path: what was found, what was
    expected`. Exit code 2 if there is an error; warnings alone leave it 0. `benchspec explain
    BS101` explains a code.
    """
    from ..api.specs import validate
    from ..engine.language.diagnostic_formats import render
    from ..engine.model.diagnostics import Severity

    found = [diagnostic for path in specs for diagnostic in validate(path, overrides=overrides)]
    text = render(found, format_)
    if text and format_ == "text":
        print_problems(text)
    elif text:
        echo(text)
    errors = sum(diagnostic.severity is Severity.ERROR for diagnostic in found)
    if format_ == "text" and not quiet:
        warnings = len(found) - errors
        counts = (
            (len(specs), "spec", " checked: "),
            (errors, "error", ", "),
            (warnings, "warning", ""),
        )
        echo(
            "".join(
                f"{count} {what}{'' if count == 1 else 's'}{then}" for count, what, then in counts
            ),
            err=True,
        )
    return 2 if errors else 0
