"""``benchspec init``."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

import click

from .app import VERBS
from .terminal import echo


def template_names() -> list[str]:
    """The ready-made specs that ship with the program."""
    return sorted(entry.name.removesuffix(".yaml") for entry in files("benchspec.specs").iterdir() if entry.name.endswith(".yaml"))


@click.command("init", short_help=VERBS["init"])
@click.argument("template", default="quickstart")
@click.option("--out", "-o", type=click.Path(path_type=Path, dir_okay=False), help="The file to write.  [default: TEMPLATE.yaml]")
@click.option("--list", "list_", is_flag=True, help="List the templates there are.")
@click.option("--force", is_flag=True, help="Overwrite the file.")
def command(template: str, out: Path | None, list_: bool, force: bool) -> None:
    """Write TEMPLATE, a ready-made spec with comments, to start from, and the files it refers to beside it.

    It begins with the line that gives editors the schema.
    """
    import difflib

    from ..engine.errors import StorageError, UsageError

    names = template_names()
    if list_:
        for name in names:
            echo(name)
        return
    if template not in names:
        near = difflib.get_close_matches(template, names, 1)
        raise UsageError(f"there is no template {template!r}", remedy=f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(names)}")
    path = out or Path(f"{template}.yaml")
    text = (files("benchspec.specs") / f"{template}.yaml").read_text(encoding="utf-8")
    wanted = {path: text.encode()} | {path.parent / name: data for name, data in companions(text).items()}
    for file, data in wanted.items():
        if file.exists() and not force and (file == path or file.read_bytes() != data):
            raise UsageError("the file exists already", where=str(file), remedy="name another with -o, or give --force")
    for file, data in wanted.items():
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        except OSError as error:
            raise StorageError(f"cannot write: {error.strerror}", where=str(file), remedy="choose a directory you may write to") from error
        echo(file)


def companions(text: str) -> dict[str, bytes]:
    """The files that ship beside the templates and that ``text`` names, by their path relative to the spec."""
    with as_file(files("benchspec.specs")) as root:
        shipped = {str(p.relative_to(root)): p for p in sorted(root.rglob("*")) if p.is_file() and p.parent != root and "__pycache__" not in p.parts}
        return {name: p.read_bytes() for name, p in shipped.items() if name in text}
