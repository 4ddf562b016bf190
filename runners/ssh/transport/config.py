"""How each host of a site is reached: the spec's options over those of ssh_config, as OpenSSH reads
it.

ssh_config is read with paramiko's parser, after what it would get wrong or what must not happen was
taken out: ``Include`` is followed (in the user's own configuration alone), a ``Match`` with any
criterion that is not about names never matches (``exec`` would run a program), ``ProxyCommand`` is
taken from the user's own configuration alone. See
docs/adr/0011-nothing-of-a-specs-ssh-config-is-executed.md.
"""

from __future__ import annotations

import functools
import getpass
import glob
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import paramiko

from ..failures import ConfigRefused
from ..options import CONNECT_TIMEOUT_S, HostOptions, SiteOptions
from .bounded_reads import read_small
from .known_hosts import DEFAULT_PORT, lookup_name

USER_CONFIG, SYSTEM_CONFIG = Path("~/.ssh/config"), Path("/etc/ssh/ssh_config")
USER_KNOWN_HOSTS = (Path("~/.ssh/known_hosts"), Path("~/.ssh/known_hosts2"))
SYSTEM_KNOWN_HOSTS = (Path("/etc/ssh/ssh_known_hosts"), Path("/etc/ssh/ssh_known_hosts2"))
MOST_JUMPS = 8

_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:%-]*|::[A-Za-z0-9_.:%-]*")
_USER = re.compile(r"[^\s'\"`$;&<>|(){}!*?\[\]\\,%-][^\s'\"`$;&<>|(){}!*?\[\]\\,%]*")
_HOP = re.compile(
    r"(?:ssh://)?(?:(?P<user>[^@]+)@)?(?:\[(?P<six>[^\]]+)\]|(?P<host>[^\[\]:]+|[^\[\]]*:[^\[\]]*:[^\[\]]*))(?::(?P<port>\d{1,5}))?"
)
_KEYWORD = re.compile(r"\s*(\w+)\s*[=\s]\s*(.*?)\s*$")
_NAMES_ONLY = frozenset({"all", "canonical", "final", "host", "originalhost", "user", "localuser"})
_NEVER = "Host !*"
_LOOPS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """How a host is reached. ``name`` is what messages call it; ``key_name`` the name its key is
    known by; ``host_key`` a pinned fingerprint.

    ``only_files``: the agent is asked for the keys of ``identity_files`` alone. At most one of
    ``jump`` and ``proxy_command`` is set.
    """

    name: str
    hostname: str
    port: int
    user: str
    key_name: str
    known_hosts: tuple[Path, ...]
    identity_files: tuple[Path, ...] = ()
    only_files: bool = False
    use_agent: bool = True
    passphrase: str | None = None
    host_key: str | None = None
    jump: Route | None = None
    proxy_command: str | None = None
    connect_timeout_s: float = CONNECT_TIMEOUT_S

    @property
    def endpoint(self) -> tuple[object, ...]:
        """What two routes have in common that may share a connection."""
        via = self.jump.endpoint if self.jump else self.proxy_command
        return (
            self.hostname,
            self.port,
            self.user,
            self.identity_files,
            self.host_key,
            self.known_hosts,
            self.key_name,
            via,
        )


class _Unreadable(Exception):
    """An ssh_config file cannot be used, whichever host is asked for."""


class SshConfig:
    """One ssh_config file and, for the user's own, the system's. ``own``: it belongs to the user,
    not to the spec.
    """

    def __init__(self, path: Path, *, own: bool, must_exist: bool) -> None:
        self.path = path
        self.own = own
        paths = [path, SYSTEM_CONFIG] if own and path != SYSTEM_CONFIG else [path]
        try:
            text = "\n".join(_lines(paths[0], own, must_exist))
            for more in paths[1:]:
                text += "\nHost *\n" + "\n".join(_lines(more, own, False))
            self._config = paramiko.SSHConfig.from_text(text)
        except (paramiko.ssh_exception.ConfigParseError, ValueError) as error:
            raise _Unreadable(f"{path} cannot be read: {error}") from error

    def lookup(self, host: str) -> Mapping[str, str | list[str] | None]:
        """The options of ``host``, keys in lower case, in the order in which they were found."""
        try:
            return dict(self._config.lookup(host))
        except (paramiko.SSHException, KeyError, ValueError) as error:
            raise _Unreadable(f"{self.path} cannot be used for {host}: {error}") from error


