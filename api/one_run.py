"""One run: what it is, how it ended and what it says."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from ..engine.model.codec import encode
from ..engine.model.results import TrialKind
from ..engine.model.spec import Json
from ..engine.store.read_run import read_run
from ..reports.page.answer import Answer, make_answer
from ..reports.page.view import build_view
from .bundles import opened
from .reporting import analyse_run
from .run_names import find_directory
from .settings import File


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A run in one screen. ``trials`` counts measured trials by status, ``findings`` the findings
    by code; ``directory`` is where everything is.
    """

    run_id: str
    directory: Path
    name: str
    created_at: str
    benchspec: str
    complete: bool
    resumed: int
    trials: dict[str, int]
    findings: dict[str, int]
    answer: Answer

    def to_json(self) -> dict[str, Json]:
        """What `benchspec show --json` prints."""
        found: dict[str, Json] = encode(self)
        return found | {"directory": str(self.directory)}


def show(run: File) -> Shown:
    """What ``run``, a run directory, a bundle or the id of a run in the index, says. Every sum is
    checked.

    Raises:
        UsageError: no run directory.
        IntegrityError: a stored byte is not what was written.
        StorageError: the index, which the id is looked up in, cannot be used.
    """
    path = find_directory(run)
    with opened(path) as directory:
        data = read_run(directory)
    analysis = analyse_run(data)
    found = (*data.findings, *analysis.findings)
    measured = (trial.status.value for trial in data.trials if trial.kind is TrialKind.MEASURED)
    return Shown(
        run_id=data.run_id,
        directory=path,
        name=data.spec.name,
        created_at=str(data.manifest.get("created_at", "")),
        benchspec=str(data.manifest.get("benchspec", "")),
        complete=data.complete,
        resumed=data.resumed,
        trials=dict(Counter(measured)),
        findings=dict(sorted(Counter(finding.code for finding in found).items())),
        answer=make_answer(data, analysis, build_view(data, analysis)),
    )
