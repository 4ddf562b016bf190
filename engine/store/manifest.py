"""The manifest of a run directory: made here alone, with the run's id and the sums of its fixed
files. :class:`~benchspec.engine.store.directory.RunDirectory` checks the files against these sums.
"""

from __future__ import annotations

import hashlib
import secrets
import sys
import time
from collections.abc import Mapping
from typing import Any

from ... import __version__
from ..model.spec import LoadedSpec

FORMAT = "benchspec-run/v1"
MANIFEST, SPEC, RESOLVED, PLAN = "manifest.json", "spec.yaml", "resolved.json", "plan.json"
TEMPLATE, SCRIPTS = "page.md.j2", "scripts"
_LONGEST_NAME = 30


def stamp(moment: time.struct_time) -> str:
    """``moment`` (UTC) as it stands in run ids and in the names of run directories."""
    return time.strftime("%Y%m%d-%H%M%S", moment)


def describe_run(
    loaded: LoadedSpec,
    seed: int,
    moment: time.struct_time,
    *,
    purpose: str | None = None,
    imported: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """The manifest of a new run of ``loaded`` that is made at ``moment`` (UTC), without sums. Each
    call gives another run id.

    ``purpose`` tells a directory that `up` makes from a run; ``imported`` says who measured.
    """
    name = loaded.spec.name
    short = name[:_LONGEST_NAME].rstrip("-")
    return {
        "run_id": f"{short}-{stamp(moment)}-{secrets.token_hex(3)}",
        **({"purpose": purpose} if purpose else {}),
        **({"imported": imported} if imported else {}),
        "benchspec": __version__,
        "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", moment),
        "name": name,
        "spec_file": loaded.path.name,
        "overrides": list(loaded.overrides),
        "seed": seed,
        "python": sys.version.split()[0],
    }


def add_sums(manifest: Mapping[str, Any], fixed: Mapping[str, bytes]) -> dict[str, Any]:
    """``manifest`` with its format and the sha256 of the ``fixed`` files. The template has none: a
    page may be rendered with a changed one.
    """
    summed = {name: sha256(data) for name, data in fixed.items() if name not in (SPEC, TEMPLATE)}
    return {"format": FORMAT, **manifest, "spec_sha256": sha256(fixed[SPEC]), "sha256": summed}


def sha256(data: bytes) -> str:
    """The sum of ``data`` in hex."""
    return hashlib.sha256(data).hexdigest()
