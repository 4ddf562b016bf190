"""A command as a POSIX shell script: what `plan --render` shows, for people to read and shells to
run.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ..model.contract.values import Command, RenderedFile


def to_script(
    name: str,
    command: Command,
    remark: str,
    workdir: str | None,
    *,
    pinned: Sequence[str] = (),
    home: str = '"$HOME"',
) -> RenderedFile:
    """``command`` in the environment that a runner gives it.

    ``remark`` says where it runs and until when; ``pinned`` are the words that choose its CPUs;
    ``home`` is a word of the shell. Secrets are named and never written.
    """
    lines = ["#!/bin/sh", f"# {remark}"]
    if command.secrets:
        lines.append(
            "# secrets, handed over in the environment and never written:"
            f" {', '.join(sorted(command.secrets))}"
        )
    if command.fetch:
        lines.append(f"# fetched afterwards: {shlex.join(command.fetch)}")
    if workdir is not None:
        lines.append(f"cd {shlex.quote(workdir)} || exit")
    settings = ['PATH="$PATH"', f"HOME={home}", "LC_ALL=C"]
    settings += [f"{key}={shlex.quote(value)}" for key, value in sorted(command.env.items())]
    settings += [f'{key}="${key}"' for key in sorted(command.secrets)]
    lines.append(f"exec env -i {' '.join(settings)} \\\n  {shlex.join((*pinned, *command.argv))}")
    return RenderedFile(
        name=name, data=("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")
    )
