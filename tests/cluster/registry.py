"""A container registry of its own for a test, in memory: what is pushed to it is gone with it."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from . import binaries


@contextmanager
def serving(host: str = "127.0.0.1", status: int = 0) -> Iterator[str]:
    """The address of a registry that listens on ``host``; with ``status`` it answers everything
    with that.
    """
    program = str(binaries.registry())
    with subprocess.Popen(
        [program, "-listen", f"{host}:0", "-status", str(status)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield f"{host}:{int(process.stdout.readline())}"
        finally:
            process.kill()


def digest_of(address: str, repository: str, reference: str) -> str:
    """Under which digest the registry has an image."""
    asked = urllib.request.Request(
        f"http://{address}/v2/{repository}/manifests/{reference}",
        headers={
            "Accept": "application/vnd.oci.image.manifest.v1+json,"
            " application/vnd.docker.distribution.manifest.v2+json"
        },
        method="HEAD",
    )
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return str(answer.headers["Docker-Content-Digest"])


def plain_http(folder: Path, *addresses: str) -> Mapping[str, str]:
    """The variables with which buildah speaks to registries without TLS, and keeps its images in
    ``folder``.
    """
    settings = "".join(
        f"[[registry]]\nlocation = {json.dumps(address)}\ninsecure = true\n"
        for address in addresses
    )
    (folder / "registries.conf").write_text(settings)
    (folder / "storage.conf").write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{folder}/storage"\nrunroot = "{folder}/run"\n'
    )
    (folder / "auth.json").write_text("{}")
    return {
        "CONTAINERS_REGISTRIES_CONF": str(folder / "registries.conf"),
        "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
        "BUILDAH_ISOLATION": "chroot",
        "REGISTRY_AUTH_FILE": str(folder / "auth.json"),
    }
