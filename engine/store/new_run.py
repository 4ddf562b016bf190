"""A new run directory of a spec and its plan."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from ..model.codec import encode
from ..model.spec import LoadedSpec
from ..planning.plan import Plan
from .directory import RunDirectory
from .manifest import describe_run, stamp


def create_run(
    loaded: LoadedSpec,
    plan: Plan,
    path: Path | None,
    *,
    folder: Path,
    scripts: Mapping[str, bytes],
    template: bytes | None = None,
    purpose: str | None = None,
    imported: Mapping[str, object] | None = None,
) -> RunDirectory:
    """Make a run directory at ``path``, or in ``folder`` under the spec's name and the time, with
    its fixed files.

    ``scripts`` are the files of lifecycle steps by their path beside the spec, ``template`` is that
    of the page; ``purpose`` and ``imported`` are the manifest's.

    Raises:
        UsageError: something is there already.
        StorageError: it cannot be written.
    """
    now = time.gmtime()
    name = "-".join([loaded.spec.name, *([purpose] if purpose else []), stamp(now)])
    return RunDirectory.create(
        path or folder / name,
        manifest=describe_run(loaded, plan.seed, now, purpose=purpose, imported=imported),
        spec=loaded.source,
        resolved=encode(loaded.document),
        plan=encode(plan),
        template=template,
        scripts=scripts,
    )
