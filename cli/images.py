"""``benchspec images``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from .app import VERBS
from .options import DIRECTORY, SPEC_FILE
from .output.progress import choose_observer
from .output.terminal import echo

BUILDER = "The program that does it.  [default: the first of them that is there]"
PLATFORM = "For nodes of another architecture than this machine, such as linux/arm64."
FOLDER = "A folder with a Containerfile of your own, instead of the one that ships."
SPEC = "Write the digest into this spec, after a push. Repeatable."


@click.command("images", short_help=VERBS["images"])
@click.argument("action", type=click.Choice(["build", "push"]))
@click.argument("name")
@click.option("--builder", type=click.Choice(["buildah", "podman", "docker"]), help=BUILDER)
@click.option("--platform", help=PLATFORM)
@click.option("--folder", type=DIRECTORY, help=FOLDER)
@click.option("--spec", "specs", multiple=True, type=SPEC_FILE, help=SPEC)
def command(
    action: Literal["build", "push"],
    name: str,
    builder: str | None,
    platform: str | None,
    folder: Path | None,
    specs: tuple[Path, ...],
) -> None:
    """Build the image with the tools that pods on a cluster need, or push it as NAME to a registry
    that the nodes can pull from.

    `benchspec images build registry.mycompany.com/benchspec-tools:1`, then the same with `push` and
    `--spec SPEC`: the name with the digest is printed and written into the spec, in place of
    earlier ones and of what stands for it in the ready-made specs.
    """
    from ..api.tool_images import images

    with choose_observer(json_lines=False, quiet=True) as observer:
        made = images(
            action,
            name,
            builder=builder,
            folder=folder,
            platform=platform,
            specs=specs,
            observer=observer,
        )
    echo(made)
