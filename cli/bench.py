"""``benchspec bench``."""

from __future__ import annotations

import click

from .app import VERBS
from .options import DIRECTORY, SPEC_FILE, watching_options
from .output.progress import choose_observer

SWEEP = "Values that stand for {NAME} in the commands, as in n=1,2,4. Repeatable."
METRIC = (
    "A figure of the output, as in 'rate=/([0-9.]+) requests/1/s/higher'; the first carries the"
    " verdict instead of the time. Repeatable."
)
SESSIONS = "Rounds in which each command is measured once, in random order; a verdict needs 5."
NAME = "What a command is called on pages; once for each, in their order."
FAILURE = "A command may end with any exit code, which is then a metric."


@click.command("bench", short_help=VERBS["bench"])
@click.argument("commands", nargs=-1, required=True)
@click.option("--sweep", multiple=True, metavar="NAME=VALUES", help=SWEEP)
@click.option("--metric", "metrics", multiple=True, metavar="NAME=/REGEX/UNIT", help=METRIC)
@click.option(
    "--sessions", type=click.IntRange(1, 10_000), default=7, show_default=True, help=SESSIONS
)
@click.option("--name", "-n", "names", multiple=True, help=NAME)
@click.option("--ignore-failure", "-i", is_flag=True, help=FAILURE)
@click.option("--save", type=SPEC_FILE, help="Write the spec that is used to this file.")
@click.option("--out", type=DIRECTORY, help="The run directory to make.  [default: runs/NAME-TIME]")
@watching_options("Print the page's path only.")
def command(
    commands: tuple[str, ...],
    sweep: tuple[str, ...],
    metrics: tuple[str, ...],
    json_lines: bool,
    quiet: bool,
    **chosen: object,
) -> None:
    """Measure COMMANDS on this host and compare each with the first: time, CPU time, peak memory.

    A shell reads each, in the working directory, with your PATH and HOME and no other variable.
    What is measured is kept like every run: `benchspec report` shows it again, `--save` gives the
    spec, which says everything that can be changed.
    """
    from ..api.one_line import bench, read_metric, read_sweep

    with choose_observer(json_lines=json_lines, quiet=quiet) as observer:
        bench(
            *commands,
            sweep=dict(map(read_sweep, sweep)),
            metrics=dict(map(read_metric, metrics)),
            observer=observer,
            **chosen,  # type: ignore[arg-type]
        )
