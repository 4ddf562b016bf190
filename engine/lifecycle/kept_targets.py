"""Targets that stand on their own: brought up by `up` in a run directory of their own, used by any
number of runs, taken down by `down`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ..control.events import Event, Observer
from ..control.interrupts import Interrupts
from ..language.load import build_spec
from ..model.contract.runner import Session
from ..model.errors import BenchspecError, Interrupted, RunFailed, TransportLost, UsageError
from ..model.spec import Json, Spec, Target
from ..store.directory import RunDirectory
from ..store.journal import Journal, Record, read_records
from ..store.read_run import check_manifest
from ..store.records import LIFECYCLE_ADOPTED, RUN_RESUMED, RUN_STARTED
from .state import WHOLE_RUN, Standings
from .step.order import RUN, all_steps, files_of, steps_per
from .step.places import Runners, StepPlace, sites_of
from .targets import Adopted, Stage

STANDS = "lifecycle.stands"


def find_upkeep(name: str, folder: Path) -> list[RunDirectory]:
    """The directories in ``folder`` that keep targets of the spec called ``name``, as far as
    anything of theirs stands.
    """
    found = []
    for path in sorted(folder.glob(f"{name}-up-*")):
        with contextlib.suppress(BenchspecError):  # something else that has such a name
            directory = RunDirectory.open(path)
            if (
                directory.is_upkeep
                and directory.manifest.get("name") == name
                and _records(directory)
                and Standings(_records(directory)).up
            ):
                found.append(directory)
    return found


def _records(directory: RunDirectory) -> list[Record]:
    return read_records(directory.journal_path)[0] if directory.journal_path.exists() else []


def standing_targets(directory: RunDirectory) -> frozenset[str]:
    """The targets that stand in ``directory`` and are ready for a run."""
    return frozenset(
        one.bringing.target
        for one in Standings(_records(directory)).up
        if one.bringing.session == WHOLE_RUN and one.ready
    )


def remaining_targets(directory: RunDirectory) -> frozenset[str]:
    """The targets in ``directory`` of which anything stands, be it by half or for one session."""
    return frozenset(one.bringing.target for one in Standings(_records(directory)).up)


def adopted_before(directory: RunDirectory) -> tuple[RunDirectory | None, frozenset[str]]:
    """The directory whose standing targets the run in ``directory`` used before it was cut short
    (None: it used none, or that directory is gone), and which of them do not stand any more.
    """
    used = [record.data for record in _records(directory) if record.type == LIFECYCLE_ADOPTED]
    if not used:
        return None, frozenset()
    targets = frozenset(str(data["target"]) for data in used)
    try:
        kept = RunDirectory.open(Path(used[-1]["directory"]))
        return kept, targets - standing_targets(kept)
    except BenchspecError:
        return None, targets


def has_upkeep(target: Target) -> bool:
    """Whether anything of the target can be brought up ahead of a run: what comes with every
    session cannot.
    """
    return bool(steps_per(target, RUN))


def bring_up(
    directory: RunDirectory,
    spec: Spec,
    targets: Iterable[str],
    runners: Runners,
    observer: Observer,
    *,
    keep_failed: bool = False,
) -> tuple[str, ...]:
    """Bring up those of ``targets`` that do not stand in ``directory`` yet; return what came up.

    A target that does not come up is destroyed, unless ``keep_failed``; the others stay. A signal
    takes down what this call brought up.

    Raises:
        RunFailed: some target did not come up.
        Interrupted, TransportLost, Locked, StorageError: it was given up.
    """
    wanted = [name for name in dict.fromkeys(targets) if has_upkeep(spec.target(name))]
    sessions: dict[str, Session] = {}

    def door(place: StepPlace) -> Session:
        if place.site.name not in sessions:
            raise TransportLost("is not connected", where=f"site {place.site.name}")
        return sessions[place.site.name]

    with Journal(directory.journal_path) as journal, Interrupts() as interrupts:
        check_manifest(directory, journal.records)
        data = {
            "run_id": directory.run_id,
            "time": time.time(),
            "manifest": directory.manifest_sha256(),
        }
        journal.append(RUN_RESUMED if journal.records else RUN_STARTED, data)
        stage = Stage(directory, spec, runners, door, journal, interrupts, observer)
        try:
            for site in sites_of(spec, wanted, runners).values():
                with interrupts.waiting():
                    sessions[site.name] = runners(site.runner).connect(site, directory.run_id)
            return _raise_up(stage, wanted, observer, keep_failed=keep_failed)
        finally:
            for session in sessions.values():
                with contextlib.suppress(TransportLost):
                    session.close()


def _raise_up(
    stage: Stage, wanted: list[str], observer: Observer, *, keep_failed: bool
) -> tuple[str, ...]:
    stage.recover(half_only=True)
    came_up, failed = [], []
    for target in wanted:
        if stage.stands(target):
            observer.notify(
                Event(kind=STANDS, message=f"stands  {target}", data={"target": target})
            )
            continue
        try:
            stage.bring_up(target, keep_failed=keep_failed)
            came_up.append(target)
        except Interrupted:
            stage.take_down([*came_up, target])
            raise
        except RunFailed as error:
            failed.append(error)
    if failed:
        raise RunFailed("; ".join(error.headline for error in failed), remedy=failed[0].remedy)
    return tuple(came_up)


@contextlib.contextmanager
def hold(
    directory: RunDirectory, spec: Spec, targets: Iterable[str], scripts: Mapping[str, bytes]
) -> Iterator[Adopted]:
    """What stands in ``directory`` of these targets, for one run to use; nobody else can use it or
    take it down meanwhile.

    Raises:
        UsageError: it was brought up from steps or sites that are not those of ``spec`` any more.
        Locked: another run uses it, or `up` or `down` is at work.
    """
    with Journal(directory.journal_path) as journal:
        up = {
            standing.bringing.target: standing
            for standing in Standings(journal.records).up
            if standing.bringing.session == WHOLE_RUN
        }
        usable = {name: up[name] for name in targets if name in up}
        _require_same(directory, spec, usable, scripts)
        for name, standing in usable.items():
            if not standing.ready:
                remedy = f"`benchspec up` again, or `benchspec down {directory.path}`"
                raise UsageError(
                    f"target {name} came up by half only", where=str(directory.path), remedy=remedy
                )
        yield Adopted(
            directory=str(directory.path.resolve()), run_id=directory.run_id, standings=usable
        )


def _require_same(
    directory: RunDirectory, spec: Spec, targets: Iterable[str], scripts: Mapping[str, bytes]
) -> None:
    kept = build_spec(directory.resolved())
    for name in targets:
        before = next((target for target in kept.targets if target.name == name), None)
        if before is None or _made_of(before, kept_scripts(directory, before)) != _made_of(
            spec.target(name), scripts
        ):
            raise UsageError(
                f"target {name} stands as another version of the spec brought it up: its sites,"
                " steps or scripts differ",
                where=str(directory.path),
                remedy=f"`benchspec down {directory.path}` first",
            )


def _made_of(target: Target, scripts: Mapping[str, bytes]) -> tuple[Json, ...]:
    names = [name for own in all_steps(target) for name in files_of(own.step)]
    return (
        {role: (site.name, site.runner, dict(site.options)) for role, site in target.sites.items()},
        [(own.phase.value, repr(own.step)) for own in steps_per(target, RUN)],
        [(name, scripts.get(name, b"").hex()) for name in names],
    )


def kept_scripts(directory: RunDirectory, target: Target) -> dict[str, bytes]:
    """The files of the target's steps as ``directory`` keeps them. Raises IntegrityError."""
    return {
        name: directory.script(name) for own in all_steps(target) for name in files_of(own.step)
    }
