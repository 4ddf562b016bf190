"""A run, from the spec to its page, and the rest of a run that was cut short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..engine.control.events import Observer
from ..engine.execution.run import Options, Run
from ..engine.importing.import_run import is_imported
from ..engine.language.load import build_spec
from ..engine.lifecycle.kept_targets import adopted_before
from ..engine.lifecycle.spec_files import read_scripts
from ..engine.lifecycle.targets import Adopted
from ..engine.model.errors import BenchspecError, Locked, UsageError
from ..engine.model.spec import Spec
from ..engine.planning.plan import Plan
from ..engine.store.directory import RunDirectory
from ..engine.store.read_run import read_plan
from .capabilities import asked_of_plan, asked_of_run
from .catalogue import catalogue, require_supported
from .consent import Consent, require_consent, require_consent_again
from .foreign_runs import require_planned, require_valid_spec
from .keeping import Keeping, choose_upkeep, held
from .new_runs import make_directory
from .notices import FALLEN, REPORTED, UNINDEXED, Unobserved, tell
from .planning import plan
from .settings import MOST_EXPERIMENTS, RUNS, File, Keep

if TYPE_CHECKING:
    from .reporting import Written


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A run that has ended: its directory, and its pages with what they answer; None when nothing
    was measured.
    """

    directory: Path
    written: Written | None

    @property
    def page(self) -> Path | None:
        """The Markdown page."""
        return None if self.written is None else self.written.page


def run(
    spec: File,
    *,
    overrides: Sequence[str] = (),
    only: Sequence[str] = (),
    seed: int | None = None,
    max_experiments: int = MOST_EXPERIMENTS,
    out: File | None = None,
    consent: Consent | None = None,
    allow_drift: bool = False,
    install_tools: bool = False,
    complete: bool = False,
    accept_new_host_keys: bool = False,
    keep: Keep | str = Keep.NEVER,
    up: File | None = None,
    runs: File = RUNS,
    observer: Observer | None = None,
) -> Finished:
    """Measure what ``spec`` says, keep every raw byte, and write a page with figures and verdicts.

    The run directory is ``out``, or one in ``runs``. ``up`` is the directory of targets that stand
    already (None: looked for in ``runs``), ``keep`` says whether the run leaves its targets
    standing. ``allow_drift``: measure even where claims are contradicted. ``install_tools``:
    install missing tools with the hosts' package managers. ``accept_new_host_keys``: connect to
    hosts whose key nobody vouches for. ``complete``: experiments that are skipped for a missing
    tool count as missing trials. The other arguments are those of
    :func:`~benchspec.api.planning.plan`.

    What was measured before an error is kept, and its page is written; a note of the error says
    where. :func:`resume` goes on from there.

    Raises:
        SpecError, UsageError: the spec cannot be used, or nobody agreed to what it asks for.
        Unsupported: a runner cannot do what is planned; nothing was created.
        DriftError, GateFailed, RunFailed, Incomplete, Locked, Interrupted: as
            :meth:`benchspec.engine.execution.run.Run.execute`.
    """
    planned = plan(spec, overrides=overrides, only=only, seed=seed, max_experiments=max_experiments)
    loaded, made = planned.loaded, planned.plan
    require_supported(made, loaded.spec)
    scripts = read_scripts(loaded)
    standing = choose_upkeep(loaded.spec.name, None if up is None else Path(up), Path(runs))
    require_consent(asked_of_plan(loaded, made, scripts), consent)
    keeping = Keeping(
        planned=planned,
        scripts=scripts,
        standing=standing,
        keep=Keep(keep),
        runs=Path(runs),
        observer=observer,
        accept_new_host_keys=accept_new_host_keys,
    )
    options = Options(allow_drift=allow_drift, install_tools=install_tools, complete=complete)
    with keeping.adopt() as adopted:
        directory = make_directory(
            loaded, made, None if out is None else Path(out), runs=Path(runs), scripts=scripts
        )
        return _carry_out(
            directory,
            loaded.spec,
            made,
            options,
            adopted,
            observer,
            accept_new_host_keys=accept_new_host_keys,
        )