def site_config(options: SiteOptions) -> SshConfig:
    """The configuration that ``options`` name; the user's own unless they do."""
    own = USER_CONFIG.expanduser()
    if options.ssh_config is None:
        return _cached(own, True, False)
    path = Path(options.ssh_config).expanduser()
    return _cached(path, path in (own, SYSTEM_CONFIG), True)


@functools.cache
def _cached(path: Path, own: bool, must_exist: bool) -> SshConfig:
    return SshConfig(path, own=own, must_exist=must_exist)


def route(options: SiteOptions, name: str) -> Route:
    """How the host called ``name`` is reached.

    Raises:
        ConfigRefused: ssh_config cannot be read, jumps go round in a circle, a ProxyCommand comes
            from a file that is not the user's, or the shell at the other end is not a POSIX one.
    """
    host = options.hosts[name]
    if host.shell != "posix":
        raise ConfigRefused(
            f"found shell: {host.shell}, expected posix: this version runs nothing on Windows"
            " hosts",
            host=host.label,
            remedy="leave the host out, or use one with a POSIX sh",
        )
    try:
        return _route(_Site(options, site_config(options)), host, 0)
    except _Unreadable as error:
        raise ConfigRefused(
            str(error), host=host.label, remedy="correct the file, or name another as `ssh_config`"
        ) from error


@dataclass(frozen=True, slots=True)
class _Site:
    options: SiteOptions
    config: SshConfig


def _route(site: _Site, host: HostOptions, depth: int, *, before: Route | None = None) -> Route:
    """``before``: the host it is reached through, whatever the configuration says of it."""
    if depth > MOST_JUMPS:
        raise ConfigRefused(
            f"it is reached through more than {MOST_JUMPS} hosts, or in a circle",
            host=host.label,
            remedy="correct `jump` or ProxyJump",
        )
    if not _HOST.fullmatch(host.host):
        raise ConfigRefused(
            f"found {host.host!r}, expected a host name or an address",
            host=host.label,
            remedy="correct `host`",
        )
    found = site.config.lookup(host.host)
    hostname = _one(found, "hostname") or host.host
    port = host.port or _port(found, host)
    user = host.user or _one(found, "user") or getpass.getuser()
    for what, value, pattern in (("HostName", hostname, _HOST), ("user", user, _USER)):
        if not pattern.fullmatch(value):
            raise ConfigRefused(
                f"found the {what} {value!r}, which is none",
                host=host.label,
                remedy=f"correct it in the spec or {site.config.path}",
            )
    alias = _one(found, "hostkeyalias")
    files = _identity_files(site, host, found)
    plain = Route(
        name=host.label,
        hostname=hostname,
        port=port,
        user=user,
        key_name=alias.lower() if alias else lookup_name(hostname, port),
        known_hosts=_known_hosts(site, found),
        identity_files=files,
        only_files=host.identity_file is not None or _one(found, "identitiesonly") == "yes",
        use_agent=_one(found, "identityagent") != "none",
        passphrase=host.passphrase,
        host_key=host.host_key,
        connect_timeout_s=site.options.connect_timeout_s
        or _seconds(_one(found, "connecttimeout"))
        or CONNECT_TIMEOUT_S,
    )
    return (
        _through(site, host, plain, found, depth) if before is None else replace(plain, jump=before)
    )


def _through(
    site: _Site,
    host: HostOptions,
    plain: Route,
    found: Mapping[str, str | list[str] | None],
    depth: int,
) -> Route:
    """``plain`` with the way that the spec's ``jump`` or, failing that, the first of ProxyJump and
    ProxyCommand names.
    """
    if host.jump is not None:
        return replace(plain, jump=_chain(site, host.label, host.jump, depth))
    way = next((key for key in found if key in ("proxyjump", "proxycommand")), None)
    value = _one(found, way) if way else None
    if value is None or value.lower() == "none":
        return plain
    if way == "proxyjump":
        return replace(plain, jump=_chain(site, host.label, value, depth))
    if not site.config.own:
        raise ConfigRefused(
            f"{site.config.path} has a ProxyCommand for it, which would be executed here; that is"
            " taken from ~/.ssh/config alone",
            host=host.label,
            remedy=(
                "use ProxyJump or the spec's `jump`, or move the Host section to ~/.ssh/config"
                " after reading it"
            ),
        )
    return replace(plain, proxy_command=value)


def _chain(site: _Site, name: str, hops: str, depth: int) -> Route:
    """The last of the comma-separated ``hops``, each reached through the one before it."""
    before: Route | None = None
    for text in hops.split(","):
        hop = _hop(site, name, text.strip())
        before = _route(site, hop, depth + 1, before=before)
    assert before is not None  # split gives one at least
    return before


