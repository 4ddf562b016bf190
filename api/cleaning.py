"""What runs left on their sites, removed: of one run, or of all in a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..engine.capabilities.model import Capability
from ..engine.control.events import Observer
from ..engine.execution.sites.cleaning import Cleaned
from ..engine.execution.sites.cleaning import clean as clean_sites
from ..engine.importing.import_run import is_imported
from ..engine.language.load import build_spec
from ..engine.lifecycle.kept_targets import standing_targets
from ..engine.lifecycle.targets import standing_steps
from ..engine.model.errors import BenchspecError, Interrupted, RunFailed, UsageError
from ..engine.store.directory import RunDirectory
from ..engine.store.journal import Journal, read_records
from ..engine.store.manifest import MANIFEST
from ..engine.store.own_runs import is_own
from ..engine.store.read_run import read_plan
from .capabilities import asked_of_steps
from .catalogue import catalogue
from .consent import Asked, Consent, require_consent
from .notices import Unobserved
from .settings import RUNS, File


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

    @property
    def problems(self) -> tuple[str, ...]:
        """Why something is left, and what."""
        if self.cleaned is None:
            return (str(self.error),)
        left = (
            f"{one}" + (f"\n  what to do: {one.remedy}" if one.remedy else "")
            for one in self.cleaned.left
        )
        return *self.cleaned.problems, *left


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleanup:
    """What was cleaned, and the run directories that were left alone with the reason."""

    outcomes: tuple[Outcome, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_clean(self) -> bool:
        """Whether nothing is left of any of the runs that were cleaned."""
        return all(outcome.is_clean for outcome in self.outcomes)

    def require_clean(self, *, then: str | None = None) -> None:
        """Raise unless nothing is left.

        ``then``: the command that tries again; None where that is the one that is carried out,
        which has told what is left.

        Raises:
            RunFailed: something is left.
            BenchspecError: the only run could not be looked at, for this reason.
        """
        dirty = [outcome for outcome in self.outcomes if not outcome.is_clean]
        if len(self.outcomes) == 1 and self.outcomes[0].error is not None:
            raise self.outcomes[0].error
        if not dirty:
            return
        told = "; ".join(f"{one.path}: {problem}" for one in dirty for problem in one.problems)
        of = f"{len(dirty)} of {len(self.outcomes)} runs" if self.outcomes[1:] else dirty[0].path
        again = "the same command again" if then is None else f"`{then}`"
        raise RunFailed(
            f"something is left of {of}{'' if then is None else f': {told}'}",
            remedy=(
                f"run {again} when its hosts can be reached; remove by hand what nobody can reach"
                " any more"
            ),
        )


def clean(
    run: File,
    *,
    consent: Consent | None = None,
    accept_new_host_keys: bool = False,
    observer: Observer | None = None,
) -> Cleanup:
    """Destroy the targets that ``run`` brought up and did not destroy, and remove whatever it left
    on its sites. The run directory itself stays.

    What is left is in the result, with the reason; :meth:`Cleanup.require_clean` raises for it.

    Raises:
        UsageError: no run directory, or nobody agreed to its destroy steps.
        IntegrityError: the directory is not what was written.
        Interrupted: a signal came.
    """
    directory = RunDirectory.open(Path(run))
    return clean_directories(
        [directory],
        consent=consent,
        accept_new_host_keys=accept_new_host_keys,
        observer=observer,
    )


def clean_all(
    runs: File = RUNS,
    *,
    consent: Consent | None = None,
    accept_new_host_keys: bool = False,
    observer: Observer | None = None,
) -> Cleanup:
    """As :func:`clean`, of every run directory in the folder ``runs``; consent is asked once.

    Runs that another process carries out are left alone, and so is what was left standing on
    purpose. Raises as :func:`clean`, and UsageError when there is no such folder.
    """
    found, skipped = _choose(Path(runs))
    return clean_directories(
        found,
        skipped,
        consent=consent,
        accept_new_host_keys=accept_new_host_keys,
        observer=observer,
    )


def _choose(folder: Path) -> tuple[list[RunDirectory], dict[str, str]]:
    """The run directories in ``folder`` that are to be cleaned, and those that are left alone, with
    the reason.
    """
    if not folder.is_dir() and folder == RUNS:
        return [], {}
    if not folder.is_dir():
        raise UsageError(
            "found no such folder",
            where=str(folder),
            remedy="name the folder that holds the run directories",
        )
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
            skipped[str(path)] = (
                f"{', '.join(stands)} was left standing on purpose: `benchspec down {path}` takes"
                " it down"
            )
        else:
            found.append(directory)
    return found, skipped


def clean_directories(
    directories: Sequence[RunDirectory],
    skipped: Mapping[str, str] | None = None,
    *,
    consent: Consent | None,
    accept_new_host_keys: bool,
    observer: Observer | None,
) -> Cleanup:
    """Ask once for consent to the destroy steps of all that others made, then clean one after the
    other.
    """
    strange = [one for one in directories if not is_own(one)]
    require_consent(Asked(what for one in strange for what in _destroy_steps(one)), consent)
    outcomes = tuple(
        clean_directory(one, observer, accept_new_host_keys=accept_new_host_keys)
        for one in directories
    )
    return Cleanup(outcomes=outcomes, skipped=skipped or {})


def _destroy_steps(directory: RunDirectory) -> Sequence[Capability]:
    if not directory.journal_path.exists():
        return ()
    spec = build_spec(directory.resolved())
    steps = standing_steps(spec, read_records(directory.journal_path)[0])
    return asked_of_steps(directory, spec, steps).capabilities


def clean_directory(
    directory: RunDirectory, observer: Observer | None, *, accept_new_host_keys: bool
) -> Outcome:
    """Destroy what stands of one run and remove what it left. Raises Interrupted."""
    path, run_id = str(directory.path), directory.run_id
    if is_imported(directory):
        return Outcome(path=path, run_id=run_id, cleaned=Cleaned())  # it created nothing anywhere
    try:
        with Journal(directory.journal_path) as journal:
            spec, plan = build_spec(directory.resolved()), read_plan(directory)
            runners = catalogue(directory, accept_new_host_keys=accept_new_host_keys).runner
            done = clean_sites(directory, spec, plan, runners, journal, observer or Unobserved())
    except Interrupted:
        raise
    except BenchspecError as error:
        return Outcome(path=path, run_id=run_id, error=error)
    return Outcome(path=path, run_id=run_id, cleaned=done)
