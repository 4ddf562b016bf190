"""Vault as an image for the test bed: ``python -m tests.cluster.vault NAME...`` puts ``localhost/vault:1.21.1`` on the nodes of clusters.

The program is built from its Go module, once, in some minutes of CPU time, unless ``$BENCHSPEC_CLUSTER_BIN`` has a ready ``vault``. It is the
one without the plug-ins that need clouds and databases (build tag ``minimal``); server, raft storage and transit engine are whole.
"""

from __future__ import annotations

import fcntl
import hashlib
import sys
from pathlib import Path

from . import binaries, cluster, images
from .layout import HERE

VERSION = "1.21.1"
IMAGE = f"localhost/vault:{VERSION}"


def archive() -> Path:
    """The image's archive, made if it is not there yet. Raises CalledProcessError."""
    target = binaries.cache() / f"vault-{VERSION}-{_key()}.tar"
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _make(target)
    return target


def _key() -> str:
    """Changes with what the program is built from."""
    files = sorted((HERE / "go" / "vault").iterdir())
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:8]


def _make(target: Path) -> None:
    program = target.with_suffix(".program")
    if not ((found := binaries.ready()) and binaries.take(found, ["vault"], program)):
        binaries.build("vault", ".", program, "-tags=minimal", "-ldflags=-s -w")
    shell = images._found("sh").resolve()
    files = {"usr/bin/vault": program, "usr/bin/sh": shell, **images._libraries(shell)}
    links = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64"}
    images._archive(target.with_suffix(".new"), IMAGE, files, links, ["/usr/bin/vault"])
    target.with_suffix(".new").rename(target)
    program.unlink()


if __name__ == "__main__":
    for made in cluster.named(sys.argv[1:]):
        made.load(IMAGE, archive())
        print(f"{IMAGE} is on the nodes of {made.layout.name}")
