"""What ships with the program: ready-made specs and schemas."""

from __future__ import annotations

import difflib
from importlib.resources import as_file, files
from pathlib import Path

from ..engine.control.events import Observer
from ..engine.language.schema.registry import read_schema_bytes, schema_names
from ..engine.model.errors import StorageError, UsageError
from .notices import WRITTEN, tell
from .settings import File


def template_names() -> list[str]:
    """The ready-made specs, sorted."""
    return sorted(
        entry.name.removesuffix(".yaml")
        for entry in files("benchspec.specs").iterdir()
        if entry.name.endswith(".yaml")
    )


def init(
    template: str = "quickstart",
    *,
    out: File | None = None,
    force: bool = False,
    observer: Observer | None = None,
) -> tuple[Path, ...]:
    """Write a ready-made spec to ``out`` (None: TEMPLATE.yaml), and the files it refers to beside
    it; return what was written, the spec first.

    Raises:
        UsageError: there is no such template, or a file exists already and not ``force``.
        StorageError: it cannot be written.
    """
    names = template_names()
    if template not in names:
        near = difflib.get_close_matches(template, names, 1)
        raise UsageError(
            f"there is no template {template!r}",
            remedy=f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(names)}",
        )
    path = Path(f"{template}.yaml") if out is None else Path(out)
    text = (files("benchspec.specs") / f"{template}.yaml").read_text(encoding="utf-8")
    beside = {path.parent / name: data for name, data in companions(text).items()}
    wanted = {path: text.encode()} | beside
    for file, data in wanted.items():
        if file.exists() and not force and (file == path or file.read_bytes() != data):
            raise UsageError(
                "the file exists already",
                where=str(file),
                remedy="name another with -o, or give --force",
            )
    for file, data in wanted.items():
        write(file, data)
        tell(observer, WRITTEN, str(file))
    return tuple(wanted)


def write(file: Path, data: bytes) -> None:
    """Write ``file``, and the folders it is in. Raises StorageError."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    except OSError as error:
        raise StorageError(
            f"cannot write: {error.strerror}",
            where=str(file),
            remedy="choose a directory you may write to",
        ) from error


def companions(text: str) -> dict[str, bytes]:
    """The files that ship beside the templates and that ``text`` names, by their path relative to
    the spec.
    """
    with as_file(files("benchspec.specs")) as root:
        shipped = {
            str(p.relative_to(root)): p
            for p in sorted(root.rglob("*"))
            if p.is_file() and p.parent != root and "__pycache__" not in p.parts
        }
        return {name: p.read_bytes() for name, p in shipped.items() if name in text}


def schema(kind: str = "benchmark") -> bytes:
    """The JSON Schema (draft 2020-12) of ``kind``: ``benchmark``, a tool, a runner, or what a run
    stores; the very bytes validation uses. Raises UsageError when there is none.
    """
    return read_schema_bytes(kind)


def schema_kinds() -> tuple[str, ...]:
    """Every kind that :func:`schema` knows."""
    return schema_names()
