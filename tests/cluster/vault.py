"""Vault as an image for the test bed: ``python -m tests.cluster.vault NAME...`` puts
``localhost/vault:1.21.1`` on the nodes of clusters.

The program is built from its Go module, once, in some minutes of CPU time, unless
``$BENCHSPEC_CLUSTER_BIN`` has a ready ``vault``. It is the one without the plug-ins that need
clouds and databases (build tag ``minimal``); server, raft storage and transit engine are whole.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from . import binaries, cluster, images
from .layout import HERE

VERSION = "1.21.1"
IMAGE = f"localhost/vault:{VERSION}"


def archive() -> Path:
    """The image's archive, made if it is not there yet. Raises CalledProcessError."""
    return binaries.kept(f"vault-{VERSION}-{_key()}.tar", _make)


def _key() -> str:
    """Changes with what the program is built from."""
    files = sorted((HERE / "go" / "vault").iterdir())
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:8]


def _make(folder: Path) -> Path:
    program = folder / "vault"
    if not ((found := binaries.ready()) and binaries.take(found, ["vault"], program)):
        binaries.build("vault", ".", program, "-tags=minimal", "-ldflags=-s -w")
    return images.pack(folder, IMAGE, {"vault": program, "sh": Path("/bin/sh")})


if __name__ == "__main__":
    for made in cluster.named(sys.argv[1:]):
        made.load(IMAGE, archive())
        print(f"{IMAGE} is on the nodes of {made.layout.name}")
