"""``benchspec clean``."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .app import VERBS
from .options import DIRECTORY, RUNS, host_keys_option, print_json
from .terminal import echo

if TYPE_CHECKING:
    from ..engine.errors import BenchspecError
    from ..engine.execute.cleaning import Cleaned
    from ..engine.execute.events import Observer
    from ..engine.rundir import RunDirectory


@click.command("clean", short_help=VERBS["clean"])
@click.argument("run", type=DIRECTORY, required=False)
@click.option("--all", "everything", is_flag=True, help=f"Clean every run directory in RUN, a folder.  [default: {RUNS}]")
@click.option("--yes", "-y", is_flag=True, help="Carry out the spec's own destroy steps without asking.")
@host_keys_option
@click.option("--json", "as_json", is_flag=True, help="Print what was done and what is left as JSON.")
def command(run: Path | None, everything: bool, yes: bool, as_json: bool) -> None:
    """Remove whatever RUN left on its sites: processes, work directories. The run directory itself, with everything measured, stays.

    Targets that the run brought up and did not destroy are destroyed as their lifecycle says; the steps are shown first. Nothing else that
    benchspec did not create is touched; the sites are listed again afterwards. What is left is told, with the reason: a host that is away keeps
    nobody from cleaning the others, and the same command tries again. Exit code 4 if something is left.

    With --all, runs that another process carries out are left alone, and so is what `benchspec up` or `run --keep` left standing on purpose.
    """
    from ..engine.errors import UsageError
    from ..engine.rundir import RunDirectory

    if everything:
        found, skipped = _choose(run or RUNS)
        clean_all(found, skipped, yes=yes, as_json=as_json)
    elif run is None:
        raise UsageError("found no run to clean", remedy="name a run directory, or give --all")
    else:
        clean_all([RunDirectory.open(run)], {}, yes=yes, as_json=as_json)


def _choose(folder: Path) -> tuple[list[RunDirectory], dict[str, str]]:
    """The run directories in ``folder`` that are to be cleaned, and those that are left alone, with the reason."""
    from ..engine.errors import BenchspecError, UsageError
    from ..engine.journal import Journal
    from ..engine.rundir import MANIFEST, RunDirectory
    from .standing import standing_targets

    if not folder.is_dir() and folder == RUNS:
        return [], {}
    if not folder.is_dir():
        raise UsageError("found no such folder", where=str(folder), remedy="name the folder that holds the run directories")
    found, skipped = [], {}
    for path in sorted(manifest.parent for manifest in folder.glob(f"*/{MANIFEST}")):
        try:
            directory = RunDirectory.open(path)
            Journal(directory.journal_path).close()  # nobody writes it now
            stands = sorted(standing_targets(directory)) if directory.is_upkeep else []
        except BenchspecError as error:
            skipped[str(path)] = error.message
            continue
        if stands:
            skipped[str(path)] = f"{', '.join(stands)} was left standing on purpose: `benchspec down {path}` takes it down"
        else:
            found.append(directory)
    return found, skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What cleaning one run directory did; ``error`` why nothing at all could be done."""

    path: str
    run_id: str
    cleaned: Cleaned | None = None
    error: BenchspecError | None = None

    @property
    def is_clean(self) -> bool:
        """Whether nothing is left."""
        return self.cleaned is not None and not self.cleaned.left and not self.cleaned.problems


def clean_all(found: Sequence[RunDirectory], skipped: Mapping[str, str], *, yes: bool, as_json: bool) -> None:
    """Show the destroy steps of all, ask once, clean all, and tell. Raises RunFailed when something is left."""
    from .progress import choose_observer
    from .run import confirm

    confirm([line for directory in found for line in _destroy_steps(directory)], yes=yes)
    with choose_observer(json_lines=False, quiet=as_json) as observer:
        outcomes = [clean_directory(directory, observer) for directory in found]
    if as_json:
        print_json({"runs": [_to_json(outcome) for outcome in outcomes], "skipped": [{"run": path, "why": why} for path, why in skipped.items()]})
    else:
        _print(outcomes, skipped)
    raise_for(outcomes)


