"""The cluster's programs and images: taken ready where they lie, else built from Go modules (some
minutes), into a cache outside the repository.

Ready means ``$BENCHSPEC_CLUSTER_BIN`` (a directory with ``kubernetes`` or ``hyper``,
``local-path-provisioner`` and ``fortio``, also as ``.zst``, and ``vault`` where that is wanted), or
the directory shared/cluster/prebuilt beside the checkout.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

from . import images
from .layout import HERE

COMPONENTS = (
    "etcd",
    "minidns",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
    "kubectl",
)
_READY = HERE.parents[1].parent / "shared" / "cluster" / "prebuilt"
_VERSION = "k8s.io/component-base/version"
_KUBERNETES = "-s -w " + " ".join(
    f"-X {_VERSION}.{name}"
    for name in ("gitVersion=v1.35.4", "gitMajor=1", "gitMinor=35", "gitTreeState=clean")
)

_FORTIO = ("fortio", "fortio.org/fortio", "fortio", "-s -w")
_BUILT = (
    ("kubernetes", ".", "kubernetes", _KUBERNETES),
    ("provisioner", "github.com/rancher/local-path-provisioner", "local-path-provisioner", "-s -w"),
    _FORTIO,
)


def directory() -> Path:
    """The directory of programs and images, made if it is not there yet."""
    found = ready()
    made = cache() / _key(found)
    if (made / "complete").exists():
        return made
    made.mkdir(parents=True, exist_ok=True)
    with (made.parent / f"{made.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (made / "complete").exists():
            _take(found, made) if found else _build(made)
            for name in COMPONENTS:
                (made / name).unlink(missing_ok=True)
                (made / name).symlink_to("kubernetes")
            images.make(made)
            (made / "complete").touch()
    return made


def fortio() -> Path:
    """fortio alone, for tests that want no cluster: made if it is not there yet, and nothing of
    Kubernetes with it.
    """
    found = ready()
    sources = sorted((found or HERE / "go" / "fortio").glob("fortio*" if found else "*"))
    digest = hashlib.sha256(
        "".join(f"{path} {path.stat().st_size}\n" for path in sources).encode()
        if found
        else b"".join(map(Path.read_bytes, sources))
    )
    return kept(
        f"fortio-{digest.hexdigest()[:16]}/fortio",
        lambda folder: _make_fortio(found, folder / "made"),
    )


def _make_fortio(found: Path | None, made: Path) -> Path:
    if found is None:
        build(*_FORTIO[:2], made, f"-ldflags={_FORTIO[3]}")
    elif not take(found, ["fortio"], made):
        raise FileNotFoundError(f"{found} has no fortio")
    return made


def k6() -> Path:
    """k6, which no cluster needs: taken where ready programs lie, if one is there, else built."""
    sources = sorted((HERE / "go" / "k6").glob("*"))
    digest = hashlib.sha256(b"".join(map(Path.read_bytes, sources)))
    return kept(f"k6-{digest.hexdigest()[:16]}/k6", lambda folder: _make_k6(folder / "made"))


def _make_k6(made: Path) -> Path:
    found = ready()
    if found is None or not take(found, ["k6"], made):
        build("k6", "go.k6.io/k6", made, "-ldflags=-s -w")
    return made


def registry() -> Path:
    """A container registry in memory (tests/cluster/go/registry), built if it is not there yet."""
    sources = sorted((HERE / "go" / "registry").glob("*"))
    digest = hashlib.sha256(b"".join(map(Path.read_bytes, sources)))
    return kept(
        f"registry-{digest.hexdigest()[:16]}/registry",
        lambda folder: _make_registry(folder / "made"),
    )


def _make_registry(made: Path) -> Path:
    build("registry", ".", made, "-ldflags=-s -w")
    return made


def ready() -> Path | None:
    """Where ready programs lie, if they do."""
    places = (Path(os.environ.get("BENCHSPEC_CLUSTER_BIN") or "/nonexistent"), _READY)
    return next((path for path in places if path.is_dir()), None)


def cache() -> Path:
    """The directory of whatever takes long to make."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "benchspec-cluster"


def kept(name: str, make: Callable[[Path], Path]) -> Path:
    """The file ``name`` of the cache, made if it is not there yet: ``make`` gets an empty folder
    and returns the file in it. Others wait.
    """
    target = cache() / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            folder = target.with_suffix(".making")
            shutil.rmtree(folder, ignore_errors=True)  # of a maker that was killed
            folder.mkdir()
            try:
                make(folder).rename(target)
            finally:
                shutil.rmtree(folder)
    return target


def _key(found: Path | None) -> str:
    """Changes with whatever the programs and images are made of."""
    digest = hashlib.sha256(images.recipe())
    if found is None:
        for path in sorted(
            path for folder, *_ in _BUILT for path in (HERE / "go" / folder).rglob("*.*")
        ):
            digest.update(path.read_bytes())
    else:
        digest.update(
            "".join(f"{path} {path.stat().st_size}\n" for path in sorted(found.iterdir())).encode()
        )
    return digest.hexdigest()[:16]


def _take(found: Path, made: Path) -> None:
    for name, known_as in (
        ("kubernetes", ("kubernetes", "hyper")),
        ("local-path-provisioner", ("local-path-provisioner",)),
        ("fortio", ("fortio",)),
    ):
        if not take(found, known_as, made / name):
            raise FileNotFoundError(f"{found} has no {name}")


def take(found: Path, known_as: Iterable[str], target: Path) -> bool:
    """Copy the first program that ``found`` has under one of these names; whether there was one."""
    one = next(
        (
            found / f"{name}{end}"
            for name in known_as
            for end in ("", ".zst")
            if (found / f"{name}{end}").exists()
        ),
        None,
    )
    if one is None:
        return False
    if one.suffix == ".zst":
        subprocess.run(
            ["zstd", "--quiet", "--decompress", "--force", str(one), "-o", str(target)], check=True
        )
    else:
        shutil.copy(one, target)
    target.chmod(0o755)
    return True


def _build(made: Path) -> None:
    for folder, package, name, flags in _BUILT:
        build(folder, package, made / name, f"-ldflags={flags}")


def build(folder: str, package: str, target: Path, *options: str) -> None:
    """Build a program of tests/cluster/go. Without debug information and with a lazy collector it
    takes a fifth less time.
    """
    env = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOGC": "400"}
    argv = [
        "go",
        "build",
        "-trimpath",
        "-gcflags=all=-dwarf=false",
        *options,
        "-o",
        str(target),
        package,
    ]
    made = subprocess.run(
        argv, cwd=HERE / "go" / folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if made.returncode:  # what it downloads is told only then: it is in the way of other output
        raise RuntimeError(f"{' '.join(argv)} failed:\n{made.stdout.decode(errors='replace')}")
