"""Reading files of a run directory that anybody may have put there: a FIFO or a device neither
blocks the reader nor is read without end.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ..model.errors import IntegrityError


def read_regular(path: Path) -> bytes:
    """The bytes of the regular file at ``path``.

    Raises:
        IntegrityError: a FIFO, a device, a socket or a directory stands there.
        OSError: it cannot be read.
    """
    if not stat.S_ISREG(path.stat().st_mode):  # some devices act when they are opened
        raise _not_regular(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with open(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # exchanged since it was looked at
            raise _not_regular(path)
        return stream.read()


def _not_regular(path: Path) -> IntegrityError:
    return IntegrityError(
        "found no regular file", where=str(path), remedy="restore the file from a copy"
    )
