"""A role's container: scripts are run in it, and its log is followed."""

from __future__ import annotations

import time
from dataclasses import dataclass

import urllib3

from ...engine.errors import RunFailed
from . import pods, scripts
from .api import Api
from .execute import Answer, execute
from .failures import NotThere, PodLost, Refused
from .manifests import CONTAINER

_QUIET_S = 20.0
"""After so long without a word the pod is looked at over the API, not on its node, which is measuring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One running container of a pod."""

    api: Api
    pod: str
    name: str = CONTAINER

    def run(self, script: str, timeout_s: float = 60.0) -> Answer:
        """Run a script in it; it must be harmless to run it twice.

        Raises:
            PodLost: the pod ended or is gone.
            Unreachable: its node does not answer.
        """
        data = f"{script}\n{scripts.END}".encode("utf-8", "surrogateescape")
        try:
            answer = execute(self.api, self.pod, self.name, (*scripts.ENTRY, str(len(data))), given=data, timeout_s=timeout_s)
        except Refused as error:
            self.check()
            raise error
        if answer.code == 137 or answer.code == scripts.TRUNCATED:
            self.check()
        return answer

    def ask(self, script: str, timeout_s: float = 60.0) -> bytes:
        """What a script prints. Raises RunFailed with its stderr when it fails."""
        answer = self.run(script, timeout_s)
        if answer.code != 0:
            said = answer.stderr.decode("utf-8", "replace").strip()[-1000:]
            raise RunFailed(f"a script of ours failed there (exit code {answer.code}): {said}", where=f"pod {self.pod}",
                            remedy="use an image with sh, setsid, base64, date and the other usual small programs")  # fmt: skip
        return answer.stdout

    def check(self) -> None:
        """See over the API that the pod still runs. Raises PodLost with the reason when it does not."""
        try:
            found = self.api.get(self.api.namespaced("pods", self.pod))
        except NotThere as error:
            told = pods.events(self.api, "Pod", self.pod)
            raise PodLost(f"pod {self.pod} was deleted: {told or 'evicted, or removed by hand'}", where=self.api.where) from error
        if found["metadata"].get("deletionTimestamp") or found.get("status", {}).get("phase") in ("Failed", "Succeeded"):
            raise pods.lost(self.api, found)

    def await_word(self, word: str, timeout_s: float) -> bool:
        """Follow the log until it has the line ``word``; False when it has not within ``timeout_s``.

        The log is kept on the node, so a stream that breaks costs nothing: it is read again from its start.

        Raises:
            PodLost: the pod ended or is gone.
        """
        deadline = time.monotonic() + timeout_s
        path, wanted = f"{self.api.namespaced('pods', self.pod)}/log", word.encode()
        while (left := deadline - time.monotonic()) > 0:
            try:
                for line in self.api.stream(path, min(left, _QUIET_S), container=self.name, follow="true"):
                    if line == wanted:
                        return True
                    if time.monotonic() > deadline:
                        return False
                time.sleep(min(0.2, max(0.0, deadline - time.monotonic())))  # its kubelet ended the stream
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
