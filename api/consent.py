"""What a spec does beyond measuring is done only with consent, which a run's owner gives once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import overload

from ..engine.capabilities.model import Capability, digest, ordered
from ..engine.model.errors import UsageError
from ..engine.store.directory import RunDirectory
from ..engine.store.own_runs import is_own


class Asked(Sequence[str]):
    """The capabilities that are asked for: one line each, the worst first."""

    def __init__(self, capabilities: Iterable[Capability]) -> None:
        self.capabilities = ordered(capabilities)
        self._lines = tuple(map(str, self.capabilities))

    @property
    def digest(self) -> str:
        """``sha256:`` and the sum of exactly this list."""
        return digest(self.capabilities)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...

    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return self._lines[index]

    def __len__(self) -> int:
        return len(self._lines)


Consent = Callable[[Asked], bool]
"""Is given what is asked for, one line for each capability. Returns whether that is agreed to.
Without one nothing of a spec is executed, destroyed, sent or taken.
"""


def require_consent(asked: Asked, consent: Consent | None) -> None:
    """Ask for consent to what is ``asked``; to nothing nobody need agree.

    Raises:
        UsageError: nobody agreed. Its notes are the lines.
    """
    if not asked or (consent is not None and consent(asked)):
        return
    error = UsageError(
        "the spec does more than measure, and nobody agreed to it",
        remedy="read what it asks for, then pass consent=, a function that gets these lines and"
        " returns True",
    )
    for line in asked:
        error.add_note(line)
    raise error


def require_consent_again(directory: RunDirectory, asked: Asked, consent: Consent | None) -> None:
    """As :func:`require_consent`, for a run that is gone on with, taken down or cleaned: one that
    this user made stays within what was agreed to then, and is not asked for again.
    """
    if not is_own(directory):
        require_consent(asked, consent)
