"""Which run directories this user's benchspec made, so that what was agreed to when a run was made
is not asked for again.

A note for each run lies in the user's state directory, where no run directory of a stranger can
put one: the sum of its manifest, which has the sums of spec, plan and scripts.
``$XDG_STATE_HOME/benchspec-user`` or ``~/.local/state/benchspec-user``; jobs of this host have
a folder of their own
(https://specifications.freedesktop.org/basedir-spec/).
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from .directory import RunDirectory
from .manifest import MANIFEST

_RUNS, _CONSENTS = "runs", "consents"


def state_folder() -> Path:
    """Where the user's benchspec keeps what outlives a run."""
    given = os.environ.get("XDG_STATE_HOME", "")
    base = Path(given) if os.path.isabs(given) else Path("~/.local/state").expanduser()
    return base / "benchspec-user"


def note_own(directory: RunDirectory) -> None:
    """Note that this user made ``directory``. Without a state directory that can be written the
    run is asked for again when it goes on.
    """
    _keep(_note(directory), _manifest_sum(directory))


def is_own(directory: RunDirectory) -> bool:
    """Whether this user made ``directory``, and its manifest is still the one it was made with."""
    return _kept(_note(directory)) == _manifest_sum(directory)


def remember_consent(spec: Path, digest: str) -> None:
    """Remember that the user agreed to the list with this ``digest`` for the spec at this path."""
    _keep(_consent(spec), digest)


def has_consent(spec: Path, digest: str) -> bool:
    """Whether the user agreed to exactly this list for the spec at this path before."""
    return _kept(_consent(spec)) == digest


def _note(directory: RunDirectory) -> Path:
    return state_folder() / _RUNS / hashlib.sha256(directory.run_id.encode()).hexdigest()


def _consent(spec: Path) -> Path:
    return state_folder() / _CONSENTS / hashlib.sha256(os.fsencode(spec.resolve())).hexdigest()


def _manifest_sum(directory: RunDirectory) -> str:
    return hashlib.sha256((directory.path / MANIFEST).read_bytes()).hexdigest()


def _keep(path: Path, text: str) -> None:
    try:
        state_folder().parent.mkdir(parents=True, exist_ok=True)
        for folder in (state_folder(), path.parent):
            folder.mkdir(mode=0o700, exist_ok=True)
        aside = path.with_name(f".{path.name}.{os.getpid()}")
        with open(aside, "w", opener=_private) as file:
            file.write(text)
        aside.replace(path)
    except OSError:  # a home that cannot be written: asked again
        return


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _kept(path: Path) -> str | None:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return None