def _hop(site: _Site, name: str, text: str) -> HostOptions:
    if text in site.options.hosts:
        return site.options.hosts[text]
    match = _HOP.fullmatch(text)
    if match is None:
        raise ConfigRefused(
            f"found the jump host {text!r}, expected [user@]host[:port]",
            host=name,
            remedy="correct `jump` or ProxyJump",
        )
    port = int(match["port"]) if match["port"] else None
    return HostOptions(
        name=match["six"] or match["host"],
        host=match["six"] or match["host"],
        port=port,
        user=match["user"],
    )


def _identity_files(
    site: _Site, host: HostOptions, found: Mapping[str, str | list[str] | None]
) -> tuple[Path, ...]:
    if host.identity_file is not None:
        return (Path(host.identity_file).expanduser(),)
    named = found.get("identityfile") or []
    folder = site.config.path.parent
    return tuple(
        folder / Path(text).expanduser()
        for text in ([named] if isinstance(named, str) else named)
        if text.lower() != "none"
    )


def _known_hosts(site: _Site, found: Mapping[str, str | list[str] | None]) -> tuple[Path, ...]:
    if site.options.known_hosts is not None:
        return (Path(site.options.known_hosts).expanduser(),)
    named = _one(found, "userknownhostsfile")
    if named is None:
        return tuple(path.expanduser() for path in USER_KNOWN_HOSTS) + SYSTEM_KNOWN_HOSTS
    own = tuple(
        site.config.path.parent / Path(word.strip('"')).expanduser()
        for word in named.split()
        if word.lower() != "none"
    )
    return own + SYSTEM_KNOWN_HOSTS


def _one(found: Mapping[str, str | list[str] | None], key: str) -> str | None:
    value = found.get(key)
    return value if isinstance(value, str) else None


def _port(found: Mapping[str, str | list[str] | None], host: HostOptions) -> int:
    text = _one(found, "port") or str(DEFAULT_PORT)
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise ConfigRefused(
            f"found Port {text!r} in ssh_config, expected 1 to 65535",
            host=host.label,
            remedy="correct it",
        )
    return int(text)


_TIMES = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def _seconds(text: str | None) -> float | None:
    """A time as OpenSSH writes it: 90, 1m30s; None for what is none."""
    parts = re.findall(r"(\d+)([smhdw]?)", (text or "").lower())
    return float(sum(int(number) * _TIMES[unit] for number, unit in parts)) or None


def _lines(path: Path, own: bool, must_exist: bool, depth: int = 0) -> Iterator[str]:
    """The lines of ``path`` with its inclusions in place, and with ``Match`` blocks that ask for
    more than names made to match nothing.
    """
    block = "Host *"
    for line in _read(path, must_exist).splitlines():
        match = _KEYWORD.match(line)
        keyword = match[1].lower() if match and not line.lstrip().startswith("#") else ""
        value = match[2] if match else ""
        if keyword == "include":
            yield from _included(path, value, own, depth)
            yield block  # what follows belongs to the block before, whatever the file had
            continue
        if keyword == "match" and not _only_names(value):
            line = _NEVER
        elif keyword == "canonicalizehostname":  # would ask DNS for names the spec does not have
            continue
        if keyword in ("host", "match"):
            block = line
        yield line


def _included(path: Path, value: str, own: bool, depth: int) -> Iterator[str]:
    if not own:
        raise _Unreadable(f"{path} includes {value}, which only ~/.ssh/config may")
    if depth >= _LOOPS:
        raise _Unreadable(f"{path} includes files more than {_LOOPS} deep")
    folder = (
        SYSTEM_CONFIG.parent
        if path.is_relative_to(SYSTEM_CONFIG.parent)
        else USER_CONFIG.expanduser().parent
    )
    for pattern in value.replace('"', "").split():
        for name in sorted(glob.glob(str(folder / Path(pattern).expanduser()))):
            yield from _lines(Path(name), own, False, depth + 1)


def _only_names(criteria: str) -> bool:
    """Whether a ``Match`` asks for names alone, so that deciding it executes nothing and needs
    nothing.
    """
    words = iter(criteria.replace("=", " ").split())
    for word in words:
        kind = word.lower().removeprefix("!")
        if kind not in _NAMES_ONLY:
            return False
        if kind not in ("all", "canonical", "final"):
            next(words, None)
    return True


def _read(path: Path, must_exist: bool) -> str:
    try:
        return read_small(path).decode("utf-8", "replace")
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not must_exist:
            return ""
        raise _Unreadable(f"{path} cannot be read: {error.strerror}") from error
