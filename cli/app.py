"""The command group. Verbs are imported only when they run: ``--help`` costs no more than click
itself.

A verb's module imports click and its options alone. Its function imports the use case: the help of
a verb, and the completion of its options, do not wait for what only carrying it out needs.
"""

from __future__ import annotations

import importlib
from typing import cast

import click

from .. import __version__

VERBS: dict[str, str] = {
    "init": "Write a ready-made spec to start from.",
    "new": "Ask six questions and write a spec of your own.",
    "images": "Build the image with the tools that clusters need, or push it.",
    "validate": "Check specs against the schemas and rules; every problem at once, with its line.",
    "explain": "Explain a field of the spec, a diagnostic code or a finding.",
    "schema": "Print a JSON Schema, the very bytes validation uses.",
    "plan": "Show experiments, order, time, price and what the plan cannot show. Runs nothing.",
    "diff": "Show what a change of a spec means, and which results become incomparable.",
    "doctor": "Check tools, versions, disk and rights, and say what is missing.",
    "bench": "Measure commands on this host and say which is faster. No spec is needed.",
    "up": "Bring up the targets of a spec and leave them standing, for any number of runs.",
    "run": "Measure what a spec says and write the page.",
    "resume": "Go on with a run that was cut short.",
    "report": "Render a run's page, figures, JSON or CSV again, from its directory alone.",
    "compare": "Compare two runs, or one run against another baseline.",
    "list": "List the runs that were measured, with how they ended.",
    "show": "Show one run: how it ended, its findings and its verdicts.",
    "history": "Show how the results of a spec went on from run to run, and what changed.",
    "index": "Load run directories into the index that list and history read.",
    "bundle": "Write a run into one file, of the same bytes for the same run.",
    "verify": "Check every byte of a run directory or a bundle against its sum.",
    "rm": "Remove a run: its directory and its rows in the index.",
    "check-docs": "Check that generated regions of pages are neither edited nor stale.",
    "parse": "Read the raw output of a tool and print its measurements.",
    "import": "Make a run directory of results that other programs measured.",
    "migrate": "Rewrite a spec for the current version of the language.",
    "down": "Take down what `up` or `run --keep` left standing.",
    "clean": "Remove whatever a run, or all runs, left on their sites.",
    "rbac": "Print the Kubernetes rights that benchspec needs, as a manifest.",
    "completion": "Print the completion script for a shell.",
}
"""Verb to its line in ``--help``; each verb's module repeats it as its own short help (a test
compares them).
"""


def module_of(verb: str) -> str:
    """The module that has the command of ``verb``."""
    own = {"import": "import_results"}  # no module can have the name of a keyword
    return f"{__package__}.{own.get(verb, verb.replace('-', '_'))}"


class LazyGroup(click.Group):
    """A group that knows its verbs by name and imports a verb's module only to run it or to show
    its own help.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All verbs, in the order of work."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one verb."""
        if cmd_name not in VERBS:
            return None
        return cast(click.Command, importlib.import_module(module_of(cmd_name)).command)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, with ``--yes=DIGEST`` as an option that has a value."""
        end = args.index("--") if "--" in args else len(args)
        told = [
            f"--yes-to={arg.removeprefix('--yes=')}" if arg.startswith("--yes=") else arg
            for arg in args[:end]
        ]
        return super().parse_args(ctx, [*told, *args[end:]])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or say which one was probably meant."""
        name = args[0]
        if name not in VERBS and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, VERBS, 1)
            hint = f" Did you mean {near[0]!r}?" if near else " `benchspec --help` lists them."
            raise click.UsageError(f"There is no command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog=(
        "Exit codes: 0 ok, 1 bug, 2 spec or usage, 3 gate failed, 4 run failed, 5 drift, 6 locked,"
        " 7 not comparable, 8 inconclusive, 9 integrity, 10 incomplete."
    ),
)
@click.version_option(__version__, "-V", "--version", prog_name="benchspec")
def app() -> None:
    """Measure infrastructure from a YAML spec, and publish a page whose sentences its own data
    support.

    Start with `benchspec init quickstart`, then `benchspec run quickstart.yaml`.
    """
