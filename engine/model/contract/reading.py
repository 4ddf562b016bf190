"""The one door through which a workload's parser is asked: text is made alike before it, and
figures are believed only when the report has its end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..errors import ParseError
from ..results import Measurement
from ..spec import Json
from ..text.plain_text import normalised
from .values import Completed
from .workload import PrintsReports, ReadsFiles, Workload

_KUBECTL = re.compile(rb"^command terminated with exit code (\d+)\s*\Z", re.MULTILINE)


def plain(completed: Completed) -> Completed:
    """The same job with its output as UTF-8 and plain line ends."""
    return replace(
        completed,
        stdout=normalised(completed.stdout),
        stderr=normalised(completed.stderr),
        files={name: normalised(data) for name, data in completed.files.items()},
    )


def measured(
    workload: Workload, completed: Sequence[Completed], parameters: Mapping[str, Json]
) -> Sequence[Measurement]:
    """What ``workload`` reads in the jobs of one trial.

    Raises:
        ParseError: nothing was measured, a report lacks its end, or kubectl says in it that the
            program failed.
    """
    jobs = [plain(one) for one in completed]
    found = workload.parse(jobs, parameters)
    for job in jobs:
        if failed := _KUBECTL.search(job.stdout):
            raise ParseError(
                f"kubectl says that the program ended with exit code {failed[1].decode()}: what it"
                " printed is not whole"
            )
        if isinstance(workload, PrintsReports) and (
            missing := workload.unfinished(_report(workload, job, parameters))
        ):
            raise ParseError(
                f"the output of {workload.NAME} is cut: {missing}",
                remedy="the tool was probably stopped, or its output was not kept whole",
            )
    return found


def unread(
    workload: Workload, completed: Sequence[Completed], parameters: Mapping[str, Json]
) -> Sequence[str]:
    """The lines that look like results and that no figure comes from, as they were printed."""
    if not isinstance(workload, PrintsReports):
        return ()
    return [
        line
        for job in completed
        for line in workload.unread(_report(workload, plain(job), parameters))
    ]


def _report(workload: Workload, job: Completed, parameters: Mapping[str, Json]) -> str:
    """The text that has the figures: that of the file which the workload reads, if there is one."""
    names = workload.output_files(parameters) if isinstance(workload, ReadsFiles) else ()
    data = next((job.files[name] for name in names if job.files.get(name)), job.stdout)
    return data.decode("utf-8", "replace")
