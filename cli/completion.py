"""``benchspec completion``."""

from __future__ import annotations

import click

from .app import VERBS


@click.command("completion", short_help=VERBS["completion"])
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL.

    For bash: `benchspec completion bash > ~/.local/share/bash-completion/completions/benchspec`.
    """
    from click.shell_completion import get_completion_class

    from .app import app

    kind = get_completion_class(shell)
    if kind is None:  # pragma: no cover - click knows the three shells above
        raise click.UsageError(f"no completion for {shell}")
    click.echo(kind(app, {}, "benchspec", "_BENCHSPEC_COMPLETE").source())
