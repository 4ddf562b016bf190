"""Looking at hosts: their facts, the machine they are, the paths between them, and the tools they have. One script per host and question."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Sequence

from ...engine import facts
from ...engine.entries import NOBODY
from ...engine.errors import RunFailed
from ...engine.ports import Tool, ToolStatus
from ...engine.results import Fact
from ...engine.tool_version import read_version
from .connection import Connection
from .framing import legible
from .host import Host
from .host_keys import PINNED
from .launch import MORE_PATH

_ADMIN = f"PATH=${{PATH:+$PATH:}}{MORE_PATH} LC_ALL=C; export PATH LC_ALL\n"
_INSTALL_TIMEOUT_S = 1800.0
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9+._:@/=~-]*")
_TAIL = 2000

# each argument: the words of a version command as shell text, its first the program. Prints path NUL what the command says NUL
TOOLS_SCRIPT = (
    _ADMIN
    + r"""
limit=
command -v timeout >/dev/null && limit='timeout 10'
set -f
for words; do
    eval "set -- $words"
    path=
    case $1 in
    /*) [ -f "$1" ] && [ -x "$1" ] && path=$1 ;;
    *) IFS=:; for p in $PATH; do [ -f "$p/$1" ] && [ -x "$p/$1" ] && { path=$p/$1; break; }; done; unset IFS ;;
    esac
    asks=$2
    printf '%s\0' "$path"
    if [ -n "$path" ] && [ "$asks" = asks ]; then
        shift 2
        $limit "$path" "$@" </dev/null 2>&1 | head -c 2000 | tr '\0' ' '
    fi
    printf '\0'
done
"""
)

# the packages. Says: installed, nobody (no package manager), rights, or "failed" and the last words of the manager
INSTALL_SCRIPT = (
    _ADMIN
    + r"""
exec </dev/null
DEBIAN_FRONTEND=noninteractive
export DEBIAN_FRONTEND
if command -v apt-get >/dev/null; then
    again() { apt-get update; }
    add() { apt-get install -y --no-install-recommends "$@"; }
elif command -v dnf >/dev/null; then
    again() { dnf makecache; }
    add() { dnf install -y "$@"; }
elif command -v apk >/dev/null; then
    again() { apk update; }
    add() { apk add "$@"; }
else
    echo nobody
    exit 0
fi
[ "$(id -u)" = 0 ] || { echo rights; exit 0; }
if said=$(add "$@" 2>&1) || { again >/dev/null 2>&1; said=$(add "$@" 2>&1); }; then
    echo installed
else
    echo failed
    printf '%s\n' "$said" | tail -c 2000
fi
"""
)


def host_facts(host: Host, directory: str) -> tuple[Fact, ...]:
    """The facts of a host, of the disk under ``directory``, and of its clock; what takes too long is unknown."""
    output = host.ask_within(f"{_ADMIN}DIR={shlex.quote(directory)}\n{facts.script()}", facts.TIMEOUT_S)
    clock = host.clock.offset
    return (*facts.parse(output), *facts.clock_facts(clock.value_s if clock else None, clock.bound_s if clock else None), *_entry(host.connection))


def _entry(connection: Connection) -> tuple[Fact, ...]:
    """The facts of the way into the host. Which line of known_hosts it was is left out: its path says where the user keeps files."""
    verified = connection.verified
    if verified is None:
        return ()
    trust = NOBODY if verified.accepted else verified.source if verified.source == PINNED else "known_hosts"
    return facts.connection_facts(verified.key.fingerprint, trust, legible(connection.noise))


def path(host: Host, peer: str) -> tuple[Fact, ...]:
    """The facts of the path from a host to ``peer``, an address or a name."""
    return facts.parse_path(host.ask_within(f"{_ADMIN}{facts.path_script(peer)}", facts.PATH_TIMEOUT_S))


def volume(host: Host, directory: str) -> tuple[Fact, ...]:
    """The facts of the volume that holds ``directory``."""
    return facts.parse_volume(host.ask_within(f"{_ADMIN}{facts.volume_script(directory)}", facts.TIMEOUT_S))


def identity(host: Host) -> str | None:
    """What identifies the machine, as the fact ``machine.id`` says it."""
    written = host.machine_id()
    return hashlib.sha256(f"benchspec\n{written}\n".encode()).hexdigest()[:16] if written else None


def find_tools(host: Host, tools: Sequence[Tool]) -> list[ToolStatus]:
    """Where each tool is and what version it says: the first number with a dot in it, else the first line.

    A tool without ``version_argv`` is not asked: a spec's own program is executed only after its reader agreed.
    """
    words = [shlex.join((tool.executable, "asks" if tool.version_argv else "silent", *tool.version_argv[1:])) for tool in tools]
    fields = host.ask(TOOLS_SCRIPT, words).decode("utf-8", "replace").split("\0")
    return [_status(tool, where, said, host.name) for tool, where, said in zip(tools, fields[0::2], fields[1::2], strict=False)]


def _status(tool: Tool, where: str, said: str, node: str) -> ToolStatus:
    return ToolStatus(tool=tool, path=where or None, version=read_version(said) if where else None, node=node)


def install(host: Host, names: Sequence[str]) -> None:
    """Install packages with whatever package manager the host has.

    Raises:
        RunFailed: no package manager, no rights, or it failed; the message says what to do.
    """
    if not names:
        return
    if bad := [name for name in names if _PACKAGE.fullmatch(name) is None]:
        raise RunFailed(f"found {bad[0]!r}, expected the name of a package")
    where = f"host {host.name}"
    said = host.ask(INSTALL_SCRIPT, names, timeout_s=_INSTALL_TIMEOUT_S).decode("utf-8", "replace")
    word, _, rest = said.partition("\n")
    match word:
        case "installed":
            return
        case "rights":
            raise RunFailed(
                "packages can be installed by root alone", where=where, remedy=f"give the host `become: true`, or install {' '.join(names)}"
            )
        case "nobody":
            raise RunFailed("found none of the package managers apt-get, dnf, apk", where=where, remedy=f"install by hand: {' '.join(names)}")
        case _:
            raise RunFailed(
                f"installing {' '.join(names)} failed:\n{rest.strip()[-_TAIL:]}",
                where=where,
                remedy="correct the package's name or the host's package sources",
            )
