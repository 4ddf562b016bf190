"""Container images made without a registry or a daemon: programs of this machine with the libraries
they load, packed as archives for ``ctr import``.

Format: the image archive of ``docker save`` (https://github.com/moby/docker-image-spec), one layer.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

PACKAGES = (
    "coreutils",
    "procps",
    "util-linux",
    "findutils",
    "grep",
    "sed",
    "gzip",
    "tar",
    "iproute2",
    "hostname",
    "debianutils",
    "iputils-ping",
    "libc-bin",
)
"""Debian packages whose programs the tool image has, as any distribution's image would."""

PROGRAMS = (
    "sh",
    "bash",
    "awk",
    "curl",
    "openssl",
    "fio",
    "iperf3",
    "netperf",
    "netserver",
    "ethtool",
    "nginx",
    "tc",
)
_DIRECTORIES = {
    "tmp": 0o1777,
    "var/tmp": 0o1777,
    "proc": 0o555,
    "sys": 0o555,
    "dev": 0o755,
    "run": 0o755,
    "root": 0o700,
    "var/log/nginx": 0o777,
    "var/lib/nginx": 0o777,
    "home/bench": 0o777,
}
_TEXTS = {
    "etc/passwd": (
        "root:x:0:0:root:/root:/bin/sh\nwww-data:x:33:33::/var/www:/bin/false\nbench:x:1000:1000::/home/bench:/bin/sh\n"
    ),
    "etc/group": "root:x:0:\nwww-data:x:33:\nbench:x:1000:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
    "etc/os-release": "NAME=benchspec-tools\nID=benchspec-tools\n",
}
_LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64"}
_SKIPPED = {
    "test",
    "idlelib",
    "lib2to3",
    "ensurepip",
    "tkinter",
    "turtledemo",
    "distutils",
    "__pycache__",
    "dist-packages",
    "site-packages",
    "pydoc_data",
}
_PAUSE = """
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static void end(int number) { _exit(0); }
static void reap(int number) { while (waitpid(-1, 0, WNOHANG) > 0) {} }
int main(void) { signal(SIGINT, end); signal(SIGTERM, end); signal(SIGCHLD, reap); for (;;) pause(); }
"""


def recipe() -> bytes:
    """What the images follow from."""
    return Path(__file__).read_bytes()


def make(tools: Path) -> None:
    """Make ``pause.tar`` and ``tools.tar`` in the directory of programs."""
    source = tools / "pause.c"
    source.write_text(_PAUSE)
    subprocess.run(
        ["gcc", "-Os", "-static", "-s", "-o", str(tools / "pause"), str(source)], check=True
    )
    _archive(tools / "pause.tar", "localhost/pause:1", {"pause": tools / "pause"}, {}, ["/pause"])
    _archive(tools / "tools.tar", "localhost/tools:1", *_tools(tools), ["/bin/sh"])


def pack(folder: Path, name: str, programs: Mapping[str, Path]) -> Path:
    """The archive of an image, made in a folder: programs, by their names in /usr/bin, and the
    libraries they load. The first is its entry point.
    """
    target = folder / "image.tar"
    _archive(target, name, _executables(programs), _LINKS, [f"/usr/bin/{next(iter(programs))}"])
    return target


def _executables(programs: Mapping[str, Path]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for name, path in programs.items():
        real = path.resolve()
        files |= {f"usr/bin/{name}": real, **_libraries(real)}
    return files


def _tools(tools: Path) -> tuple[dict[str, Path], dict[str, str]]:
    programs = {_found(name) for name in PROGRAMS} | {
        path for package in PACKAGES for path in _programs_of(package)
    }
    files = _executables(
        {"fortio": tools / "fortio", **{path.name: path for path in sorted(programs)}}
    )
    files.update(_python(files))
    for directory in ("/etc/nginx", "/usr/share/nginx"):
        files.update(
            {str(path)[1:]: path.resolve() for path in Path(directory).rglob("*") if path.is_file()}
        )
    busybox = _found("busybox")
    if _libraries(busybox):
        raise FileNotFoundError(f"{busybox} is not linked statically: run tests/setup")
    files["usr/local/lib/benchspec/busybox"] = busybox
    files["etc/mime.types"] = Path("/etc/mime.types")
    return files, {**_LINKS, "sbin": "usr/bin", "usr/sbin": "bin"}


def _found(name: str) -> Path:
    path = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if path is None:
        raise FileNotFoundError(f"{name} is not installed: run tests/setup")
    return Path(path)


def _programs_of(package: str) -> Iterable[Path]:
    listed = subprocess.run(
        ["dpkg", "--listfiles", package], capture_output=True, text=True, check=True
    ).stdout.split("\n")
    folders = {"/bin", "/sbin", "/usr/bin", "/usr/sbin"}
    return [
        Path(line) for line in listed if os.path.dirname(line) in folders and os.path.isfile(line)
    ]


def _libraries(program: Path) -> dict[str, Path]:
    listed = subprocess.run(
        ["ldd", str(program)], capture_output=True, text=True, check=False
    ).stdout
    found = (Path(path) for path in re.findall(r"(/\S+) \(0x", listed))
    return {re.sub(r"^(lib|lib64)/", r"usr/\1/", str(path)[1:]): path.resolve() for path in found}


def _python(others: Mapping[str, Path]) -> dict[str, Path]:
    """The system's Python with its standard library; tests serve with it."""
    program = Path("/usr/bin/python3").resolve()
    version = program.name
    files = {"usr/bin/python3": program, **_libraries(program)}
    for folder, directories, names in os.walk(f"/usr/lib/{version}"):
        directories[:] = [
            name for name in directories if name not in _SKIPPED and not name.startswith("config-")
        ]
        for name in names:
            path = Path(folder, name)
            files[str(path)[1:]] = path.resolve()
            if path.suffix == ".so":
                files.update(_libraries(path))
    return {name: path for name, path in files.items() if name not in others}


def _archive(
    target: Path, name: str, files: Mapping[str, Path], links: Mapping[str, str], entry: list[str]
) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for directory, mode in _DIRECTORIES.items():
            _add(tar, directory, mode, kind=tarfile.DIRTYPE)
        for link, to in sorted(links.items()):
            _add(tar, link, 0o777, kind=tarfile.SYMTYPE, to=to)
        for path, text in sorted(_TEXTS.items()):
            _add(tar, path, 0o644, data=text.encode())
        for path, source in sorted(files.items()):
            if path not in _TEXTS:
                _add(
                    tar,
                    path,
                    0o755 if os.access(source, os.X_OK) else 0o644,
                    data=source.read_bytes(),
                )
    layer = buffer.getvalue()
    settings: dict[str, object] = {
        "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
        "Entrypoint": entry,
    }
    rootfs = {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]}
    config = json.dumps(
        {"architecture": "amd64", "os": "linux", "config": settings, "rootfs": rootfs}
    ).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = json.dumps(
        [{"Config": config_name, "RepoTags": [name], "Layers": ["layer.tar"]}]
    ).encode()
    with tarfile.open(target, "w") as tar:
        for path, data in (
            (config_name, config),
            ("layer.tar", layer),
            ("manifest.json", manifest),
        ):
            _add(tar, path, 0o644, data=data)


def _add(
    tar: tarfile.TarFile,
    path: str,
    mode: int,
    *,
    data: bytes = b"",
    kind: bytes = tarfile.REGTYPE,
    to: str = "",
) -> None:
    made = tarfile.TarInfo(path)
    made.type, made.mode, made.linkname, made.size = kind, mode, to, len(data)
    tar.addfile(made, io.BytesIO(data))
