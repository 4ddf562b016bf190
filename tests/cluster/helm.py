"""Helm for tests of charts: built from its Go module, once, in some three minutes of CPU time, unless there is a ``helm`` already.

``python -m tests.cluster.helm`` prints where it is.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from .layout import HERE

_MODULE = HERE / "go" / "helm"


def program() -> Path:
    """The program, made if it is not there yet. Raises CalledProcessError."""
    if (found := shutil.which("helm")) is not None:
        return Path(found)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(_MODULE.iterdir()))).hexdigest()[:8]
    folder = Path(base) / "benchspec-cluster" / f"helm-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "helm").exists():
            env = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOGC": "400"}
            argv = ["go", "build", "-trimpath", "-ldflags=-s -w", "-o", str(folder / "helm.new"), "helm.sh/helm/v3/cmd/helm"]
            subprocess.run(argv, cwd=_MODULE, env=env, check=True)
            (folder / "helm.new").rename(folder / "helm")
    return folder / "helm"


if __name__ == "__main__":
    print(program())
