"""Targets that stand on their own: what `run`, `resume`, `up` and `down` share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .options import RUNS, Keep
from .terminal import echo

if TYPE_CHECKING:
    from ..engine.execute.lifecycle import Adopted
    from ..engine.plan import Plan
    from ..engine.rundir import RunDirectory
    from ..engine.spec import LoadedSpec, Spec


def choose_upkeep(name: str, given: Path | None) -> RunDirectory | None:
    """The directory that keeps targets of the spec called ``name``: the one that is given, else the only one in `runs/`.

    Raises:
        UsageError: the given one keeps nothing, or there are several.
    """
    from ..engine.errors import UsageError
    from ..engine.execute.upkeep import find_upkeep
    from ..engine.rundir import RunDirectory

    if given is not None:
        directory = RunDirectory.open(given)
        if not directory.is_upkeep:
            raise UsageError("found a run, expected a directory that `benchspec up` made", where=str(given))
        return directory
    found = find_upkeep(name, RUNS)
    if len(found) > 1:
        names = ", ".join(str(directory.path) for directory in found)
        raise UsageError(
            f"targets of {name} stand in several directories: {names}", remedy="name one with --up, or take some down with `benchspec down`"
        )
    return found[0] if found else None


def standing_targets(directory: RunDirectory) -> frozenset[str]:
    """The targets that stand in ``directory``."""
    from ..engine.execute.standing import WHOLE_RUN, Standings
    from ..engine.journal import read_records

    records = read_records(directory.journal_path)[0] if directory.journal_path.exists() else []
    return frozenset(one.bringing.target for one in Standings(records).up if one.bringing.session == WHOLE_RUN and one.ready)


def planned_targets(plan: Plan) -> tuple[str, ...]:
    """The targets of ``plan``."""
    return tuple(dict.fromkeys(experiment.target for experiment in plan.experiments))


@contextlib.contextmanager
def upkeep(
    loaded: LoadedSpec, plan: Plan, scripts: Mapping[str, bytes], standing: RunDirectory | None, keep: Keep, *, json_lines: bool, quiet: bool
) -> Iterator[Adopted]:
    """Hold what stands for the time of a run; with ``keep`` bring up what does not stand yet, and leave it or take it down afterwards."""
    from ..engine.errors import BenchspecError
    from ..engine.execute.lifecycle import NOTHING
    from ..engine.execute.upkeep import bring_up, has_upkeep, hold
    from .execution import catalogue
    from .progress import choose_observer
    from .run import create_directory

    targets = planned_targets(plan)
    directory = standing
    if keep is not Keep.NEVER and any(has_upkeep(loaded.spec.target(name)) for name in targets):
        directory = standing or create_directory(loaded, plan, None, scripts=scripts, purpose="up")
    try:
        if directory is None:
            yield NOTHING
            return
        if keep is not Keep.NEVER:
            with hold(directory, loaded.spec, standing_targets(directory), scripts):
                pass  # only what was brought up by this very spec is added to
            with choose_observer(json_lines=json_lines, quiet=quiet) as observer:
                bring_up(directory, loaded.spec, targets, catalogue(directory).runner, observer, keep_failed=True)
        with hold(directory, loaded.spec, targets, scripts) as adopted:
            yield adopted
    except BenchspecError:
        if directory is not None and directory is not standing:
            _tell_kept(directory)
        raise
    if directory is standing:
        return
    if keep is Keep.FAILED:
        take_down(directory, json_lines=json_lines, quiet=quiet)
    else:
        _tell_kept(directory)


def _tell_kept(directory: RunDirectory) -> None:
    if kept := _up(directory):
        echo(f"kept standing: {', '.join(sorted(kept))}; `benchspec down {directory.path}` takes it down", err=True)


def _up(directory: RunDirectory) -> frozenset[str]:
    from ..engine.execute.standing import Standings
    from ..engine.journal import read_records

    records = read_records(directory.journal_path)[0] if directory.journal_path.exists() else []
    return frozenset(one.bringing.target for one in Standings(records).up)


def adopted_before(directory: RunDirectory) -> RunDirectory | None:
    """The directory whose standing targets a run used before it was cut short, if any of them still stands."""
    from ..engine.errors import BenchspecError
    from ..engine.execute.standing import ADOPTED
    from ..engine.journal import read_records
    from ..engine.rundir import RunDirectory

    records = read_records(directory.journal_path)[0] if directory.journal_path.exists() else []
    used = [record.data for record in records if record.type == ADOPTED]
    if not used:
        return None
    try:
        kept = RunDirectory.open(Path(used[-1]["directory"]))
        gone = {data["target"] for data in used} - standing_targets(kept)
    except BenchspecError:
        kept, gone = None, {data["target"] for data in used}
    if gone:
        echo(f"no longer standing, so brought up and destroyed by this run: {', '.join(sorted(gone))}", err=True)
    return kept


@contextlib.contextmanager
def held(standing: RunDirectory | None, spec: Spec, plan: Plan, directory: RunDirectory) -> Iterator[Adopted]:
    """Hold what stands for the time a run is resumed."""
    from ..engine.execute.lifecycle import NOTHING
    from ..engine.execute.upkeep import hold, kept_scripts

    if standing is None:
        yield NOTHING
        return
    targets = planned_targets(plan)
    scripts = {file: data for target in targets for file, data in kept_scripts(directory, spec.target(target)).items()}
    with hold(standing, spec, targets, scripts) as adopted:
        yield adopted


def take_down(directory: RunDirectory, *, json_lines: bool, quiet: bool) -> None:
    """Take down what stands in ``directory``. Raises RunFailed when something is left."""
    from .clean import clean_directory, raise_for
    from .progress import choose_observer

    with choose_observer(json_lines=json_lines, quiet=quiet) as observer:
        raise_for([clean_directory(directory, observer)], then=f"benchspec down {directory.path}")
