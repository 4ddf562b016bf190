"""Looking at hosts: their facts, the machine they are, the paths between them, and the tools they
have. One script per host and question.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Sequence

from ....engine.facts import catalogue as facts
from ....engine.facts.boundaries import GROUP, KEPT
from ....engine.facts.logins import NOBODY
from ....engine.facts.tool_version import read_version
from ....engine.model.contract.values import Tool, ToolStatus
from ....engine.model.errors import RunFailed
from ....engine.model.results import Fact
from ...agent.scripts import here
from ...agent.start import MORE_PATH
from ..transport.connection import Connection
from ..transport.framing import legible
from ..transport.host_keys import PINNED
from .host import Host

_ADMIN = f"PATH=${{PATH:+$PATH:}}{MORE_PATH} LC_ALL=C; export PATH LC_ALL\n"
_INSTALL_TIMEOUT_S = 1800.0
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9+._:@/=~-]*")
_TAIL = 2000


def host_facts(host: Host, directory: str) -> tuple[Fact, ...]:
    """The facts of a host, of the disk under ``directory``, and of its clock; what takes too long
    is unknown.
    """
    output = host.ask_within(
        f"{_ADMIN}DIR={shlex.quote(directory)}\n{facts.script()}", facts.TIMEOUT_S
    )
    clock = host.clock.offset
    return (
        *facts.parse(output),
        *facts.clock_facts(clock.value_s if clock else None, clock.bound_s if clock else None),
        *_entry(host.connection),
        *facts.process_facts(GROUP if host.groups else KEPT),
    )


def _entry(connection: Connection) -> tuple[Fact, ...]:
    """The facts of the way into the host. Which line of known_hosts it was is left out: its path
    says where the user keeps files.
    """
    verified = connection.verified
    if verified is None:
        return ()
    trust = (
        NOBODY
        if verified.accepted
        else verified.source
        if verified.source == PINNED
        else "known_hosts"
    )
    return facts.connection_facts(verified.key.fingerprint, trust, legible(connection.noise))


def path(host: Host, peer: str) -> tuple[Fact, ...]:
    """The facts of the path from a host to ``peer``, an address or a name."""
    return facts.parse_path(
        host.ask_within(f"{_ADMIN}{facts.path_script(peer)}", facts.PATH_TIMEOUT_S)
    )


def volume(host: Host, directory: str) -> tuple[Fact, ...]:
    """The facts of the volume that holds ``directory``."""
    return facts.parse_volume(
        host.ask_within(f"{_ADMIN}{facts.volume_script(directory)}", facts.TIMEOUT_S)
    )


def identity(host: Host) -> str | None:
    """What identifies the machine, as the fact ``machine.id`` says it."""
    written = host.machine_id()
    return hashlib.sha256(f"benchspec\n{written}\n".encode()).hexdigest()[:16] if written else None


def find_tools(host: Host, tools: Sequence[Tool]) -> list[ToolStatus]:
    """Where each tool is and what version it says: the first number with a dot in it, else the
    first line.

    A tool without ``version_argv`` is not asked: a spec's own program is executed only after its
    reader agreed.
    """
    words = [
        shlex.join(
            (tool.executable, "asks" if tool.version_argv else "silent", *tool.version_argv[1:])
        )
        for tool in tools
    ]
    fields = host.ask(here(__file__, "tools"), words).decode("utf-8", "replace").split("\0")
    return [
        _status(tool, where, said, host.name)
        for tool, where, said in zip(tools, fields[0::2], fields[1::2], strict=False)
    ]


def _status(tool: Tool, where: str, said: str, node: str) -> ToolStatus:
    return ToolStatus(
        tool=tool, path=where or None, version=read_version(said) if where else None, node=node
    )


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
    said = host.ask(here(__file__, "install"), names, timeout_s=_INSTALL_TIMEOUT_S).decode(
        "utf-8", "replace"
    )
    word, _, rest = said.partition("\n")
    match word:
        case "installed":
            return
        case "rights":
            raise RunFailed(
                "packages can be installed by root alone",
                where=where,
                remedy=f"give the host `become: true`, or install {' '.join(names)}",
            )
        case "nobody":
            raise RunFailed(
                "found none of the package managers apt-get, dnf, apk",
                where=where,
                remedy=f"install by hand: {' '.join(names)}",
            )
        case _:
            raise RunFailed(
                f"installing {' '.join(names)} failed:\n{rest.strip()[-_TAIL:]}",
                where=where,
                remedy="correct the package's name or the host's package sources",
            )
