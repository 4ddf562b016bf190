"""The image of images/Containerfile on the test bed: ``python -m tests.cluster.containerfile
NAME...`` builds it and puts it on nodes of clusters.

buildah builds it (Debian's packages buildah and debootstrap; as root), without a registry: what it
is built from are stand-ins of the same names, a Debian with the settings of Debian's slim images,
and that with the Go and the trusted certificates of this machine.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from . import binaries, cluster
from .layout import HERE

FILE = HERE.parents[1] / "images" / "Containerfile"
PROGRAMS = ("buildah", "debootstrap", "go")
_KEY = hashlib.sha256(FILE.read_bytes() + Path(__file__).read_bytes()).hexdigest()[:8]
IMAGE = f"localhost/benchspec-tools:{_KEY}"
"""Another name for each state of the file, so that no node takes an older image for this one."""

_RELEASE, _DEBIAN = "bookworm", "docker.io/library/debian:12-slim"
_NOT_IN_SLIM = ("doc", "info", "lintian", "locale", "man")
_SETTINGS = {
    "etc/apt/sources.list": "",
    "etc/apt/apt.conf.d/docker": (
        'DPkg::Post-Invoke {"rm -f /var/cache/apt/archives/*.deb";};\nDir::Cache {pkgcache "";'
        ' srcpkgcache "";};\n'
    ),
    "etc/dpkg/dpkg.cfg.d/docker": "".join(
        f"path-exclude /usr/share/{name}/*\n" for name in _NOT_IN_SLIM
    ),
    # with it no package starts a daemon, which would be one of this machine
    "usr/sbin/policy-rc.d": "#!/bin/sh\nexit 101\n",
}
_TRUSTED = "etc/ssl/certs/ca-certificates.crt"


def missing() -> str | None:
    """What keeps the image from being built, or None."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    return (
        f"found no {', '.join(lacking)}: apt-get install buildah debootstrap, and"
        " https://go.dev/doc/install"
        if lacking
        else None
    )


def archive() -> Path:
    """The image's archive, built if it is not there yet. Raises FileNotFoundError,
    CalledProcessError.
    """
    if (problem := missing()) is not None:
        raise FileNotFoundError(problem)
    return binaries.kept(f"benchspec-tools-{_KEY}.tar", _make)


def _make(folder: Path) -> Path:
    _make_debian(folder)
    _make_golang(folder)
    _build(folder, FILE, IMAGE, FILE.parent)
    _buildah(folder, "push", IMAGE, f"docker-archive:{folder}/image.tar:{IMAGE}")
    return folder / "image.tar"


def _make_debian(folder: Path) -> None:
    root = folder / "debian"
    debian, security = mirrors()
    _apart("debootstrap", "--variant=minbase", _RELEASE, str(root), debian)
    for name, text in {
        **_SETTINGS,
        "etc/apt/sources.list.d/debian.sources": _sources(debian, security),
    }.items():
        (root / name).write_text(text)
    (root / "usr/sbin/policy-rc.d").chmod(0o755)
    emptied = [f"usr/share/{name}" for name in _NOT_IN_SLIM] + [
        "var/lib/apt/lists",
        "var/cache/apt",
        "dev",
        "proc",
        "sys",
    ]
    options = [f"--exclude=./{name}/*" for name in emptied]
    _apart("tar", "--create", f"--file={folder}/debian.tar", f"--directory={root}", *options, ".")
    (folder / "Debian").write_text('FROM scratch\nADD debian.tar /\nCMD ["bash"]\n')
    _build(folder, folder / "Debian", _DEBIAN, folder)


def mirrors() -> tuple[str, str]:
    """From where this machine's apt has Debian and its security updates, whatever file and form
    says so.

    Raises:
        FileNotFoundError: apt names no mirror of Debian, or never read it.
    """
    argv = [
        "apt-get",
        "indextargets",
        "--format",
        "$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(REPO_URI)",
        "Created-By: Packages",
    ]
    lines = [
        line.split("|", 3)
        for line in subprocess.run(
            argv, capture_output=True, text=True, check=True
        ).stdout.splitlines()
    ]
    found = {
        label: _first(uri)
        for origin, label, component, uri in reversed(lines)
        if (origin, component) == ("Debian", "main")
    }
    if "Debian" not in found:
        raise FileNotFoundError("found no mirror of Debian among apt's sources: apt-get update")
    return found["Debian"], found.get("Debian-Security", f"{found['Debian']}-security")


def _first(uri: str) -> str:
    """The mirror; the first one of a list of mirrors (apt-transport-mirror)."""
    if uri.startswith("mirror+file:"):
        uri = Path(uri.removeprefix("mirror+file:")).read_text().split()[0]
    return uri.rstrip("/")


def _sources(debian: str, security: str) -> str:
    return "\n".join(
        f"Types: deb\nURIs: {uri}\nSuites: {suites}\nComponents: main\nSigned-By:"
        " /usr/share/keyrings/debian-archive-keyring.gpg\n"
        for uri, suites in (
            (debian, f"{_RELEASE} {_RELEASE}-updates"),
            (security, f"{_RELEASE}-security"),
        )
    )


def _make_golang(folder: Path) -> None:
    """Called as this machine's Go is: a file that is built from another one finds none of that
    name.
    """
    said = subprocess.run(
        ["go", "env", "GOROOT", "GOVERSION"], capture_output=True, text=True, check=True
    ).stdout
    root, version = said.split()
    series = ".".join(version.removeprefix("go").split(".")[:2])
    lines = [
        f"FROM {_DEBIAN}",
        f"COPY {root} /usr/local/go",
        f"COPY {_TRUSTED} /{_TRUSTED}",
        "ENV PATH=/usr/local/go/bin:/usr/sbin:/usr/bin",
    ]
    (folder / "Golang").write_text("\n".join(lines))
    _build(folder, folder / "Golang", f"docker.io/library/golang:{series}", Path("/"))


def _build(folder: Path, file: Path, name: str, context: Path) -> None:
    _buildah(
        folder,
        "build",
        "--isolation=chroot",
        "--pull-never",
        "--format=docker",
        f"--file={file}",
        f"--tag={name}",
        str(context),
    )


def _buildah(folder: Path, *arguments: str) -> None:
    _apart(
        "buildah",
        f"--root={folder}/storage",
        f"--runroot={folder}/run",
        "--storage-driver=vfs",
        *arguments,
    )


def _apart(*argv: str) -> None:
    """Run a program whose mounts go with it."""
    subprocess.run(["unshare", "--mount", *argv], check=True)


if __name__ == "__main__":
    for made in cluster.named(sys.argv[1:]):
        made.load(IMAGE, archive())
        print(f"{IMAGE} is on the nodes of {made.layout.name}")
