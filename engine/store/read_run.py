"""A run read back from its directory alone, with every sum checked. Analysis and reports start
here; no clock, no network, no site.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from ..language.load import build_spec
from ..model.codec import decode
from ..model.errors import BenchspecError, IntegrityError
from ..model.results import (
    ClaimCheck,
    FactSet,
    Finding,
    RawFile,
    RunData,
    Trial,
    UsedCommands,
)
from ..model.spec import Json, Spec
from ..planning.plan import Plan
from .clock_steps import clock_steps
from .directory import RunDirectory
from .journal import Record, read_records
from .manifest import MANIFEST, RESOLVED
from .records import (
    CLAIM,
    COMMANDS,
    DEPOSITED,
    FACTS,
    FINDING,
    FINISHED,
    RUN_FINISHED,
    RUN_RESUMED,
    RUN_STARTED,
    SKIPPED,
    STEP_FINISHED,
)

T = TypeVar("T")


def read_plan(directory: RunDirectory) -> Plan:
    """The plan of a run. Raises IntegrityError when plan.json is not what was written."""
    return decode(Plan, directory.plan())


def read_run(path: Path, *, verify: bool = True) -> RunData:
    """Everything known of the run in ``path``.

    Raises:
        UsageError: no run directory.
        IntegrityError: a record or raw file is not what was written.
    """
    directory = RunDirectory.open(path)
    records, _ = read_records(directory.journal_path)
    check_manifest(directory, records)
    trials = {
        trial.sequence: trial
        for trial in (decode(Trial, r.data) for r in records if r.type == FINISHED)
    }
    if verify:
        for file in (
            *(file for trial in trials.values() for file in trial.raw),
            *_printed_by_steps(records),
        ):
            directory.verify_raw(file)
    document = directory.resolved()
    return RunData(
        run_id=directory.run_id,
        manifest=directory.manifest,
        document=document,
        spec=_spec(directory, document),
        experiments=read_plan(directory).experiments,
        trials=tuple(trials[sequence] for sequence in sorted(trials)),
        facts=_distinct(records, FACTS, FactSet, lambda f: (*f.place, f.when, f.allocation_id)),
        claims=_distinct(records, CLAIM, ClaimCheck, lambda c: (c.target, c.fact, c.site, c.nodes)),
        findings=(*_findings(records), *clock_steps(records)),
        skipped=_skipped(records, {trial.experiment_id for trial in trials.values()}),
        complete=any(r.type == RUN_FINISHED for r in records),
        resumed=sum(r.type == RUN_RESUMED for r in records),
        commands=tuple(decode(UsedCommands, r.data) for r in records if r.type == COMMANDS),
    )


def _spec(directory: RunDirectory, document: Mapping[str, Json]) -> Spec:
    """The spec of a run. A document that was resolved by us has no errors, and is not validated
    again: one with errors is another's.
    """
    try:
        return build_spec(document)
    except KeyError as error:
        problem = f"found a mapping without {error}"
    except (
        BenchspecError,
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        RuntimeError,
    ) as error:
        problem = f"found a document that is no resolved spec: {error}"
    raise IntegrityError(
        problem, where=str(directory.path / RESOLVED), remedy="restore it from a copy"
    )


def check_manifest(directory: RunDirectory, records: Sequence[Record]) -> None:
    """Hold the manifest against the sum that the run's first record has of it. Raises
    IntegrityError.
    """
    expected = next((r.data.get("manifest") for r in records if r.type == RUN_STARTED), None)
    if expected is not None and expected != directory.manifest_sha256():
        raise IntegrityError(
            "the file is not the one this run began with (its sha256 differs)",
            where=str(directory.path / MANIFEST),
            remedy="restore it from a copy",
        )


def _printed_by_steps(records: list[Record]) -> tuple[RawFile, ...]:
    """The raw files of lifecycle steps."""
    return tuple(
        decode(RawFile, file)
        for r in records
        if r.type == STEP_FINISHED
        for file in r.data.get("raw", ())
    )


def _distinct(
    records: list[Record], type_: str, cls: type[T], key: Callable[[T], object]
) -> tuple[T, ...]:
    """The records of one type; of those with one key, the last."""
    found = {
        key(value): value for value in (decode(cls, r.data) for r in records if r.type == type_)
    }
    return tuple(found.values())


def _findings(records: list[Record]) -> tuple[Finding, ...]:
    """What was told, but for what was put right later: remains that a resumed run removed or tells
    again (F602), copies made after all (F605).
    """
    resumed = max((at for at, r in enumerate(records) if r.type == RUN_RESUMED), default=-1)
    copied = {r.data["site"]: at for at, r in enumerate(records) if r.type == DEPOSITED}

    def holds(at: int, finding: Finding) -> bool:
        if finding.code == "F605":
            return not any(
                at < later and f"data sink on {site}:" in finding.message
                for site, later in copied.items()
            )
        return finding.code != "F602" or at > resumed

    told = ((at, decode(Finding, r.data)) for at, r in enumerate(records) if r.type == FINDING)
    return tuple(dict.fromkeys(finding for at, finding in told if holds(at, finding)))


def _skipped(records: list[Record], measured: set[str]) -> dict[str, str]:
    """Experiments left out for a stated reason, unless a resumed run measured them after all."""
    left_out = {r.data["experiment_id"]: r.data["reason"] for r in records if r.type == SKIPPED}
    return {identity: reason for identity, reason in left_out.items() if identity not in measured}
