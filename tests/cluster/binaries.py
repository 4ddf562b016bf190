"""The cluster's programs and images: taken ready where they lie, else built from Go modules (some minutes), into a cache outside the repository.

Ready means ``$BENCHSPEC_CLUSTER_BIN`` (a directory with ``kubernetes`` or ``hyper``, ``local-path-provisioner`` and ``fortio``, also as ``.zst``),
or the directory shared/cluster/prebuilt beside the checkout.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from . import images
from .layout import HERE

COMPONENTS = ("etcd", "minidns", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl")
_READY = HERE.parents[1].parent / "shared" / "cluster" / "prebuilt"
_VERSION = "k8s.io/component-base/version"
_KUBERNETES = "-s -w " + " ".join(f"-X {_VERSION}.{name}" for name in ("gitVersion=v1.35.4", "gitMajor=1", "gitMinor=35", "gitTreeState=clean"))


def directory() -> Path:
    """The directory of programs and images, made if it is not there yet."""
    found = ready()
    made = _cache() / _key(found)
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


def ready() -> Path | None:
    """Where ready programs lie, if they do."""
    places = (Path(os.environ.get("BENCHSPEC_CLUSTER_BIN") or "/nonexistent"), _READY)
    return next((path for path in places if path.is_dir()), None)


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "benchspec-cluster"


def _key(found: Path | None) -> str:
    """Changes with whatever the programs and images are made of."""
    digest = hashlib.sha256(images.recipe())
    if found is None:
        for path in sorted((HERE / "go").rglob("*.*")):
            digest.update(path.read_bytes())
    else:
        digest.update("".join(f"{path} {path.stat().st_size}\n" for path in sorted(found.iterdir())).encode())
    return digest.hexdigest()[:16]


def _take(found: Path, made: Path) -> None:
    for name, known_as in (("kubernetes", ("kubernetes", "hyper")), ("local-path-provisioner", ("local-path-provisioner",)), ("fortio", ("fortio",))):
        one = next((found / f"{other}{end}" for other in known_as for end in ("", ".zst") if (found / f"{other}{end}").exists()), None)
        if one is None:
            raise FileNotFoundError(f"{found} has no {name}")
        if one.suffix == ".zst":
            subprocess.run(["zstd", "--quiet", "--decompress", "--force", str(one), "-o", str(made / name)], check=True)
        else:
            shutil.copy(one, made / name)
        (made / name).chmod(0o755)


def _build(made: Path) -> None:
    """Without debug information and with a lazy collector it takes a fifth less time."""
    env = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOGC": "400"}
    for folder, package, name, flags in (
        ("kubernetes", ".", "kubernetes", _KUBERNETES),
        ("provisioner", "github.com/rancher/local-path-provisioner", "local-path-provisioner", "-s -w"),
        ("fortio", "fortio.org/fortio", "fortio", "-s -w"),
    ):
        argv = ["go", "build", "-trimpath", "-gcflags=all=-dwarf=false", f"-ldflags={flags}", "-o", str(made / name), package]
        subprocess.run(argv, cwd=HERE / "go" / folder, env=env, check=True)
