"""Pre-flight findings about this host (codes F61x, F520): what would make a run fail, cannot be
done here or adds noise. Nothing is created.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from ...engine.facts.boundaries import UNKNOWN
from ...engine.model.errors import UsageError
from ...engine.model.results import FactSet, Finding, FindingLevel
from ...engine.model.spec import Site
from ...engine.planning.design.variation import rate
from . import groups, launch
from .observe import observe
from .state import places

LITTLE_SPACE_B = 2 * 2**30
_MANAGERS_NEED = "installing packages needs root; missing tools have to be installed by hand"


def check(site: Site) -> list[Finding]:
    """Shell and kernel, rights and space of the state and work directories, CPUs, and who may
    install packages.
    """
    return [*_host(), *_directories(site), *_cpus(), *_rights(), *_processes(), *_noise(site)]


def _finding(code: str, level: FindingLevel, message: str) -> Finding:
    return Finding(code=code, level=level, message=message)


def _host() -> Iterator[Finding]:
    if not os.access(launch.SHELL, os.X_OK):
        yield _finding(
            "F610",
            FindingLevel.ERROR,
            f"there is no {launch.SHELL}; the local runner starts every program through it",
        )
    if not Path("/proc/self/stat").exists():
        yield _finding(
            "F610",
            FindingLevel.ERROR,
            "/proc is not mounted; the local runner follows processes through it (Linux only)",
        )
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (OSError, AttributeError) as error:
        yield _finding(
            "F610",
            FindingLevel.ERROR,
            f"the kernel has no pidfd_open ({error}); Linux 5.3 or later is needed",
        )


def _directories(site: Site) -> Iterator[Finding]:
    try:
        where = places(site, "doctor")
    except UsageError as error:
        yield _finding("F611", FindingLevel.ERROR, str(error))
        return
    for path in dict.fromkeys(root.parent.parent for root in where.roots()):
        existing = next(p for p in (path, *path.parents) if p.exists())
        if not os.access(existing, os.W_OK | os.X_OK):
            yield _finding(
                "F611",
                FindingLevel.ERROR,
                f"{path} cannot be written: no rights on {existing}; set XDG_STATE_HOME or"
                " `workdir`",
            )
            continue
        free = shutil.disk_usage(existing).free
        level = FindingLevel.WARNING if free < LITTLE_SPACE_B else FindingLevel.NOTE
        yield _finding("F612", level, f"{path} has {free / 2**30:.1f} GiB free")


def _cpus() -> Iterator[Finding]:
    usable = sorted(os.sched_getaffinity(0))
    yield _finding(
        "F613",
        FindingLevel.NOTE,
        f"CPUs online: {launch.online()}; usable here: {','.join(map(str, usable))}",
    )
    if len(usable) == 1:
        yield _finding(
            "F613",
            FindingLevel.WARNING,
            "one CPU only: client, server and everything else of this host share it, results will"
            " scatter",
        )


def _noise(site: Site) -> Iterator[Finding]:
    workdir = site.options.get("workdir")
    facts = observe(workdir if isinstance(workdir, str) else "/var/tmp")
    yield from rate(
        FactSet(target="", site=site.name, when="before", observed_at=time.time(), facts=facts)
    )


def _processes() -> Iterator[Finding]:
    if os.access(launch.SHELL, os.X_OK) and groups.home() is None:
        yield _finding("F628", FindingLevel.NOTE, UNKNOWN)


def _rights() -> Iterator[Finding]:
    if os.geteuid() != 0:
        yield _finding("F614", FindingLevel.NOTE, _MANAGERS_NEED)
