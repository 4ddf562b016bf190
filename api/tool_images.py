"""The tool image of clusters: built from the Containerfile that ships, pushed to a registry of the
user's, and written by its digest into specs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Literal

from ..engine.control.events import Observer
from ..engine.model.errors import MissingTool, RunFailed, StorageError, UsageError
from ..engine.model.text.image_names import is_pinned, is_stand_in, read_image_name
from .notices import BUILDING, WRITTEN, tell
from .settings import File

BUILDERS = ("buildah", "podman", "docker")
"""Programs that build and push images, the first that is there first."""

_LAST_WORDS = 600
_NAMED = re.compile(r"""(?P<key>\bimage:[ \t]*["']?)(?P<name>[^\s"',{}\[\]#$]+)""")


def images(
    action: Literal["build", "push"],
    name: str,
    *,
    builder: str | None = None,
    folder: File | None = None,
    platform: str | None = None,
    specs: Sequence[File] = (),
    observer: Observer | None = None,
) -> str:
    """Build the tool image as ``name``, or push it; return its name, after a push with its digest.

    ``builder``: one of BUILDERS (None: the first that is there). ``folder``: one with a
    Containerfile of your own. ``platform``: such as linux/arm64, where nodes are of another
    architecture than this machine. ``specs``: where a push writes the digest, in place of the image
    of that repository, or of the one that stands for it in the ready-made specs.

    Raises:
        UsageError: the name is none to build or push, or a spec names no such image.
        MissingTool: none of the builders is there.
        RunFailed: the builder failed; the message has its last words.
        StorageError: a spec cannot be written.
    """
    if is_pinned(name) or is_stand_in(name):
        raise UsageError(
            f"found the image {name!r}, expected one of a registry of yours, without a digest",
            remedy="name it like registry.mycompany.com/benchspec-tools:1",
        )
    program = _builder(builder)
    if action == "build":
        tell(observer, BUILDING, f"{program} builds {name}, which takes some minutes")
        _build(program, name, folder, platform)
        return name
    wanted = [_rewritten(Path(spec), name) for spec in specs]
    tell(observer, BUILDING, f"{program} pushes {name}")
    pushed = f"{name}@{_push(program, name)}"
    for path, text, old in wanted:
        _write(path, _replaced(text, old, pushed))
        tell(observer, WRITTEN, str(path))
    return pushed


def _builder(asked: str | None) -> str:
    for program in BUILDERS if asked is None else (asked,):
        if shutil.which(program) is not None:
            return program
    raise MissingTool(
        f"found no {asked or ', '.join(BUILDERS)} on this machine",
        remedy="install one of them, such as Debian's package buildah",
    )


def _build(program: str, name: str, folder: File | None, platform: str | None) -> None:
    with as_file(files("benchspec") / "images") as shipped:
        place = shipped if folder is None else Path(folder)
        other = ("--platform", platform) if platform else ()
        _run((program, "build", *other, "-t", name, "-f", str(place / "Containerfile"), str(place)))


def _push(program: str, name: str) -> str:
    """The digest under which the registry has it."""
    if program == "docker":
        _run((program, "push", name))
        said = _run((program, "image", "inspect", "--format", "{{json .RepoDigests}}", name))
        repository = read_image_name(name).repository
        known = [str(one) for one in json.loads(said) or []]
        found = [one.partition("@")[2] for one in known if one.startswith(f"{repository}@")]
        return found[-1]
    with tempfile.TemporaryDirectory(prefix="benchspec-") as place:
        told = Path(place) / "digest"
        _run((program, "push", "--digestfile", str(told), name))
        return told.read_text("ascii").strip()


def _run(argv: tuple[str, ...]) -> str:
    done = subprocess.run(argv, capture_output=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[-_LAST_WORDS:]
        login = f"log in with `{argv[0]} login REGISTRY`, and see that the repository exists"
        raise RunFailed(
            f"{argv[0]} {argv[1]} ended with {done.returncode}: {said or 'it said nothing'}",
            remedy=login if argv[1] == "push" else "see what it says",
        )
    return done.stdout.decode("utf-8", "replace")


def _rewritten(path: Path, name: str) -> tuple[Path, str, frozenset[str]]:
    """A spec's text with the images in it that ``name`` takes the place of."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the spec: {error}", where=str(path)) from error
    repository = read_image_name(name).repository
    named = {found["name"] for found in _NAMED.finditer(text)}
    old = {
        one for one in named if is_stand_in(one) or read_image_name(one).repository == repository
    }
    if not old:
        raise UsageError(
            f"found no image of {repository}, and none that stands for one",
            where=str(path),
            remedy=f"write `image: {name}` where the cluster is described, and push again",
        )
    return path, text, frozenset(old)


def _replaced(text: str, old: frozenset[str], new: str) -> str:
    def written(found: re.Match[str]) -> str:
        return found["key"] + (new if found["name"] in old else found["name"])

    return _NAMED.sub(written, text)


def _write(path: Path, text: str) -> None:
    try:
        aside = path.with_name(f".{path.name}.new")
        aside.write_text(text, "utf-8")
        shutil.copymode(path, aside)
        os.replace(aside, path)
    except OSError as error:
        raise StorageError(f"cannot write: {error.strerror}", where=str(path)) from error
