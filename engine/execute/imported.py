"""Results of knb and kubestr as a run directory, so that pages and comparisons work on them.

knb's tests are experiments of iperf3, which it runs; what kubestr measured is one experiment of fio with kubestr's job file. Each file is a
session of its target: files of one target are taken for repetitions. Nothing was randomised, so the order is sequential, and nothing was watched:
there are no gates and no nodes, and a page says that it is imported.
"""

from __future__ import annotations

import calendar
import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...workloads import knb, kubestr
from ..errors import ParseError, UsageError
from ..facts import fact_kinds
from ..journal import Journal
from ..plan import Plan
from ..results import Fact, FactSet, Finding, FindingLevel, Measurement, Trial, TrialKind, TrialStatus
from ..rundir import RunDirectory
from ..spec import Experiment, Json, Spec
from .records import FACTS, FINDING, FINISHED, RUN_FINISHED, RUN_STARTED
from .slots import number_slots

IMPORTED = "imported"
"""The manifest's key of a run that was imported."""
RESULT = "result"
_YEAR_10000 = 253402300800
_THROUGHPUT = "throughput"
_LOADS = {**{f"cpu.{state}": f"host.cpu.{state}" for state in ("user", "system", "iowait", "steal")}, "memory.used": "memory.used"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What one experiment gave in one file: measurements, or why there are none.

    ``key`` tells the experiment (path and protocol; empty: the only one); ``usage`` is what the roles' nodes did meanwhile, as in :class:`Trial`.
    """

    key: tuple[str, ...]
    measurements: tuple[Measurement, ...] = ()
    error: str | None = None
    usage: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One file of one target. ``made_at`` is Unix s (0: the file does not say); ``job_file`` is fio's, of kubestr."""

    target: str
    name: str
    data: bytes
    made_at: float
    made_by: str
    pieces: tuple[Piece, ...]
    facts: tuple[Fact, ...]
    job_file: str = ""


def is_imported(directory: RunDirectory) -> bool:
    """Whether benchspec only imported what is in ``directory``: nothing of it can be resumed, and nothing was created."""
    return IMPORTED in directory.manifest


def read_result(form: str, target: str, name: str, data: bytes) -> Result:
    """Read one file. Raises ParseError naming it."""
    try:
        return _of_knb(target, name, data) if form == knb.NAME else _of_kubestr(target, name, data)
    except ParseError as error:
        raise ParseError(error.message, where=name, remedy=error.remedy) from error


def _of_knb(target: str, name: str, data: bytes) -> Result:
    report = knb.read(data)
    about = report.about
    pieces = tuple(_of_test(test) for test in report.tests if test.path)
    if not pieces:
        raise ParseError("knb only looked at idle nodes: there is nothing to compare")
    facts = (
        *_facts({"kubernetes.version": about.get("k8s-version", "").removeprefix("v") or None}, "knb's data.k8s-version"),
        *_facts({"kernel.release": about.get("kernel")}, "knb's data.kernel"),
        *_facts({"cpu.model": about.get("cpu")}, "knb's data.cpu"),
        *_facts({"path.mtu": None if report.mtu is None else int(report.mtu)}, "knb's data.mtu"),
    )
    made_by = f"knb {about.get('version', 'of unknown version')}"
    return Result(target=target, name=name, data=data, made_at=_moment(about.get("date", "")), made_by=made_by, pieces=pieces, facts=facts)


def _of_test(test: knb.Test) -> Piece:
    key = (test.path, test.protocol)
    if test.throughput is None:
        return Piece(key=key, error=f"{test.name}: knb has no bandwidth; its iperf3 failed")
    measured = Measurement(metric=_THROUGHPUT, value=test.throughput, unit="bit/s")
    return Piece(key=key, measurements=(measured,), usage={role.value: _load(values) for role, values in test.usage.items()})


def _load(values: Mapping[str, float]) -> dict[str, float]:
    """What a node did, by the names of our monitors; knb's total counts waiting for I/O as work, so it is not ``busy``."""
    return {_LOADS[name]: value for name, value in values.items() if name in _LOADS}


def _of_kubestr(target: str, name: str, data: bytes) -> Result:
    outcome = kubestr.read(data)
    source = "the storage class in kubestr's result"
    facts = _facts({f"storage.{key}": value for key, value in outcome.storage.items()}, source)
    pieces = (Piece(key=(), measurements=outcome.measurements),)
    return Result(
        target=target, name=name, data=data, made_at=_datable(outcome.made_at), made_by="kubestr", pieces=pieces, facts=facts,
        job_file=outcome.job_file,
    )  # fmt: skip


def _facts(values: Mapping[str, Json], source: str) -> tuple[Fact, ...]:
    kinds = fact_kinds()
    return tuple(Fact(name=name, value=value, source=source, unit=kinds[name].unit) for name, value in values.items() if value is not None)


def _moment(date: str) -> float:
    """knb writes UTC, as ``2026-11-02 08:30:00``."""
    try:
        return _datable(calendar.timegm(time.strptime(date.removesuffix(" UTC"), "%Y-%m-%d %H:%M:%S")))
    except (ValueError, OverflowError):
        return 0.0


def _datable(unix_s: float) -> float:
    """A moment that a calendar of four-digit years has, else 0: not said."""
    return float(unix_s) if 0 < unix_s < _YEAR_10000 else 0.0


def to_document(form: str, name: str, results: Sequence[Result]) -> dict[str, Any]:
    """The spec that describes them. Raises UsageError for files that cannot be one experiment."""
    _refuse_copies(results)
    targets = list(dict.fromkeys(result.target for result in results))
    sessions = max(sum(result.target == target for result in results) for target in targets)
    return {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": name,
        "title": f"Imported from {form}: {', '.join(targets)}",
        "targets": {target: {"runner": {"kind": "kubernetes"}} for target in targets},
        "workloads": _network(results) if form == knb.NAME else _storage(results),
        "method": {"sessions": sessions, "trials": 1, "warmups": 0, "order": "sequential", "replacements": 0},
        **({"compare": {"baseline": targets[0]}} if len(targets) > 1 else {}),
    }


def _refuse_copies(results: Sequence[Result]) -> None:
    """One measurement that counts as several sessions would look like a repetition that agrees to the last digit. Raises UsageError."""
    seen: dict[bytes, Result] = {}
    for result in results:
        if (first := seen.setdefault(result.data, result)) is not result:
            raise UsageError(
                f"found the same bytes in {first.name} and {result.name}, expected a measurement of its own in each file",
                remedy="name each file once",
            )


def _network(results: Sequence[Result]) -> dict[str, Any]:
    """A workload for each path, since not every path need have every protocol."""
    keys = dict.fromkeys(piece.key for result in results for piece in result.pieces)
    paths = {path: [protocol for other, protocol in keys if other == path] for path, _ in keys}
    return {
        path: {"tool": "iperf3", "path": path, "placement": "across-nodes", "with": {"omit": "1 s"}, "matrix": {"protocol": protocols}}
        for path, protocols in paths.items()
    }


def _storage(results: Sequence[Result]) -> dict[str, Any]:
    files = {result.job_file for result in results}
    if len(files) != 1 or not min(files).strip():
        found = "no job file" if files == {""} else f"{len(files)} different job files"
        raise UsageError(f"found {found} in the results, expected one, the same in all", remedy="import results of different jobs one by one")
    first = results[0].pieces[0].measurements
    primary = next(measurement.series for measurement in first if measurement.metric.startswith("iops"))
    return {"storage": {"tool": "fio", "with": {"job_text": min(files)}, "primary": primary}}


def describe(form: str, results: Sequence[Result]) -> dict[str, Any]:
    """What the manifest says of where the figures come from."""
    files = [{"target": one.target, "name": one.name, "sha256": hashlib.sha256(one.data).hexdigest()} for one in results]
    return {"from": form, "by": sorted({one.made_by for one in results}), "files": files}


def write_records(directory: RunDirectory, spec: Spec, plan: Plan, results: Sequence[Result]) -> None:
    """Write the journal and the raw files. Raises StorageError."""
    experiments = {experiment.id: experiment for experiment in plan.experiments}
    numbered: dict[tuple[str, int], Result] = {}
    for target in spec.targets:
        numbered |= {(target.name, n): one for n, one in enumerate((r for r in results if r.target == target.name), start=1)}
    with Journal(directory.journal_path) as journal:
        began = {"run_id": directory.run_id, "time": time.time(), "manifest": directory.manifest_sha256()}
        journal.append(RUN_STARTED, began)
        for one in {experiment.target: experiment for experiment in plan.experiments}.values():
            journal.append(FACTS, _shared_facts(one, [result for result in results if result.target == one.target]))
        count = 0
        for round_ in number_slots(plan.order):
            experiment, slot = experiments[round_.planned.experiment_id], round_.slots[0]
            result = numbered.get((experiment.target, slot.session))
            piece = next((p for p in result.pieces if _is_of(p, experiment)), None) if result else None
            if result is not None and piece is not None:
                count += 1
                raw = directory.store_raw(slot.sequence, {RESULT: result.data})
                journal.append(FINISHED, _trial(directory.run_id, slot.sequence, slot.session, experiment, result, piece, raw))
        journal.append(FINDING, _provenance(results))
        journal.append(RUN_FINISHED, {"trials": count})


def _is_of(piece: Piece, experiment: Experiment) -> bool:
    return not piece.key or piece.key == (experiment.path, experiment.parameters.get("protocol"))


def _shared_facts(experiment: Experiment, results: Sequence[Result]) -> FactSet:
    """What the files of a target say of the cluster as a whole; what only some say, or not all alike, is unknown."""
    values = [{fact.name: fact.value for fact in result.facts} for result in results]
    facts = tuple(
        fact if all(each.get(fact.name) == fact.value for each in values) else replace(fact, value=None, source=f"{fact.source}: the files differ")
        for fact in results[0].facts
    )
    return FactSet(target=experiment.target, site=experiment.roles[0].site, when="before", observed_at=results[0].made_at, facts=facts)


def _trial(run_id: str, sequence: int, session: int, experiment: Experiment, result: Result, piece: Piece, raw: tuple[Any, ...]) -> Trial:
    return Trial(
        sequence=sequence,
        experiment_id=experiment.id,
        session=session,
        kind=TrialKind.MEASURED,
        index=1,
        job_id=f"{run_id}-{sequence}",
        status=TrialStatus.FAILED if piece.error else TrialStatus.VALID,
        started_at=result.made_at,
        duration_s=0.0,
        measurements=piece.measurements,
        error=piece.error,
        error_kind="parse" if piece.error else None,
        usage=piece.usage,
        raw=raw,
    )


def _provenance(results: Sequence[Result]) -> Finding:
    made_by = ", ".join(sorted({one.made_by for one in results}))
    count = f"{len(results)} file{'s' * (len(results) > 1)}"
    message = (
        f"imported: measured by {made_by}, not by benchspec; {count}, each taken for a session. Placement was not proven, nothing was randomised, no "
        "gate was applied, and facts are what the files say"
    )
    return Finding(code="F606", level=FindingLevel.WARNING, message=message)
