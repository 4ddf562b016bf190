"""A run directory for what was planned, with copies of the files beside the spec."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..engine.lifecycle.spec_files import read_scripts, read_template
from ..engine.model.spec import LoadedSpec
from ..engine.planning.plan import Plan
from ..engine.store.directory import RunDirectory
from ..engine.store.new_run import create_run
from ..engine.store.own_runs import note_own
from .settings import RUNS


def make_directory(
    loaded: LoadedSpec,
    plan: Plan,
    out: Path | None = None,
    *,
    runs: Path = RUNS,
    scripts: Mapping[str, bytes] | None = None,
    purpose: str | None = None,
    imported: Mapping[str, object] | None = None,
) -> RunDirectory:
    """Make a run directory at ``out``, or in ``runs`` under the spec's name and the time.

    ``scripts`` are what was read of the steps' files; None: they are read now.

    Raises:
        SpecError: a file beside the spec cannot be read.
        UsageError: something is there already.
        StorageError: it cannot be written.
    """
    made = create_run(
        loaded,
        plan,
        out,
        folder=runs,
        scripts=read_scripts(loaded) if scripts is None else scripts,
        template=read_template(loaded),
        purpose=purpose,
        imported=imported,
    )
    note_own(made)
    return made
