"""Carrying out a run and writing its page: what ``run`` and ``resume`` share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .options import accepts_new_host_keys
from .terminal import echo

if TYPE_CHECKING:
    from ..engine.analysis.model import Analysis
    from ..engine.execute.lifecycle import Adopted
    from ..engine.execute.run import Catalogue, Options
    from ..engine.plan import Plan
    from ..engine.ports import Problem, Runner
    from ..engine.results import RunData
    from ..engine.rundir import RunDirectory
    from ..engine.spec import Spec


def catalogue(directory: RunDirectory | None = None) -> Catalogue:
    """The runners and workloads of this installation. Host keys that the user lets runners accept are kept in ``directory``."""
    from ..engine.execute.run import Catalogue
    from ..engine.ports import KeepsHostKeys
    from ..runners.registry import get_runner
    from ..workloads.registry import get_workload

    accept_new = accepts_new_host_keys()  # asked here: sites are connected to in threads, which know nothing of the command line

    def runner(kind: str) -> Runner:
        found = get_runner(kind)
        if isinstance(found, KeepsHostKeys):
            found.keep_host_keys(directory.known_hosts_path if directory else None, accept_new=accept_new)
        return found

    return Catalogue(runner=runner, workload=get_workload)


def refuse_problems(problems: Sequence[Problem]) -> None:
    """Refuse a plan that cannot be carried out, before anything is created. Raises Unsupported with every problem."""
    from ..engine.errors import Unsupported

    if not problems:
        return
    for problem in problems:
        echo(f"cannot run: {problem.message}\n  what to do: {problem.remedy}", err=True)
    raise Unsupported(f"{len(problems)} problem{'s' if len(problems) > 1 else ''} found; nothing was created", remedy="see above")


def carry_out(
    directory: RunDirectory, spec: Spec, plan: Plan, options: Options, *, json_lines: bool, quiet: bool, adopted: Adopted | None = None
) -> None:
    """Run, then write the page from what is durable, whatever the run's end was; the run's error is raised after that. ``adopted`` stands already."""
    from ..engine.errors import BenchspecError, Locked
    from ..engine.execute.lifecycle import NOTHING
    from ..engine.execute.run import Run
    from .progress import choose_observer

    error: BenchspecError | None = None
    with choose_observer(json_lines=json_lines, quiet=quiet) as observer:
        try:
            Run(directory, spec, plan, catalogue(directory), observer, options, adopted or NOTHING).execute()
        except Locked:  # the page is for whoever holds the run to write, and not while it measures
            raise
        except BenchspecError as caught:
            error = caught
    try:
        page = write_page(directory.path)
    except BenchspecError as caught:
        raise (error or caught) from caught
    if error is not None:
        echo(f"page of what was measured: {page}" if page else f"run directory: {directory.path}", err=True)
        raise error
    echo(page or directory.path)


def write_page(path: Path) -> Path | None:
    """Write the Markdown page and its figures into the run directory; None when there is nothing to tell of yet."""
    from ..engine.readback import read_run
    from ..engine.rundir import RunDirectory
    from ..reports.render import render_report, write_report

    run = read_run(path)
    if not run.trials:
        return None
    target = path / "report"
    files = render_report(run, analyse_run(run), "markdown", template=RunDirectory.open(path).template)
    write_report(files, target)
    return target / next(iter(files))


def analyse_run(run: RunData) -> Analysis:
    """Analyse ``run`` with the metrics its workloads declare."""
    from ..engine.analysis.analyse import analyse
    from ..workloads.registry import metrics_of

    return analyse(run, metrics_of(run.experiments))
