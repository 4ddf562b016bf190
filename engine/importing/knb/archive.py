"""knb's ``-o data`` (.knbdata), in the shape of its JSON: a tar.gz with a file for each figure.

knb itself executes the file ``env`` as shell. Here it is only read: nothing of it is executed, and
nothing is unpacked to disk.
"""

from __future__ import annotations

import io
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping

from ...model.errors import ParseError
from ...model.spec import Json
from .figures import figure

MAX_UNPACKED = 64 * 2**20
"""Archives that hold more are not read: B. Real ones hold some 20 KB."""

_SHARES = ("user", "nice", "system", "iowait", "steal")


def read_archive(data: bytes) -> Mapping[str, Json]:
    """The result. Raises ParseError: the archive is cut, is not knb's, or has a figure that is
    none.
    """
    files = _members(data)
    if "env" not in files:
        raise ParseError(
            f"the archive has no file env, only {', '.join(sorted(files)) or 'nothing'}: it is no"
            " data of knb"
        )
    said = dict(_variables(files["env"]))
    found: dict[str, Json] = {
        name: files.get(name, "").strip() for name in ("cpu", "kernel", "k8s-version", "mtu")
    }
    if pod := said.get("IDLE_POD_NAME"):
        found["idle"] = _archived(files, pod)
    for key, short in (("pod2pod", "P2P"), ("pod2svc", "P2S")):
        pods = {
            name[1].lower(): pod
            for variable, pod in said.items()
            if pod and (name := re.fullmatch(rf"CLIENT_([A-Z0-9_]+)_{short}_POD_NAME", variable))
        }
        if pods:
            found[key] = {protocol: _archived(files, pod) for protocol, pod in pods.items()}
    about: dict[str, Json] = {
        "name": said.get("BENCHMARK_RUN_NAME"),
        "generator": said.get("GENERATOR"),
        "version": said.get("VERSION"),
        "date": said.get("BENCHMARK_DATE"),
        "server-node": said.get("SERVER_NODE"),
        "client-node": said.get("CLIENT_NODE"),
        "socket-buffer-size": said.get("SOCKET_BUFFER_SIZE"),
    }
    return {"metadata": about, "data": found}


def _members(data: bytes) -> dict[str, str]:
    """The plain files of the archive by their name, all read in memory and counted."""
    files: dict[str, str] = {}
    left = MAX_UNPACKED
    try:
        with tarfile.open(fileobj=io.BytesIO(_unzip(data))) as archive:
            for member in archive:
                opened = archive.extractfile(member) if member.isreg() else None
                if opened is not None and (left := left - member.size) >= 0:
                    files[member.name.removeprefix("./")] = opened.read().decode("utf-8", "replace")
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise ParseError(
            f"knb's data cannot be unpacked: {error}", remedy="the file was probably cut"
        ) from error
    return files


def _unzip(data: bytes) -> bytes:
    """Raises ParseError for what is cut, or grows beyond all measure."""
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        found = unpacker.decompress(data, MAX_UNPACKED)
    except zlib.error as error:
        raise ParseError(
            f"knb's data cannot be unpacked: {error}", remedy="the file was probably cut"
        ) from error
    if not unpacker.eof:
        raise ParseError(f"knb's data is cut, or unpacks to more than {MAX_UNPACKED} B")
    return found


def _variables(env: str) -> Iterator[tuple[str, str]]:
    for line in env.splitlines():
        name, assigned, value = line.partition("=")
        if assigned and name.isidentifier():
            yield name, value.strip().removeprefix('"').removesuffix('"')


def _archived(files: Mapping[str, str], pod: str) -> Json:
    """One test: ``POD.bw`` in Mbit/s, empty when iperf3 failed; ``POD-client.avg`` and
    ``POD-server.avg``, means over its time on both nodes.
    """
    bandwidth = files.get(f"{pod}.bw", "").strip()
    return {
        "bandwidth": figure(bandwidth, f"{pod}.bw"),
        **{
            role: _means(files.get(f"{pod}-{role}.avg", ""), f"{pod}-{role}.avg")
            for role in ("client", "server")
        },
    }


def _means(table: str, where: str) -> Json:
    """One line of headings and one of figures, in the same order."""
    lines = [line.split() for line in table.splitlines()]
    if len(lines) < 2:
        return {}
    if len(lines[0]) != len(lines[1]):
        raise ParseError(f"{where}: found {len(lines[1])} figures under {len(lines[0])} headings")
    cells = {heading: figure(cell, where) for heading, cell in zip(*lines[:2], strict=True)}
    if cells.get("records-number") == 0:  # means of nothing
        return {}
    shares = {name: cells.get(f"cpu-{name}") for name in _SHARES}
    known = [share for share in shares.values() if share is not None]
    total = round(sum(known), 2) if len(known) == len(shares) else None
    return {"cpu": {"total": total, **shares}, "ram": cells.get("memory-used")}