def resume(
    run: File,
    *,
    consent: Consent | None = None,
    allow_drift: bool = False,
    install_tools: bool = False,
    complete: bool = False,
    accept_new_host_keys: bool = False,
    observer: Observer | None = None,
) -> Finished:
    """Go on with the run directory ``run``: finished trials are kept, a job that outlived its
    controller is collected, and the rest follows in the planned order.

    Raises:
        UsageError: no run directory, one that holds nothing to go on with, or nobody agreed to the
            spec's commands.
        Unsupported, DriftError, GateFailed, RunFailed, Incomplete, Locked, Interrupted: as
            :func:`run`.
        IntegrityError: the directory is not what was written.
    """
    directory = RunDirectory.open(Path(run))
    _refuse_upkeep(directory)
    _refuse_imported(directory)
    require_valid_spec(directory)
    spec, plan = build_spec(directory.resolved()), read_plan(directory)
    require_planned(directory, spec, plan)
    require_supported(plan, spec)
    standing = _adopt_again(directory, observer)
    require_consent_again(directory, asked_of_run(directory, spec, plan), consent)
    options = Options(allow_drift=allow_drift, install_tools=install_tools, complete=complete)
    targets = tuple(dict.fromkeys(experiment.target for experiment in plan.experiments))
    with held(standing, spec, targets, directory) as adopted:
        return _carry_out(
            directory,
            spec,
            plan,
            options,
            adopted,
            observer,
            accept_new_host_keys=accept_new_host_keys,
        )


def _adopt_again(directory: RunDirectory, observer: Observer | None) -> RunDirectory | None:
    """The directory of the standing targets that the run used before; what stands no more is
    told.
    """
    standing, gone = adopted_before(directory)
    if gone:
        names = sorted(gone)
        message = f"no longer standing, so brought up and destroyed by this run: {', '.join(names)}"
        tell(observer, FALLEN, message, targets=list(names))
    return standing


def _refuse_upkeep(directory: RunDirectory) -> None:
    """What `up` made measures nothing. Raises UsageError."""
    if directory.is_upkeep:
        remedy = (
            "measure what stands with `benchspec run SPEC`, or take it down with `benchspec down`"
        )
        raise UsageError(
            "this directory keeps what `benchspec up` brought up, it is no run",
            where=str(directory.path),
            remedy=remedy,
        )


def _refuse_imported(directory: RunDirectory) -> None:
    """What another program measured cannot go on. Raises UsageError."""
    if is_imported(directory):
        remedy = "import it again with further files"
        raise UsageError(
            "this directory holds imported results, nothing that benchspec could go on with",
            where=str(directory.path),
            remedy=remedy,
        )


def _carry_out(
    directory: RunDirectory,
    spec: Spec,
    plan: Plan,
    options: Options,
    adopted: Adopted,
    observer: Observer | None,
    *,
    accept_new_host_keys: bool,
) -> Finished:
    """Run, then write the page from what is durable, whatever the run's end was; the run's error is
    raised after that. ``adopted`` stands already.
    """
    error: BenchspecError | None = None
    known = catalogue(directory, accept_new_host_keys=accept_new_host_keys)
    try:
        Run(directory, spec, plan, known, observer or Unobserved(), options, adopted).execute()
    except Locked:  # the page is for whoever holds the run to write, and not while it measures
        raise
    except BenchspecError as caught:
        error = caught
    from .reporting import write_pages  # what renders is loaded when nothing is measured any more

    try:
        written = write_pages(directory.path)
    except BenchspecError as caught:
        raise (error or caught) from caught
    path = str(directory.path)
    if written is not None:
        from .indexing import index_run

        if message := index_run(directory.path):
            tell(observer, UNINDEXED, message, directory=path)
        tell(observer, REPORTED, str(written.page), directory=path, **written.to_json())
    elif error is None:
        tell(observer, REPORTED, path, directory=path)
    if error is not None:
        error.add_note(
            f"page of what was measured: {written.page}" if written else f"run directory: {path}"
        )
        raise error
    return Finished(directory=directory.path, written=written)
