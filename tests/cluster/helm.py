"""Helm for tests of charts: built from its Go module, once, in some three minutes of CPU time,
unless there is a ``helm`` already.

``python -m tests.cluster.helm`` prints where it is.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from pathlib import Path

from . import binaries
from .layout import HERE


def program() -> Path:
    """The program, made if it is not there yet. Raises CalledProcessError."""
    if (found := shutil.which("helm")) is not None:
        return Path(found)
    digest = hashlib.sha256(
        b"".join(path.read_bytes() for path in sorted((HERE / "go" / "helm").iterdir()))
    ).hexdigest()[:8]
    folder = binaries.cache() / f"helm-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "helm").exists():
            binaries.build(
                "helm", "helm.sh/helm/v3/cmd/helm", folder / "helm.new", "-ldflags=-s -w"
            )
            (folder / "helm.new").rename(folder / "helm")
    return folder / "helm"


if __name__ == "__main__":
    print(program())
