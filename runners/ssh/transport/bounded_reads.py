"""Reading files whose names come from a spec: keys, known hosts and configurations are small and
regular, or they are not what they are taken for.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

LARGEST = 16 * 1024 * 1024
"""Bytes; known_hosts of a large site has thousands of lines."""


def read_small(path: Path) -> bytes:
    """The bytes of ``path``. A spec that names a device or a pipe must not make us read for ever;
    /dev/null is empty.

    Raises:
        OSError: it cannot be read, is no regular file, or is too large.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) and str(path) != os.devnull:
            raise OSError(0, "it is no regular file", str(path))
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise OSError(0, f"it is larger than {LARGEST >> 20} MiB", str(path))
    return data
