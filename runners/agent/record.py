"""The directory of a job at its place: what is written there, and how a finished one is read.

::

    job      what was started: its allocation, then a line of JSON (argv, work directory, files to
    fetch, time); no secrets
    pid      boot id and /proc line of the wrapper, created exclusively by the wrapper itself; or
    "withdrawn TOKEN", created by who took the job back
    end      a FIFO that has a writer as long as the wrapper lives
    life     a FIFO that has a writer until the site's ttl is over, or the program has ended
    stdout   stderr   the program's raw bytes
    rc       exit code; wall clock (s) and uptime (1/100 s) when the program began and ended. "-"
    for what is not known
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from ...engine.model.errors import RunFailed
from ...engine.model.spec import Json
from .clock import Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What the file ``job`` holds. ``started_at`` in Unix s by the clock of the controller that
    started it; ``offset_s``: by how much the place's clock is ahead of it, where that is not
    measured anew.
    """

    argv: tuple[str, ...]
    workdir: str
    fetch: tuple[str, ...]
    allocation: str
    started_at: float
    offset_s: float = 0.0

    def text(self) -> str:
        """The file's content."""
        content = {
            "argv": self.argv,
            "workdir": self.workdir,
            "fetch": self.fetch,
            "started_at": self.started_at,
            "offset_s": self.offset_s,
        }
        return f"{self.allocation}\n{json.dumps(content)}"

    @classmethod
    def parse(cls, text: bytes, where: str) -> Record:
        """Read it back. Raises RunFailed when it is not whole."""
        allocation, _, rest = text.decode("utf-8", "replace").partition("\n")
        try:
            # without a line of its own where the local runner wrote it before there was an agent
            found = cast("Mapping[str, Json]", json.loads(rest or allocation))
            return cls(
                argv=tuple(cast("list[str]", found["argv"])),
                workdir=cast(str, found["workdir"]),
                fetch=tuple(cast("list[str]", found["fetch"])),
                allocation=allocation if rest else cast(str, found["allocation"]),
                started_at=cast(float, found["started_at"]),
                offset_s=cast(float, found.get("offset_s", 0.0)),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise RunFailed(f"holds no readable record of a job ({error})", where=where) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What ``rc`` says: the exit code (128+n for a signal), and when the program began and ended,
    as far as it is known.
    """

    exit_code: int
    began: Stamp | None
    ended: Stamp | None

    @classmethod
    def parse(cls, text: str) -> Ending | None:
        """Read the line; None when it is none or was cut short."""
        fields = text.split(" ")
        if len(fields) < 3 and text.endswith("\n") and fields[0].strip().isdigit():
            # as the runners of this host and of pods wrote it before there was an agent
            return cls(exit_code=int(fields[0]), began=None, ended=None)
        if len(fields) != 5 or not text.endswith("\n") or not fields[0].isdigit():
            return None
        return cls(
            exit_code=int(fields[0]),
            began=Stamp.parse(fields[1], fields[2]),
            ended=Stamp.parse(fields[3], fields[4]),
        )
