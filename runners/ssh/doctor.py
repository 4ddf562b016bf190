"""Pre-flight findings about the hosts of a site: what would make a run fail there, cannot be done,
or adds noise. Nothing stays on them.

A host that cannot be used does not hide the others. One that another run holds is not looked at any
further: that would disturb what it measures.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...engine.facts import catalogue as facts
from ...engine.facts.boundaries import UNKNOWN
from ...engine.facts.clocks import clock_finding
from ...engine.model.errors import BenchspecError, Locked
from ...engine.model.results import FactSet, Finding, FindingLevel
from ...engine.model.spec import Json, Role, Site
from ...engine.planning.design.variation import rate
from ..agent.scripts import own
from .failures import BecomePasswordNeeded, BecomePasswordWrong, BecomeRefused
from .hosts import observe
from .hosts.crew import POOL, host_name, hosts_of_roles, workdir
from .hosts.host import Host
from .hosts.in_parallel import attempt, together
from .options import HostOptions, SiteOptions, site_options
from .transport.channel import Refused, Silence, open_channel
from .transport.connection import Connection
from .transport.framing import legible
from .transport.reconnecting import RUNS, STREAMS
from .transport.tcp_probe import PROHIBITED, Forwarding

LITTLE_SPACE_B = 2 * 2**30
SESSIONS = 10
"""So many sessions are tried at once: what sshd allows on one connection unless told otherwise
(MaxSessions).
"""

ADMINS = {"sudo", "wheel", "admin"}
"""Groups whose members may usually become root."""

_LIMIT_TIMEOUT_S = 5.0
_TAIL = 200

# $1 directory in which work directories would be made. Says: user, its groups, flock, and of the
# nearest directory that is there: its name, whether it can be written, its free KiB. sudo is not
# tried, since it leaves a file in the home of whom it lets in
_LOOK = r"""
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin LC_ALL=C
export PATH LC_ALL
yes() { "$@" >/dev/null 2>&1 </dev/null && printf 'yes\0' || printf 'no\0'; }
printf '%s\0' "$(id -un)"
printf '%s\0' "$(id -nG)"
yes command -v flock
d=$1
while [ ! -d "$d" ]; do d=${d%/*}; d=${d:-/}; done
printf '%s\0' "$d"
yes [ -w "$d" ]
df -P -k "$d" | awk 'NR==2{printf "%s\0", $4}'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patient:
    """A host that was reached, the roles on it, and where its work directories would be made."""

    host: Host
    options: HostOptions
    roles: tuple[Role, ...]
    directory: str

    def says(self, code: str, level: FindingLevel, message: str) -> Finding:
        """A finding that names the host."""
        return _says(self.host.name, code, level, message)


def check(site: Site) -> list[Finding]:
    """Every host of ``site``: reachable and by which key, rights, disk, lock, clock, limits of its
    sshd, noise, and the paths between them.
    """
    options = site_options(site)
    roles = hosts_of_roles(options)
    opened = POOL.open(options, [role.value for role in roles])
    connections = {
        Role(name): found for name, found in opened.items() if isinstance(found, Connection)
    }
    try:
        patients = _patients(options, roles, connections)
        found = together(lambda patient: _examine(patient, site.name), patients)
        free = [
            patient
            for patient, findings in zip(patients, found, strict=True)
            if "F623" not in {finding.code for finding in findings}
        ]
        lost = [
            _lost(roles[Role(name)], error)
            for name, error in opened.items()
            if isinstance(error, BenchspecError)
        ]
        return list(
            dict.fromkeys(
                [*lost, *(finding for findings in found for finding in findings), *_paths(free)]
            )
        )
    finally:
        attempt(POOL.release, connections.values())


def _says(host: str, code: str, level: FindingLevel, message: str) -> Finding:
    return Finding(code=code, level=level, message=f"{host}: {message}")


def _lost(options: HostOptions, error: BenchspecError) -> Finding:
    return _says(host_name(options), "F621", FindingLevel.ERROR, _in_words(error))


def _in_words(error: BenchspecError) -> str:
    return f"{error.message}; {error.remedy}" if error.remedy else error.message


def _patients(
    options: SiteOptions, roles: Mapping[Role, HostOptions], connections: Mapping[Role, Connection]
) -> list[Patient]:
    by_connection: dict[Connection, list[Role]] = {}
    for role, connection in connections.items():
        by_connection.setdefault(connection, []).append(role)
    return [
        Patient(
            host=Host(host_name(roles[on[0]]), connection, roles[on[0]]),
            options=roles[on[0]],
            roles=tuple(on),
            directory=workdir(options, roles[on[0]]) or "/var/tmp",
        )
        for connection, on in by_connection.items()
    ]


def _examine(patient: Patient, site: str) -> list[Finding]:
    """All that is to be said of one host; what it does not let itself be asked is a finding,
    too.
    """
    found: list[Finding] = []
    run_id = f"doctor-{secrets.token_hex(4)}"
    try:
        for part in (
            _entry(patient),
            _rights(patient),
            _limits(patient),
            _held(patient, run_id),
            _noise(patient, site),
        ):
            found.extend(part)
    except Locked as error:
        found.append(patient.says("F623", FindingLevel.ERROR, _in_words(error)))
    except (BecomeRefused, BecomePasswordNeeded, BecomePasswordWrong) as error:
        found.append(patient.says("F622", FindingLevel.ERROR, _in_words(error)))
    except BenchspecError as error:
        found.append(patient.says("F621", FindingLevel.ERROR, _in_words(error)))
    finally:
        patient.host.release()
    return found


def _entry(patient: Patient) -> Iterator[Finding]:
    verified = patient.host.connection.verified
    if verified is None:
        return
    level = FindingLevel.WARNING if verified.accepted else FindingLevel.NOTE
    key = (
        f"{verified.key.algorithm} {verified.key.fingerprint}, vouched for by"
        f" {'nobody but ' if verified.accepted else ''}{verified.source}"
    )
    yield patient.says(
        "F620",
        level,
        f"entered with {verified.entered_with or 'a key'}; its host key is {key}; roles"
        f" {', '.join(patient.roles)}",
    )


def _rights(patient: Patient) -> Iterator[Finding]:
    """Who we are there, with ``become`` as in a run; what may be written, and how much."""
    fields = patient.host.ask(_LOOK, (patient.directory,)).decode("utf-8", "replace").split("\0")
    user, groups, flock, directory, writable, free = (*fields, *[""] * 6)[:6]
    if patient.options.become is not None:
        rights = f"works as {user} (become)"
    elif user == "root":
        rights = "works as root"
    else:
        admin = " and ".join(sorted(ADMINS & set(groups.split())))
        rights = (
            f"works as {user}, without root{f' but in the group {admin}' if admin else ''}; to"
            " install packages the host needs `become`"
        )
    yield patient.says("F622", FindingLevel.NOTE, rights)
    if patient.host.connection.noise:
        noise = legible(patient.host.connection.noise)[:_TAIL]
        yield patient.says(
            "F627",
            FindingLevel.NOTE,
            f"prints something before it does what it is asked, which is skipped: {noise!r}",
        )
    if not patient.host.ask(own("home")).strip():
        yield patient.says("F628", FindingLevel.NOTE, UNKNOWN)
    if flock != "yes":
        yield patient.says(
            "F623",
            FindingLevel.WARNING,
            "has no flock (util-linux), so that nothing keeps two runs from using it at once",
        )
    if writable != "yes":
        yield patient.says(
            "F611",
            FindingLevel.ERROR,
            f"{patient.directory} cannot be written: {user} has no rights on {directory}; set"
            " `workdir`",
        )
    elif free.isdigit():
        free_b = int(free) * 1024
        level = FindingLevel.WARNING if free_b < LITTLE_SPACE_B else FindingLevel.NOTE
        yield patient.says("F612", level, f"{patient.directory} has {free_b / 2**30:.1f} GiB free")


def _limits(patient: Patient) -> Iterator[Finding]:
    """What its sshd allows: sessions at once on one connection, connections to elsewhere."""
    transport = patient.host.connection.transport()
    with contextlib.ExitStack() as stack:
        opened = 0
        with contextlib.suppress(Refused, Silence):
            for opened in range(SESSIONS):  # noqa: B007  # counts those before the one that was refused
                stack.enter_context(
                    contextlib.closing(open_channel(transport, "session", _LIMIT_TIMEOUT_S))
                )
            opened = SESSIONS
    enough = opened >= RUNS + STREAMS
    advice = (
        ""
        if enough
        else (
            f"; up to {RUNS + STREAMS} are used, so that something will have to wait: raise"
            " MaxSessions in its sshd_config"
        )
    )
    at_least = "at least " if opened == SESSIONS else ""
    yield patient.says(
        "F624",
        FindingLevel.NOTE if enough else FindingLevel.WARNING,
        f"its sshd opens {at_least}{opened} sessions at once{advice}",
    )
    try:
        Forwarding(transport, "127.0.0.1", 22).wait(_LIMIT_TIMEOUT_S)
    except Refused as error:
        if error.code == PROHIBITED:
            message = (
                "its sshd forwards no connections (AllowTcpForwarding): servers are probed with nc,"
                " bash or python3 of the host instead"
            )
            yield patient.says("F624", FindingLevel.NOTE, message)
    except TimeoutError:
        pass


def _held(patient: Patient, run_id: str) -> Iterator[Finding]:
    """Take the host as a run would, which asks its clock as well. Raises Locked."""
    patient.host.hold(run_id)
    offset = patient.host.clock.offset
    if offset is None:
        yield patient.says(
            "F521",
            FindingLevel.NOTE,
            "its `date` knows whole seconds only, so that its clock is told by its uptime",
        )
        return
    seen = facts.clock_facts(offset.value_s, offset.bound_s)
    off = clock_finding(
        FactSet(target="", site=patient.host.name, when="before", observed_at=0.0, facts=seen)
    )
    how = (
        f"its clock is {offset.value_s * 1000:+.1f} ms off, known to within"
        f" {offset.bound_s * 1000:.1f} ms"
    )
    yield patient.says(
        "F521",
        FindingLevel.WARNING if off else FindingLevel.NOTE,
        f"{how}{'; start a time service there' if off else ''}",
    )


def _noise(patient: Patient, site: str) -> Iterator[Finding]:
    seen = FactSet(
        target="",
        site=site,
        when="before",
        observed_at=0.0,
        facts=observe.host_facts(patient.host, patient.directory),
    )
    cpus, online = seen.value("cpu.count"), seen.value("cpu.online")
    yield patient.says(
        "F613",
        FindingLevel.NOTE if cpus != 1 else FindingLevel.WARNING,
        f"CPUs online: {online} ({_known(seen.value('cpu.model'))})",
    )
    for finding in rate(seen):
        yield replace(finding, message=f"{patient.host.name}: {finding.message}")


def _known(value: Json) -> str:
    return "unknown" if value is None else str(value)


def _paths(patients: Sequence[Patient]) -> Iterator[Finding]:
    """The way from each role to the one it has to do with, where both hosts were reached; and two
    names that are one machine.
    """
    at = {role: patient for patient in patients for role in patient.roles}
    ends = [
        (at[role], role, far)
        for role in at
        if (far := facts.far_end(role, at)) is not None and at[far] is not at[role]
    ]
    yield from together(lambda end: _path(*end, at[end[2]]), ends)
    identities, _ = attempt(
        lambda patient: (patient.host.name, observe.identity(patient.host)), patients
    )
    for name, identity in identities:
        twins = [other for other, its in identities if its == identity and other != name]
        if identity is not None and twins:
            yield _says(
                name,
                "F625",
                FindingLevel.WARNING,
                f"is the same machine as {', '.join(twins)} (machine-id); across-nodes is refused"
                " for them",
            )


def _path(patient: Patient, role: Role, far: Role, other: Patient) -> Finding:
    try:
        peer = other.options.address or other.host.address
        seen = {fact.name: fact.value for fact in observe.path(patient.host, peer)}
    except BenchspecError as error:
        return patient.says(
            "F625",
            FindingLevel.WARNING,
            f"the way from {role} to {far} on {other.host.name} was not seen: {error.headline}",
        )
    if seen["path.interface"] is None:
        message = (
            f"{role} sees no way to {far} on {other.host.name} at {peer}, unless a lifecycle step"
            " makes one (or it has no `ip`)"
        )
        return patient.says("F625", FindingLevel.NOTE, message)
    mtu, link = seen["path.mtu"], seen["path.link_mtu"]
    way = f"{role} reaches {far} on {other.host.name} by {seen['path.interface']}"
    if isinstance(mtu, int) and isinstance(link, int) and mtu < link:
        return patient.says(
            "F625",
            FindingLevel.WARNING,
            f"{way}; its MTU is {link} B, but packets over {mtu} B do not get through",
        )
    measured = (
        f"packets of {mtu} B get through"
        if mtu is not None
        else "its MTU was not measured (no ping of iputils, or no answer)"
    )
    return patient.says("F625", FindingLevel.NOTE, f"{way}; {measured}")
