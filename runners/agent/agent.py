"""What is asked of a place: to start a job or to find it, to serve, to take and give files, and to
end an allocation.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import NoReturn

from ...engine.model.contract.values import Command, Endpoint, Server
from ...engine.model.errors import Locked, MissingTool, RunFailed, Unsupported, UsageError
from ...engine.planning.commands import check_command
from .door import Door, HostDiskFull, ask, word
from .job import Job
from .record import Record
from .scripts import own
from .sockets import hex_addresses, hex_port
from .start import START, cpu_list, starter

COPY_TIMEOUT_S = 600.0
RELEASE_TIMEOUT_S = 120.0

_MARGIN_S = 60.0
_TAIL = 2000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How a command is started, beside what it says itself. ``environment``: what it gets beside
    its own variables; ``listens_at``: the address of a server as the place sees it, where that is
    not its endpoint's; ``variables``: those of start.sh that are the runner's own.
    """

    workdir: str
    allocation: str
    markers: Mapping[str, str]
    cpus: tuple[int, ...] = ()
    hold: int = 0
    lasting: str = ""
    listens_at: str = ""
    offset_s: float = 0.0
    environment: Mapping[str, str]
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Agent:
    """The jobs of one run at one place. ``token`` is the session's; ``known`` the jobs that it has
    met.
    """

    door: Door
    jobs: str
    run_id: str
    token: str
    known: MutableMapping[str, Job]

    def put(self, workdir: str, name: str, data: bytes) -> None:
        """Place a file in a work directory. Raises HostDiskFull, and RunFailed for a name that
        leads out of it.
        """
        arguments = (workdir, checked_file(name, workdir))
        said, _ = word(self.door, own("put"), arguments, data, timeout_s=COPY_TIMEOUT_S)
        if said != "placed":
            outside = said == "outside"
            why = f"found file name {name!r}, expected one inside the work directory"
            why = why if outside else "the work directory is gone"
            raise RunFailed(why, where=self.door.at(f"{workdir}/{name}"))

    def get(self, workdir: str, name: str) -> bytes:
        """Read a file of a work directory. Raises RunFailed when it is not there."""
        arguments = (workdir, checked_file(name, workdir))
        said = ask(self.door, own("get"), arguments, timeout_s=COPY_TIMEOUT_S)
        head, _, data = said.partition(b"\n")
        if head != b"found":
            first, _, why = head.decode("utf-8", "replace").partition(" ")
            raise RunFailed(
                f"cannot be read: {why or first}", where=self.door.at(f"{workdir}/{name}")
            )
        return data

    def start(
        self, command: Command, job_id: str, given: Start, endpoint: Endpoint | None = None
    ) -> Job:
        """Start a command detached; idempotent by ``job_id``: a second call attaches and never
        starts again. ``endpoint``: where it will listen, and nobody may listen yet.

        Raises:
            MissingTool, Unsupported: the program or a CPU is not there; nothing was created.
            Locked: the place became another run's while the connection was away.
            HostDiskFull: the state directory cannot be written.
        """
        job_id = checked_name(job_id, "job id")
        if (known := self.known.get(job_id)) is not None and not known.discarded:
            return known
        check_command(command)
        markers = {**given.markers, "BENCHSPEC_JOB": job_id}
        record = Record(
            argv=command.argv,
            workdir=given.workdir,
            fetch=tuple(checked_file(name, given.workdir) for name in command.fetch),
            allocation=given.allocation,
            started_at=time.time(),
            offset_s=given.offset_s,
        )
        environment = {**given.environment, **command.env, **command.secrets, **markers}
        variables = self._variables(job_id, given, record, endpoint)
        told = starter(variables, environment, command.argv)
        said, detail = word(self.door, START, (), told)
        if said not in ("started", "attached"):
            self._refuse(said, detail, command, given, endpoint)
        job = Job(self.door, self.jobs, job_id, record, markers)
        self.known[job_id] = job
        return job

    def _variables(
        self, job_id: str, given: Start, record: Record, endpoint: Endpoint | None
    ) -> dict[str, str]:
        return {
            "lock": "",
            "ttl": "0",
            "group": "",
            **given.variables,
            "jobs": self.jobs,
            "job": job_id,
            "run": self.run_id,
            "token": self.token,
            "work": given.workdir,
            "cpus": cpu_list(given.cpus),
            "hold": str(given.hold),
            "lasting": given.lasting,
            "fifos": self.door.manner.fifos,
            "tell": self.door.manner.told,
            "port": hex_port(endpoint.port) if endpoint else "",
            "addresses": hex_addresses(given.listens_at or endpoint.host) if endpoint else "",
            "record": record.text(),
        }

    def _refuse(
        self, said: str, detail: str, command: Command, given: Start, endpoint: Endpoint | None
    ) -> NoReturn:
        """Raise what a starter's word stands for."""
        name, where = command.argv[0], self.door.at(f"role {command.role}")
        match said:
            case "missing":
                raise MissingTool(
                    f"no program {name!r} in PATH={detail}",
                    where=where,
                    remedy=self.door.manner.missing.format(name=name),
                )
            case "cpus":
                raise Unsupported(
                    f"found CPUs {cpu_list(given.cpus)}, expected some of those the host has:"
                    f" {detail}",
                    where=where,
                    remedy="change `cpus` in the spec",
                )
            case "occupied" if endpoint is not None:
                raise RunFailed(
                    f"something else listens on {endpoint.host} port {endpoint.port} already",
                    where=self.door.at(f"server {name}"),
                    remedy="end it, or choose a port",
                )
            case "unlocked":
                raise Locked(
                    f"is no longer held for this run ({detail or 'its lock is gone'})",
                    where=self.door.at(""),
                    remedy="resume the run later",
                )
            case "gone":
                raise HostDiskFull(
                    "the run's directories are gone",
                    where=where,
                    remedy="look who removes files below /var/tmp or `workdir`",
                )
            case "withdrawn":
                raise RunFailed(
                    "this job was taken back by another controller, and is never started under"
                    " its id",
                    where=where,
                )
            case _:
                raise RunFailed(
                    f"cannot be started: {detail or said}",
                    where=self.door.at(name),
                    remedy="shorten its arguments",
                )

    def serve(self, server: Server, job_id: str, given: Start) -> Job:
        """Start a server and wait until its endpoint is listened on, without being its first
        client.

        Raises:
            RunFailed: it ended or did not listen in time; the message has the end of its stderr. It
                is not left running.
        """
        endpoint = server.endpoint
        job = self.start(server.command, job_id, given, endpoint)
        where = self.door.at(f"server {server.command.argv[0]}")
        arguments = (
            hex_port(endpoint.port),
            hex_addresses(given.listens_at or endpoint.host),
            str(math.ceil(server.ready_timeout_s * 100)),
            self.jobs,
            job_id,
        )
        timeout_s = server.ready_timeout_s + _MARGIN_S
        said, _ = word(self.door, own("await"), arguments, timeout_s=timeout_s)
        if said == "listening":
            return job
        if said == "deaf":
            job.cancel()
            raise RunFailed(
                f"did not listen on {endpoint.host} port {endpoint.port} within"
                f" {server.ready_timeout_s:g} s{self._last_words(job_id)}",
                where=where,
            )
        code = job.collect().exit_code
        raise RunFailed(
            f"ended (exit code {code}) before it listened on port"
            f" {endpoint.port}{self._last_words(job_id)}",
            where=where,
        )

    def _last_words(self, job_id: str) -> str:
        said = ask(self.door, own("words"), (self.jobs, job_id, str(_TAIL)))
        text = said.decode("utf-8", "replace").strip()
        return f"; its stderr ends with:\n{text}" if text else "; its stderr is empty"

    def attach(self, job_id: str, markers: Mapping[str, str]) -> Job | None:
        """The job of that id at this place; None if its program never ran there, which then is made
        sure.
        """
        said = ask(self.door, own("attach"), (self.jobs, job_id, self.token))
        head, _, rest = said.partition(b"\n")
        if head != b"known":
            return None
        record = Record.parse(rest, self.door.at(f"job {job_id}"))
        return Job(self.door, self.jobs, job_id, record, {**markers, "BENCHSPEC_JOB": job_id})

    def release(self, site: str, work: str, allocation_id: str, markers: Mapping[str, str]) -> str:
        """End everybody of an allocation and remove everything of it; what is left, or "". ``site``
        is the site's directory, ``work`` that of its work directories.
        """
        marks = (f"{name}={value}" for name, value in markers.items())
        arguments = (site, work, allocation_id, *marks)
        said, rest = word(self.door, own("release"), arguments, timeout_s=RELEASE_TIMEOUT_S)
        return rest if said == "left" else ""


def checked_name(name: str, what: str) -> str:
    """Return ``name`` if it can be one file name and nothing else. Raises UsageError."""
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"found {what} {name!r}, expected letters, digits, '.', '_' and '-', starting with a"
            " letter or digit"
        )
    return name


def checked_file(name: str, directory: str) -> str:
    """Return ``name`` if it can be a file below ``directory``; what links do there is checked at
    the place. Raises RunFailed.
    """
    parts = name.split("/")
    if (
        not name
        or "\0" in name
        or name.startswith("/")
        or ".." in parts
        or all(part in ("", ".") for part in parts)
        or parts[-1] in ("", ".")
    ):
        raise RunFailed(
            f"found file name {name!r}, expected one inside the work directory", where=directory
        )
    return name
