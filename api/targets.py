"""Targets brought up and left standing for any number of runs, and taken down."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..engine.control.events import Observer
from ..engine.language.load import load_spec
from ..engine.lifecycle.kept_targets import bring_up, find_upkeep, has_upkeep
from ..engine.lifecycle.spec_files import read_scripts
from ..engine.model.errors import UsageError
from ..engine.store.directory import RunDirectory
from .capabilities import asked_of_plan
from .catalogue import catalogue, require_supported
from .cleaning import Cleanup, clean_directories
from .consent import Consent, require_consent
from .keeping import choose_upkeep, require_same_spec
from .new_runs import make_directory
from .notices import STANDING, Unobserved, tell
from .planning import plan
from .settings import RUNS, File


def up(
    spec: File,
    *,
    overrides: Sequence[str] = (),
    only: Sequence[str] = (),
    out: File | None = None,
    consent: Consent | None = None,
    accept_new_host_keys: bool = False,
    runs: File = RUNS,
    observer: Observer | None = None,
) -> Path | None:
    """Bring up the targets of ``spec`` and leave them standing; return the directory that keeps
    them (``out``, or one in ``runs``), or None when no target has anything to bring up ahead of a
    run. Targets that stand already are left as they are.

    Raises:
        SpecError, UsageError: the spec cannot be used, nobody agreed to its steps, or what stands
            was brought up by another version of it.
        Unsupported: a step cannot be carried out; nothing was created.
        RunFailed: some target did not come up; it was destroyed.
        Interrupted, TransportLost, Locked, StorageError: it was given up.
    """
    planned = plan(spec, overrides=overrides, only=only)
    loaded = planned.loaded
    require_supported(planned.plan, loaded.spec)
    targets = [name for name in planned.targets if has_upkeep(loaded.spec.target(name))]
    if not targets:
        return None
    scripts = read_scripts(loaded)
    standing = None if out is not None else choose_upkeep(loaded.spec.name, None, Path(runs))
    if standing is not None:
        require_same_spec(standing, loaded.spec, scripts)
    require_consent(asked_of_plan(loaded, planned.plan, scripts), consent)
    directory = standing or make_directory(
        loaded,
        planned.plan,
        None if out is None else Path(out),
        runs=Path(runs),
        scripts=scripts,
        purpose="up",
    )
    runners = catalogue(directory, accept_new_host_keys=accept_new_host_keys).runner
    bring_up(directory, loaded.spec, targets, runners, observer or Unobserved())
    tell(observer, STANDING, str(directory.path), directory=str(directory.path))
    return directory.path


def down(
    spec: File,
    *,
    consent: Consent | None = None,
    accept_new_host_keys: bool = False,
    runs: File = RUNS,
    observer: Observer | None = None,
) -> Cleanup:
    """Take down what :func:`up`, or a run that keeps its targets, left standing: of ``spec``
    (looked for in ``runs``), or in the directory ``spec``.

    No outcomes: nothing stands. What is left is in the result, with the reason.

    Raises:
        SpecError, UsageError: no such spec or directory, or nobody agreed to the destroy steps.
        Interrupted: a signal came.
    """
    return clean_directories(
        _find(Path(spec), Path(runs)),
        consent=consent,
        accept_new_host_keys=accept_new_host_keys,
        observer=observer,
    )


def _find(spec: Path, runs: Path) -> list[RunDirectory]:
    if not spec.is_dir():
        return find_upkeep(load_spec(spec).spec.name, runs)
    directory = RunDirectory.open(spec)
    if not directory.is_upkeep:
        remedy = (
            "`benchspec down SPEC` takes down what `up` or `run --keep` left standing, `benchspec"
            f" clean {spec}` removes what this run left"
        )
        raise UsageError(
            "found a run, expected a spec, or a directory that keeps what stands"
            f" ({runs}/NAME-up-TIME)",
            where=str(spec),
            remedy=remedy,
        )
    return [directory]
