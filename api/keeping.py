"""Targets that stand apart from a run: found, held for its time, brought up for it, taken down."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..engine.control.events import Observer
from ..engine.lifecycle.kept_targets import (
    bring_up,
    find_upkeep,
    has_upkeep,
    hold,
    kept_scripts,
    remaining_targets,
    standing_targets,
)
from ..engine.lifecycle.targets import NOTHING, Adopted
from ..engine.model.errors import BenchspecError, UsageError
from ..engine.model.spec import Spec
from ..engine.store.directory import RunDirectory
from .catalogue import catalogue
from .cleaning import Cleanup, clean_directory
from .new_runs import make_directory
from .notices import KEPT, Unobserved, tell
from .planning import Planned
from .settings import Keep


def choose_upkeep(name: str, given: Path | None, runs: Path) -> RunDirectory | None:
    """The directory that keeps targets of the spec called ``name``: the one that is given, else the
    only one in ``runs``.

    Raises:
        UsageError: the given one keeps nothing, or there are several.
    """
    if given is not None:
        directory = RunDirectory.open(given)
        if not directory.is_upkeep:
            raise UsageError(
                "found a run, expected a directory that `benchspec up` made", where=str(given)
            )
        return directory
    found = find_upkeep(name, runs)
    if len(found) > 1:
        names = ", ".join(str(directory.path) for directory in found)
        raise UsageError(
            f"targets of {name} stand in several directories: {names}",
            remedy="name one with --up, or take some down with `benchspec down`",
        )
    return found[0] if found else None


def require_same_spec(standing: RunDirectory, spec: Spec, scripts: Mapping[str, bytes]) -> None:
    """Raise UsageError when what stands was brought up by another version of the spec: only what
    this very spec brought up is added to.
    """
    with hold(standing, spec, standing_targets(standing), scripts):
        pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """What a run does about targets that stand apart from it: ``standing`` holds those that do,
    ``keep`` says whether it leaves its own.
    """

    planned: Planned
    scripts: Mapping[str, bytes]
    standing: RunDirectory | None
    keep: Keep
    runs: Path
    observer: Observer | None
    accept_new_host_keys: bool

    @contextlib.contextmanager
    def adopt(self) -> Iterator[Adopted]:
        """Hold what stands for the time of a run; with ``keep`` bring up what does not stand yet,
        and leave it or take it down afterwards.
        """
        directory = self._directory()
        try:
            if directory is None:
                yield NOTHING
                return
            spec, targets = self.planned.loaded.spec, self.planned.targets
            if self.keep is not Keep.NEVER:
                self._bring_up(directory)
            with hold(directory, spec, targets, self.scripts) as adopted:
                yield adopted
        except BenchspecError as error:
            if directory is not None and directory is not self.standing:
                _note_kept(error, directory)
            raise
        if directory is not self.standing:
            self._leave(directory)

    def _directory(self) -> RunDirectory | None:
        """Where the targets are kept; made when none of them stands yet and they shall be kept."""
        loaded, plan = self.planned.loaded, self.planned.plan
        if (
            self.keep is Keep.NEVER
            or self.standing is not None
            or not any(has_upkeep(loaded.spec.target(name)) for name in self.planned.targets)
        ):
            return self.standing
        return make_directory(loaded, plan, runs=self.runs, scripts=self.scripts, purpose="up")

    def _bring_up(self, directory: RunDirectory) -> None:
        spec = self.planned.loaded.spec
        require_same_spec(directory, spec, self.scripts)
        runners = catalogue(directory, accept_new_host_keys=self.accept_new_host_keys).runner
        observer = self.observer or Unobserved()
        bring_up(directory, spec, self.planned.targets, runners, observer, keep_failed=True)

    def _leave(self, directory: RunDirectory) -> None:
        if self.keep is Keep.FAILED:
            self._take_down(directory)
        elif left := _left_standing(directory):
            tell(self.observer, KEPT, left, directory=str(directory.path))

    def _take_down(self, directory: RunDirectory) -> None:
        outcome = clean_directory(
            directory, self.observer, accept_new_host_keys=self.accept_new_host_keys
        )
        cleanup = Cleanup(outcomes=(outcome,))
        cleanup.require_clean(then=f"benchspec down {directory.path}")


def _note_kept(error: BenchspecError, directory: RunDirectory) -> None:
    if left := _left_standing(directory):
        error.add_note(left)


def _left_standing(directory: RunDirectory) -> str | None:
    kept = remaining_targets(directory)
    if not kept:
        return None
    return (
        f"kept standing: {', '.join(sorted(kept))}; `benchspec down {directory.path}` takes it down"
    )


@contextlib.contextmanager
def held(
    standing: RunDirectory | None, spec: Spec, targets: tuple[str, ...], directory: RunDirectory
) -> Iterator[Adopted]:
    """Hold what stands for the time the run in ``directory`` is resumed."""
    if standing is None:
        yield NOTHING
        return
    scripts = {
        file: data
        for target in targets
        for file, data in kept_scripts(directory, spec.target(target)).items()
    }
    with hold(standing, spec, targets, scripts) as adopted:
        yield adopted
