"""Results of knb and kubestr as a run directory, so that pages and comparisons work on them.

knb's tests are experiments of iperf3, which it runs; what kubestr measured is one experiment of fio
with kubestr's job file. Each file is a session of its target: files of one target are taken for
repetitions. Nothing was randomised, so the order is sequential, and nothing was watched: there are
no gates and no nodes, and a page says that it is imported.
"""

from __future__ import annotations

import calendar
import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..execution.slots import Slot, number_slots
from ..facts.catalogue import fact_kinds
from ..model.errors import ParseError, UsageError
from ..model.results import (
    Fact,
    FactSet,
    Finding,
    FindingLevel,
    GateResult,
    Measurement,
    Trial,
    TrialKind,
    TrialStatus,
)
from ..model.spec import Experiment, Json, Spec
from ..planning.plan import Plan
from ..store.directory import RunDirectory
from ..store.journal import Journal
from ..store.records import FACTS, FINDING, FINISHED, RUN_FINISHED, RUN_STARTED
from . import kubestr
from .knb import results as knb

IMPORTED = "imported"
"""The manifest's key of a run that was imported."""
RESULT = "result"
NO_IMAGE = "not-said"
"""In place of the image that a cluster needs when something is run there."""

_YEAR_10000 = 253402300800
_THROUGHPUT = "throughput"
_LOADS = {
    **{f"cpu.{state}": f"host.cpu.{state}" for state in ("user", "system", "iowait", "steal")},
    "memory.used": "memory.used",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What one experiment gave in one file: measurements, or why there are none.

    ``key`` tells the experiment (path and protocol; empty: the only one); ``usage`` is what the
    roles' nodes did meanwhile, as in :class:`Trial`.
    """

    key: tuple[str, ...]
    measurements: tuple[Measurement, ...] = ()
    error: str | None = None
    usage: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    gates: tuple[GateResult, ...] = ()
    nodes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One file of one target. ``made_at`` is Unix s (0: the file does not say); ``job_file`` is
    fio's, of kubestr. ``session`` names the one that it belongs to ("": its own); ``unread`` are
    lines of results without a figure here.
    """

    target: str
    name: str
    data: bytes
    made_at: float
    made_by: str
    pieces: tuple[Piece, ...]
    facts: tuple[Fact, ...]
    job_file: str = ""
    session: str = ""
    unread: tuple[str, ...] = ()


def is_imported(directory: RunDirectory) -> bool:
    """Whether benchspec only imported what is in ``directory``: nothing of it can be resumed, and
    nothing was created.
    """
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
    said = {role: about.get(f"{role}-node", "") for role in ("client", "server")}
    nodes = {role: node for role, node in said.items() if node}
    pieces = tuple(_of_test(test, nodes) for test in report.tests if test.path)
    if not pieces:
        raise ParseError("knb only looked at idle nodes: there is nothing to compare")
    facts = (
        *_facts(
            {"kubernetes.version": about.get("k8s-version", "").removeprefix("v") or None},
            "knb's data.k8s-version",
        ),
        *_facts({"kernel.release": about.get("kernel")}, "knb's data.kernel"),
        *_facts({"cpu.model": about.get("cpu")}, "knb's data.cpu"),
        *_facts({"path.mtu": None if report.mtu is None else int(report.mtu)}, "knb's data.mtu"),
    )
    made_by = f"knb {about.get('version', 'of unknown version')}"
    return Result(
        target=target,
        name=name,
        data=data,
        made_at=_moment(about.get("date", "")),
        made_by=made_by,
        pieces=pieces,
        facts=facts,
    )


def _of_test(test: knb.Test, nodes: Mapping[str, str]) -> Piece:
    key = (test.path, test.protocol, _placement(nodes))
    if test.throughput is None:
        return Piece(key=key, error=f"{test.name}: knb has no bandwidth; its iperf3 failed")
    measured = Measurement(metric=_THROUGHPUT, value=test.throughput, unit="bit/s")
    return Piece(
        key=key,
        measurements=(measured,),
        usage={role.value: _load(values) for role, values in test.usage.items()},
        nodes=nodes,
    )


def _placement(nodes: Mapping[str, str]) -> str:
    """What the names of the nodes say; "" where one is not said."""
    if len(nodes) < 2:
        return ""
    return "same-node" if nodes["client"] == nodes["server"] else "across-nodes"


def _load(values: Mapping[str, float]) -> dict[str, float]:
    """What a node did, by the names of our monitors; knb's total counts waiting for I/O as work, so
    it is not ``busy``.
    """
    return {_LOADS[name]: value for name, value in values.items() if name in _LOADS}


def _of_kubestr(target: str, name: str, data: bytes) -> Result:
    outcome = kubestr.read(data)
    source = "the storage class in kubestr's result"
    facts = _facts({f"storage.{key}": value for key, value in outcome.storage.items()}, source)
    pieces = (Piece(key=(), measurements=outcome.measurements),)
    return Result(
        target=target,
        name=name,
        data=data,
        made_at=_datable(outcome.made_at),
        made_by="kubestr",
        pieces=pieces,
        facts=facts,
        job_file=outcome.job_file,
    )


def _facts(values: Mapping[str, Json], source: str) -> tuple[Fact, ...]:
    kinds = fact_kinds()
    return tuple(
        Fact(name=name, value=value, source=source, unit=kinds[name].unit)
        for name, value in values.items()
        if value is not None
    )


def _moment(date: str) -> float:
    """knb writes UTC, as ``2026-11-02 08:30:00``."""
    try:
        return _datable(
            calendar.timegm(time.strptime(date.removesuffix(" UTC"), "%Y-%m-%d %H:%M:%S"))
        )
    except (ValueError, OverflowError):
        return 0.0


def _datable(unix_s: float) -> float:
    """A moment that a calendar of four-digit years has, else 0: not said."""
    return float(unix_s) if 0 < unix_s < _YEAR_10000 else 0.0


def to_document(
    form: str, name: str, results: Sequence[Result], workloads: Mapping[str, Any]
) -> dict[str, Any]:
    """The spec that describes them."""
    targets = list(dict.fromkeys(result.target for result in results))
    counts = _sessions(results)
    clusters = form in (knb.NAME, kubestr.NAME)
    runner = {"kind": "kubernetes", "image": NO_IMAGE} if clusters else {"kind": "local"}
    kind = {"runner": runner}
    return {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": name,
        "title": f"Imported from {form}: {', '.join(targets)}",
        "targets": dict.fromkeys(targets, kind),
        "workloads": dict(workloads),
        "method": {
            "sessions": max(len(sessions) for sessions in counts.values()),
            "trials": max(max(sessions.values()) for sessions in counts.values()),
            "warmups": 0,
            "order": "sequential",
            "replacements": 0,
        },
        **({"compare": {"baseline": targets[0]}} if len(targets) > 1 else {}),
    }


def _sessions(results: Sequence[Result]) -> dict[str, dict[str, int]]:
    """How many files each session of each target has, at most for one experiment."""
    counts: dict[str, dict[tuple[str, tuple[str, ...]], int]] = {}
    for number, result in enumerate(results):
        mine = counts.setdefault(result.target, {})
        for piece in result.pieces:
            session = (result.session or f"file {number}", piece.key)
            mine[session] = mine.get(session, 0) + 1
    return {
        target: {
            session: max(count for (one, _), count in mine.items() if one == session)
            for session, _ in mine
        }
        for target, mine in counts.items()
    }


def workloads_of(
    form: str, results: Sequence[Result]
) -> tuple[dict[str, Any], dict[tuple[str, ...], str]]:
    """The workloads of what knb or kubestr measured, and which is whose by the key of a piece.
    Raises UsageError for files that cannot be one experiment.
    """
    return _network(results) if form == knb.NAME else (_storage(results), {(): "storage"})


def refuse_copies(results: Sequence[Result]) -> None:
    """One measurement that counts as several sessions would look like a repetition that agrees to
    the last digit. Raises UsageError.
    """
    seen: dict[bytes, Result] = {}
    for result in results:
        if (first := seen.setdefault(result.data, result)) is not result:
            raise UsageError(
                f"found the same bytes in {first.name} and {result.name}, expected a measurement of"
                " its own in each file",
                remedy="name each file once",
            )


def _network(
    results: Sequence[Result],
) -> tuple[dict[str, Any], dict[tuple[str, ...], str]]:
    """A workload for each path, placement and protocol of a fork, since not every path need have
    every protocol; TCP and UDP are points of one.
    """
    keys = list(dict.fromkeys(piece.key for result in results for piece in result.pieces))
    placements = {placement for _, _, placement in keys}
    found: dict[str, Any] = {}
    names: dict[tuple[str, ...], str] = {}
    for key in keys:
        path, protocol, placement = key
        known = protocol in ("tcp", "udp")
        said = placement or "placement-not-said"
        parts = [path, *([] if len(placements) == 1 else [said]), *([] if known else [protocol])]
        names[key] = "-".join(parts).replace("_", "-")
        workload = found.setdefault(
            names[key],
            {
                "tool": "iperf3",
                "path": path,
                **({"placement": placement} if placement else {}),
                "with": {"omit": "1 s"},
            },
        )
        if known:
            workload.setdefault("matrix", {"protocol": []})["protocol"].append(protocol)
    return found, names


def _storage(results: Sequence[Result]) -> dict[str, Any]:
    files = {result.job_file for result in results}
    if len(files) != 1 or not min(files).strip():
        found = "no job file" if files == {""} else f"{len(files)} different job files"
        raise UsageError(
            f"found {found} in the results, expected one, the same in all",
            remedy="import results of different jobs one by one",
        )
    first = results[0].pieces[0].measurements
    primary = next(
        measurement.series for measurement in first if measurement.metric.startswith("iops")
    )
    return {"storage": {"tool": "fio", "with": {"job_text": min(files)}, "primary": primary}}


def describe(
    form: str, results: Sequence[Result], skipped: Sequence[Skipped], sessions: str
) -> dict[str, Any]:
    """What the manifest says of where the figures come from."""
    files = [
        {"target": one.target, "name": one.name, "sha256": hashlib.sha256(one.data).hexdigest()}
        for one in results
    ]
    return {
        "from": form,
        "by": sorted({one.made_by for one in results}),
        "files": list({(one["target"], one["name"], one["sha256"]): one for one in files}.values()),
        "sessions": sessions,
        "skipped": [
            {"target": one.target, "name": one.name, "reason": one.reason} for one in skipped
        ],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file that could not be read, and why."""

    target: str
    name: str
    reason: str


def write_records(
    directory: RunDirectory,
    spec: Spec,
    plan: Plan,
    results: Sequence[Result],
    names: Mapping[tuple[str, ...], str],
    skipped: Sequence[Skipped] = (),
) -> None:
    """Write the journal and the raw files. ``names`` are the workloads by the keys of pieces.

    Raises:
        StorageError: they cannot be written.
    """
    experiments = {experiment.id: experiment for experiment in plan.experiments}
    waiting = _by_session(results, names)
    with Journal(directory.journal_path) as journal:
        began = {
            "run_id": directory.run_id,
            "time": time.time(),
            "manifest": directory.manifest_sha256(),
        }
        journal.append(RUN_STARTED, began)
        for one in {experiment.target: experiment for experiment in plan.experiments}.values():
            journal.append(
                FACTS,
                _shared_facts(one, [result for result in results if result.target == one.target]),
            )
        count = 0
        for round_ in number_slots(plan.order):
            experiment = experiments[round_.planned.experiment_id]
            left = waiting.get((experiment.target, round_.planned.session), [])
            mine = [
                (result, piece) for result, piece, name in left if _is_of(piece, name, experiment)
            ]
            for slot, (result, piece) in zip(round_.slots, mine, strict=False):
                count += 1
                raw = directory.store_raw(slot.sequence, {RESULT: result.data})
                trial = _trial(directory.run_id, slot, experiment, result, piece, raw)
                journal.append(FINISHED, trial)
        journal.append(FINDING, _provenance(results, skipped))
        journal.append(RUN_FINISHED, {"trials": count})


def _by_session(
    results: Sequence[Result], names: Mapping[tuple[str, ...], str]
) -> dict[tuple[str, int], list[tuple[Result, Piece, str]]]:
    """What each session of each target has, sessions numbered as they come."""
    numbers: dict[str, dict[str, int]] = {}
    found: dict[tuple[str, int], list[tuple[Result, Piece, str]]] = {}
    for position, result in enumerate(results):
        mine = numbers.setdefault(result.target, {})
        number = mine.setdefault(result.session or f"file {position}", len(mine) + 1)
        found.setdefault((result.target, number), []).extend(
            (result, piece, names[piece.key]) for piece in result.pieces
        )
    return found


def _is_of(piece: Piece, name: str, experiment: Experiment) -> bool:
    protocol = experiment.parameters.get("protocol")
    points = len(piece.key) == 3 and piece.key[1] in ("tcp", "udp")
    return name == experiment.workload and (not points or piece.key[1] == protocol)


def _shared_facts(experiment: Experiment, results: Sequence[Result]) -> FactSet:
    """What the files of a target say of the cluster as a whole; what only some say, or not all
    alike, is unknown.
    """
    values = [{fact.name: fact.value for fact in result.facts} for result in results]
    facts = tuple(
        (
            fact
            if all(each.get(fact.name) == fact.value for each in values)
            else replace(fact, value=None, source=f"{fact.source}: the files differ")
        )
        for fact in results[0].facts
    )
    return FactSet(
        target=experiment.target,
        site=experiment.roles[0].site,
        when="before",
        observed_at=results[0].made_at,
        facts=facts,
    )


def _trial(
    run_id: str,
    slot: Slot,
    experiment: Experiment,
    result: Result,
    piece: Piece,
    raw: tuple[Any, ...],
) -> Trial:
    passed = all(gate.passed for gate in piece.gates)
    counted = TrialStatus.VALID if passed else TrialStatus.INVALID
    return Trial(
        sequence=slot.sequence,
        experiment_id=experiment.id,
        session=slot.session,
        kind=TrialKind.MEASURED,
        index=slot.index,
        job_id=f"{run_id}-{slot.sequence}",
        status=TrialStatus.FAILED if piece.error else counted,
        started_at=result.made_at,
        duration_s=0.0,
        measurements=piece.measurements,
        error=piece.error,
        error_kind="parse" if piece.error else None,
        gates=piece.gates,
        usage=piece.usage,
        raw=raw,
        nodes=piece.nodes,
    )


def _provenance(results: Sequence[Result], skipped: Sequence[Skipped]) -> Finding:
    made_by = ", ".join(sorted({one.made_by for one in results}))
    files = {(one.target, one.name) for one in results}
    count = f"{len(files)} file{'s' * (len(files) > 1)}"
    unread = sum(len(one.unread) for one in results)
    left_out = "; ".join(f"{one.target}: {one.name}: {one.reason}" for one in skipped)
    message = (
        f"imported: measured by {made_by}, not by benchspec; {count}. How many trials were planned,"
        " their order and what else ran is not said; placement was not proven, and facts are what"
        " the files say"
        + (f". {unread} lines with results were not read" if unread else "")
        + (f". {len(skipped)} files were left out: {left_out}" if skipped else "")
    )
    return Finding(code="F606", level=FindingLevel.WARNING, message=message)
