"""The options of an ssh site (schemas/runners/ssh.schema.json) as typed values. Pure: nothing is
read or looked up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ...engine.model.contract.values import DEFAULT_TTL_S
from ...engine.model.spec import Json, Site
from ...engine.model.text.json_access import mapping
from ...engine.model.units import Dimension, parse_quantity

CONNECT_TIMEOUT_S = 10.0
KEEPALIVE_S = 15.0
_SSH_PORT = 22


class BecomeMethod(StrEnum):
    """The program that gives another user's rights."""

    SUDO = "sudo"
    DOAS = "doas"
    SU = "su"


@dataclass(frozen=True, slots=True, kw_only=True)
class Become:
    """How a privileged script gets its rights; ``password`` is the text of a secret reference,
    never a password.
    """

    method: BecomeMethod = BecomeMethod.SUDO
    user: str = "root"
    password: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostOptions:
    """One host as the spec has it. Paths are as written; what is None is left to ssh_config.
    ``passphrase`` is a secret reference.
    """

    name: str
    host: str
    port: int | None = None
    user: str | None = None
    identity_file: str | None = None
    passphrase: str | None = None
    host_key: str | None = None
    jump: str | None = None
    address: str | None = None
    become: Become | None = None
    shell: str = "posix"
    workdir: str | None = None

    @property
    def label(self) -> str:
        """What messages call it: by its name in the spec, and by where it is, since every site may
        have a client.
        """
        at = self.host if self.port in (None, _SSH_PORT) else f"{self.host}:{self.port}"
        return at if self.name == self.host else f"{self.name} ({at})"


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteOptions:
    """An ssh site: its hosts by role or name, the files that say more about them, the times (s) of
    their connections and of what is left there.
    """

    name: str
    hosts: Mapping[str, HostOptions]
    ssh_config: str | None = None
    known_hosts: str | None = None
    connect_timeout_s: float | None = None
    keepalive_s: float = KEEPALIVE_S
    workdir: str | None = None
    ttl_s: float = DEFAULT_TTL_S

    @property
    def whole_ttl_s(self) -> int:
        """``ttl_s`` as every host's ``sleep`` and arithmetic can have it: a second to some 30
        years.
        """
        return math.ceil(min(max(self.ttl_s, 1.0), 1e9))


def site_options(site: Site) -> SiteOptions:
    """The options of ``site``, which its schema has accepted."""
    found = site.options
    timeout = _text(found, "connect_timeout")
    keepalive = _text(found, "keepalive")
    ttl = _text(found, "ttl")
    return SiteOptions(
        name=site.name,
        hosts={
            name: _host(name, mapping(host)) for name, host in mapping(found.get("hosts")).items()
        },
        ssh_config=_text(found, "ssh_config"),
        known_hosts=_text(found, "known_hosts"),
        connect_timeout_s=parse_quantity(timeout, Dimension.TIME) if timeout else None,
        keepalive_s=parse_quantity(keepalive, Dimension.TIME) if keepalive else KEEPALIVE_S,
        workdir=_text(found, "workdir"),
        ttl_s=parse_quantity(ttl, Dimension.TIME) if ttl else DEFAULT_TTL_S,
    )


def _host(name: str, found: Mapping[str, Json]) -> HostOptions:
    port = found.get("port")
    return HostOptions(
        name=name,
        host=str(found["host"]),
        port=int(str(port)) if port is not None else None,
        user=_text(found, "user"),
        identity_file=_text(found, "identity_file"),
        passphrase=_text(found, "passphrase"),
        host_key=_text(found, "host_key"),
        jump=_text(found, "jump"),
        address=_text(found, "address"),
        become=_become(found.get("become")),
        shell=_text(found, "shell") or "posix",
        workdir=_text(found, "workdir"),
    )


def _become(found: Json) -> Become | None:
    if not isinstance(found, Mapping):
        return Become() if found else None
    return Become(
        method=BecomeMethod(_text(found, "method") or BecomeMethod.SUDO),
        user=_text(found, "user") or "root",
        password=_text(found, "password"),
    )


def _text(found: Mapping[str, Json], key: str) -> str | None:
    value = found.get(key)
    return None if value is None else str(value)
