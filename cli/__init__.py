"""Command line: one module per verb. Parse options, call the use case of api/, print, exit code;
nothing else knows click or rich.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from ..engine.model.errors import BenchspecError

ISSUES = "https://github.com/benchspec/benchspec/issues"


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the ``benchspec`` program. Always ends in SystemExit with a documented exit
    code.
    """
    sys.exit(run_line(arguments))


def run_line(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; every error ends up on stderr here. Not called
    ``run``: that is a verb's module.
    """
    import click

    from .app import app
    from .output.diagnostics import print_problems
    from .output.terminal import echo

    try:
        result = app.main(
            args=None if arguments is None else list(arguments),
            prog_name="benchspec",
            standalone_mode=False,
        )
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        error.show()
        return 2
    except click.Abort:
        echo("stopped", err=True)
        return 130
    except BrokenPipeError:  # the reader of a pipe has gone: that is its right
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except BenchspecError as error:
        for note in getattr(error, "__notes__", ()):
            echo(note, err=True)
        print_problems(f"error: {error}", err=True)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except Exception:
        _report_bug()
        return 1


def _report_bug() -> None:
    import traceback

    from .. import __version__

    traceback.print_exc()
    print(
        f"\nThis is a bug in benchspec {__version__}. Please report it with the lines above and the"
        f" spec: {ISSUES}",
        file=sys.stderr,
    )
