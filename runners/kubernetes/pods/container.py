"""A role's container: scripts are run in it, and its log is followed."""

from __future__ import annotations

import base64
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass

import urllib3

from ...agent import door
from ...agent.clock import Stamp
from ...agent.door import Answer, Manner
from ...agent.record import Record
from ...agent.scripts import own
from ..client.api import Api
from ..client.execute import execute
from ..failures import NotThere, PodLost, Refused
from ..names import Object
from . import pod as pods
from .manifests import BRINGER, BROUGHT, CONTAINER, extend_path

_QUIET_S = 20.0
"""After so long without a word the pod is looked at over the API, not on its node, which is
measuring.
"""


_SCRIPT_TIMEOUT_S = 60.0
_END = "#benchspec-end"
_DATA = b"#benchspec-data"
_ENTRY = f's=$(head -c "$1"); case $s in *"{_END}") eval "$s" ;; *) exit 97 ;; esac'
"""Takes the number of bytes of the script, and then the script, on standard input: no proxy or
audit log sees arguments, and secrets stay out of all. One that was cut short, since its controller
died, is not executed at all.
"""
_TRUNCATED = 97

MANNER = Manner(
    missing="use an image that has {name} (`image`), or correct its name",
    lost="killed from outside, perhaps for want of memory",
    remedy="ask for more `memory`; under this id it is not run again",
    broken="use an image with sh, setsid, base64, date and the other usual small programs",
    told="/proc/1/fd/1",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One running container of a pod."""

    api: Api
    pod: str
    name: str = CONTAINER
    shell: str = "sh"

    @classmethod
    def of(cls, api: Api, pod: Object) -> Container:
        """The role's container of a pod as the API server shows it."""
        first = (pod["spec"].get("initContainers") or [{}])[0]
        brought = first.get("name") == BRINGER
        return cls(
            api=api,
            pod=pod["metadata"]["name"],
            shell=f"{BROUGHT}/sh" if brought else "sh",
        )

    @property
    def manner(self) -> Manner:
        """What is special about a container."""
        return MANNER

    def at(self, what: str) -> str:
        """Where ``what`` is, for messages."""
        return f"{what} in pod {self.pod}" if what else f"pod {self.pod}"

    def sh(
        self,
        script: str,
        arguments: Sequence[str] = (),
        data: bytes = b"",
        *,
        timeout_s: float = _SCRIPT_TIMEOUT_S,
    ) -> Answer:
        """Run a script in it; it must be harmless to run it twice. Standard input stays open, so
        that ``data`` travel in the script.

        Raises:
            PodLost: the pod ended or is gone.
            Unreachable: its node does not answer.
        """
        text = f"set -- {shlex.join(arguments)}\n{script}".encode("utf-8", "surrogateescape")
        if data:
            coded = base64.encodebytes(data)
            text = b"base64 -d <<'%s' |\n%s%s\n{\n%s\n}" % (_DATA, coded, _DATA, text)
        text += f"\n{_END}".encode()
        entry = extend_path(self.shell) + _ENTRY
        argv = (self.shell, "-c", entry, "benchspec", str(len(text)))
        try:
            answer = execute(self.api, self.pod, self.name, argv, given=text, timeout_s=timeout_s)
        except Refused as error:
            self.check()
            raise error
        if answer.exit_code in (137, _TRUNCATED):
            self.check()
        return answer

    def ask(
        self,
        script: str,
        arguments: Sequence[str] = (),
        *,
        timeout_s: float = _SCRIPT_TIMEOUT_S,
    ) -> bytes:
        """What a script prints. Raises RunFailed with its stderr when it fails."""
        return door.ask(self, script, arguments, timeout_s=timeout_s)

    def await_end(self, jobs: str, job_id: str, timeout_s: float) -> str | None:
        """Wait for at most ``timeout_s``, without a word to its node: how it is then, None when it
        runs on. Raises PodLost.
        """
        if self.await_word(f"ended {job_id}", timeout_s):
            return "ended"  # its exit code is written before the word
        said, _ = door.word(self, own("state"), (jobs, job_id))
        return None if said == "running" else said

    def moment(self, stamp: Stamp, record: Record) -> float:
        """A moment that the node saw, in Unix s by the controller's clock."""
        if stamp.wall_s is None:
            return record.started_at
        return stamp.wall_s - record.offset_s

    def check(self) -> None:
        """See over the API that the pod still runs. Raises PodLost with the reason when it does
        not.
        """
        try:
            found = self.api.get(self.api.namespaced("pods", self.pod))
        except NotThere as error:
            told = pods.events(self.api, "Pod", self.pod)
            raise PodLost(
                f"pod {self.pod} was deleted: {told or 'evicted, or removed by hand'}",
                where=self.api.where,
            ) from error
        if found["metadata"].get("deletionTimestamp") or found.get("status", {}).get("phase") in (
            "Failed",
            "Succeeded",
        ):
            raise pods.lost(self.api, found)

    def await_word(self, word: str, timeout_s: float) -> bool:
        """Follow the log until it has the line ``word``; False when it has not within
        ``timeout_s``.

        The log is kept on the node, so a stream that breaks costs nothing: it is read again from
        its start.

        Raises:
            PodLost: the pod ended or is gone.
        """
        deadline = time.monotonic() + timeout_s
        path, wanted = f"{self.api.namespaced('pods', self.pod)}/log", word.encode()
        while (left := deadline - time.monotonic()) > 0:
            try:
                for line in self.api.stream(
                    path, min(left, _QUIET_S), container=self.name, follow="true"
                ):
                    if line == wanted:
                        return True
                    if time.monotonic() > deadline:
                        return False
                time.sleep(
                    min(0.2, max(0.0, deadline - time.monotonic()))
                )  # its kubelet ended the stream
            except urllib3.exceptions.ReadTimeoutError:
                pass
            except Refused as error:
                if error.status in (401, 403):
                    raise
                time.sleep(min(0.5, max(0.0, deadline - time.monotonic())))
            except (urllib3.exceptions.HTTPError, OSError):
                time.sleep(min(0.5, max(0.0, deadline - time.monotonic())))
            if time.monotonic() < deadline:
                self.check()
        return False