def _destroy_steps(directory: RunDirectory) -> list[str]:
    from ..engine.execute.lifecycle import standing_steps
    from ..engine.execute.step_texts import describe_step
    from ..engine.journal import read_records
    from ..engine.load import build_spec
    from .execution import catalogue
    from .run import copied_scripts

    if not directory.journal_path.exists():
        return []
    spec = build_spec(directory.resolved())
    steps = standing_steps(spec, read_records(directory.journal_path)[0])
    return [describe_step(step, spec, catalogue().runner, copied_scripts(directory)) for step in steps]


def clean_directory(directory: RunDirectory, observer: Observer) -> Outcome:
    """Destroy what stands of one run and remove what it left. Raises Interrupted."""
    from ..engine.errors import BenchspecError, Interrupted
    from ..engine.execute.cleaning import Cleaned, clean
    from ..engine.execute.imported import is_imported
    from ..engine.journal import Journal
    from ..engine.load import build_spec
    from ..engine.readback import read_plan
    from .execution import catalogue

    path = str(directory.path)
    if is_imported(directory):
        return Outcome(path=path, run_id=directory.run_id, cleaned=Cleaned())  # it created nothing anywhere
    try:
        with contextlib.ExitStack() as stack:
            journal = stack.enter_context(Journal(directory.journal_path))
            spec, plan = build_spec(directory.resolved()), read_plan(directory)
            done = clean(directory, spec, plan, catalogue(directory).runner, journal, observer)
    except Interrupted:
        raise
    except BenchspecError as error:
        return Outcome(path=path, run_id=directory.run_id, error=error)
    return Outcome(path=path, run_id=directory.run_id, cleaned=done)


def _print(outcomes: Sequence[Outcome], skipped: Mapping[str, str]) -> None:
    for outcome in outcomes:
        done = outcome.cleaned
        for target in done.destroyed if done else ():
            echo(f"{outcome.path}: destroyed target {target}")
        for name in done.removed if done else ():
            echo(f"{outcome.path}: removed {name}")
        if outcome.is_clean:
            echo(f"{outcome.path}: nothing of this run is left on its sites")
        for problem in _problems(outcome):
            echo(f"{outcome.path}: left: {problem}", err=True)
    for path, why in skipped.items():
        echo(f"{path}: left alone: {why}")
    if not outcomes and not skipped:
        echo("there is nothing to clean")


def _problems(outcome: Outcome) -> list[str]:
    if outcome.cleaned is None:
        return [str(outcome.error)]
    return [*outcome.cleaned.problems, *(f"{left}" + (f"\n  what to do: {left.remedy}" if left.remedy else "") for left in outcome.cleaned.left)]


def _to_json(outcome: Outcome) -> dict[str, object]:
    from ..engine.codec import encode

    done = outcome.cleaned
    return {
        "run": outcome.path,
        "run_id": outcome.run_id,
        "clean": outcome.is_clean,
        "destroyed": list(done.destroyed) if done else [],
        "removed": list(done.removed) if done else [],
        "problems": list(done.problems) if done else [str(outcome.error)],
        "left": encode(done.left) if done else [],
    }


def raise_for(outcomes: Sequence[Outcome], *, then: str | None = None) -> None:
    """Raises RunFailed when something is left; for a single run that could not be looked at, the reason itself.

    ``then``: the command that tries again; None where that is the one that is carried out, which has told what is left.
    """
    from ..engine.errors import RunFailed

    dirty = [outcome for outcome in outcomes if not outcome.is_clean]
    if len(outcomes) == 1 and outcomes[0].error is not None:
        raise outcomes[0].error
    if dirty:
        what = "" if then is None else ": " + "; ".join(f"{outcome.path}: {problem}" for outcome in dirty for problem in _problems(outcome))
        of = f"{len(dirty)} of {len(outcomes)} runs" if len(outcomes) > 1 else dirty[0].path
        again = "the same command again" if then is None else f"`{then}`"
        remedy = f"run {again} when its hosts can be reached; remove by hand what nobody can reach any more"
        raise RunFailed(f"something is left of {of}{what}", remedy=remedy)
