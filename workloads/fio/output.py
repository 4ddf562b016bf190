"""fio's JSON output, versions 2.1 to 3.4x, as measurements. Format: fio HOWTO, "JSON output";
``stat.c`` of each version for units.

Units: ``bw`` is KiB/s, ``bw_bytes`` B/s, ``runtime`` ms; ``clat_ns`` ns (3.x), ``clat`` us (2.x);
``usr_cpu`` percent of one CPU. A figure that fio did not take is written as 0 with ``N`` 0
(``gtod_reduce``), or left out (kubestr drops zeros): it is absent here.
"""

from __future__ import annotations

import errno
import itertools
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...engine.model.errors import ParseError
from ...engine.model.results import Measurement
from ...engine.model.spec import Json
from ...engine.model.text.json_output import as_mapping, as_sequence, child, figure
from .metrics import DIRECTIONS, GATE_INPUTS, METRICS, PERCENTILES

_SAME_START_S = 2.5
"""Documents say when they were printed and how long the run had lasted in whole s."""

_UNITS: Mapping[str, str] = {metric.name: metric.unit for metric in (*METRICS, *GATE_INPUTS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Latency in s by statistic (mean, min, max, p50 ...); ``total`` when it includes submission
    (``lat_percentiles``), else completion alone.
    """

    seconds: Mapping[str, float] = field(default_factory=dict)
    total: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """One direction of one entry of ``jobs``: operations 1/s, data B/s, measured time s,
    operations, latency.
    """

    iops: float
    bytes_per_s: float
    runtime_s: float | None
    operations: float | None
    latency: Latency


def read(document: Json) -> tuple[Measurement, ...]:
    """The measurements of one fio document (or of kubestr's wrapper around one), each labelled
    ``job=NAME``.

    Raises:
        ParseError: it is no fio document, a job failed, or a job did no I/O.
    """
    entries = [as_mapping(job) for job in as_sequence(as_mapping(unwrap(document)).get("jobs"))]
    jobs: dict[str, list[Mapping[str, Json]]] = {}
    for entry in entries:
        name = entry.get("jobname")
        if not isinstance(name, str):
            raise ParseError("the fio output has a job without a name")
        _refuse_failure(name, entry)
        jobs.setdefault(name, []).append(entry)
    if not jobs:
        raise ParseError("the fio output has no jobs")
    return tuple(measurement for name, same in jobs.items() for measurement in _job(name, same))


def unwrap(document: Json) -> Json:
    """The fio document inside kubestr's ``-o json``: ``[{"TestName", "Status": [...], "Raw":
    {"result": ...} | null}]``; any other as it is.

    Raises:
        ParseError: kubestr failed; its own message is quoted.
    """
    if not isinstance(document, list | tuple):
        return document
    tests = [as_mapping(test) for test in document]
    for status in (as_mapping(s) for test in tests for s in as_sequence(test.get("Status"))):
        if status.get("StatusCode") == "Error":
            raise ParseError(f"kubestr failed: {status.get('StatusMessage')}")
    if len(tests) != 1:
        raise ParseError(f"found {len(tests)} tests in kubestr's output, expected one")
    return child(tests[0], "Raw", "result")


def refuse_several_runs(found: Sequence[Json]) -> None:
    """``--status-interval`` prints a document again and again, all of one run, and the last counts.
    Results of other runs that were appended to the file began after the first had ended.

    Raises:
        ParseError: they are of several runs, or do not tell.
    """
    runs = [as_mapping(unwrap(document)) for document in found]
    for earlier, later in itertools.pairwise(runs):
        before, after = _began_and_printed(earlier), _began_and_printed(later)
        if before is None or after is None or after[0] > before[0] + _SAME_START_S:
            raise ParseError(
                f"found {len(found)} results of fio in one output, expected one, or those of"
                " --status-interval",
                remedy="keep the output of every run in a file of its own",
            )


def _began_and_printed(document: Mapping[str, Json]) -> tuple[float, float] | None:
    """When a run began and when it printed, in Unix s; None: it does not say."""
    printed = figure(document, "timestamp_ms")
    printed = figure(document, "timestamp") if printed is None else printed / 1e3
    elapsed = [figure(as_mapping(job), "elapsed") for job in as_sequence(document.get("jobs"))]
    known = [seconds for seconds in elapsed if seconds is not None]
    return (printed - max(known), printed) if printed is not None and known else None


def _refuse_failure(name: str, entry: Mapping[str, Json]) -> None:
    code = entry.get("error", 0)
    if code == 0:
        return
    if not isinstance(code, int) or not 0 < code < 4096:
        raise ParseError(f"fio job {name!r} says error {code!r}")
    remedy = None
    if code == errno.EINVAL:
        remedy = (
            "a file system without direct I/O, or a block size the device does not take: set"
            " direct: false or use another directory"
        )
    raise ParseError(
        f"fio job {name!r} failed with error {code} ({errno.errorcode.get(code, 'unknown')}:"
        f" {os.strerror(code)})",
        remedy=remedy,
    )


def _job(name: str, entries: Sequence[Mapping[str, Json]]) -> list[Measurement]:
    """One job; several entries of one name are its processes (``numjobs`` without
    ``group_reporting``), which ran at the same time.
    """
    if len({str(entry.get("groupid")) for entry in entries}) > 1:
        raise ParseError(
            f"several fio jobs are called {name!r} and ran one after the other",
            remedy="give each job a name of its own",
        )
    found: list[Measurement] = []
    runtimes: list[float] = []
    for direction in DIRECTIONS:
        flows = [flow for entry in entries if (flow := _flow(entry.get(direction))) is not None]
        if flows:
            found.extend(_direction(name, direction, flows))
            runtimes.extend(flow.runtime_s for flow in flows if flow.runtime_s is not None)
    if not found:
        raise ParseError(f"fio job {name!r} did no I/O")
    whole = {
        "cpu.user": _mean_share(entries, "usr_cpu"),
        "cpu.system": _mean_share(entries, "sys_cpu"),
        "error.ratio": _error_ratio(entries),
        "duration": min(runtimes, default=None),
    }
    return [*found, *_measurements(whole, {"job": name})]


def _measurements(
    values: Mapping[str, float | None], labels: Mapping[str, str]
) -> list[Measurement]:
    """Those of ``values`` that were measured, by metric name."""
    found = [
        Measurement(metric=name, value=value, unit=_UNITS[name], labels=labels)
        for name, value in values.items()
        if value is not None
    ]
    if not all(math.isfinite(measurement.value) for measurement in found):
        raise ParseError("the fio output has figures too large to be real")
    return found


def _direction(job: str, direction: str, flows: Sequence[Flow]) -> list[Measurement]:
    latency = _combine(flows)
    labels = {"job": job, "latency": "total"} if latency.total else {"job": job}
    rates = {
        f"iops.{direction}": sum(flow.iops for flow in flows),
        f"throughput.{direction}": sum(flow.bytes_per_s for flow in flows),
    }
    counts = [flow.operations for flow in flows if flow.operations is not None]
    samples = sum(counts) if len(counts) == len(flows) else None
    return [
        *_measurements(rates, {"job": job}),
        *_measurements({f"latency.{direction}.{k}": v for k, v in latency.seconds.items()}, labels),
        *_measurements({"samples": samples}, {"job": job, "direction": direction}),
    ]


def _flow(value: Json) -> Flow | None:
    """One direction; None when nothing went that way or its rate was not measured."""
    block = as_mapping(value)
    iops, bytes_per_s = figure(block, "iops"), _bytes_per_s(block)
    operations, runtime = figure(block, "total_ios"), figure(block, "runtime")
    if not iops or not bytes_per_s or operations == 0 or runtime == 0:
        return None
    runtime_s = None if runtime is None else runtime / 1e3
    return Flow(
        iops=iops,
        bytes_per_s=bytes_per_s,
        runtime_s=runtime_s,
        operations=operations,
        latency=_latency(block),
    )


def _bytes_per_s(block: Mapping[str, Json]) -> float | None:
    """``bw_bytes`` where there is one (fio 3.2 and later), else ``bw``, which is KiB/s in every
    version.
    """
    exact, coarse = figure(block, "bw_bytes"), figure(block, "bw")
    if exact is not None:
        return exact
    return None if coarse is None else coarse * 1024


def _latency(block: Mapping[str, Json]) -> Latency:
    """Completion latency, or total latency where fio took the percentiles of that
    (``lat_percentiles``) or took no other.
    """
    for suffix, per_second in (("_ns", 1e9), ("", 1e6)):
        completion, total = (
            as_mapping(block.get(f"clat{suffix}")),
            as_mapping(block.get(f"lat{suffix}")),
        )
        if "percentile" not in completion and "percentile" in total:
            return Latency(seconds=_statistics(total, per_second), total=True)
        if completion:
            return Latency(seconds=_statistics(completion, per_second))
    return Latency()


def _statistics(block: Mapping[str, Json], per_second: float) -> dict[str, float]:
    """The statistics that were taken, in s; ``per_second`` figures make one. fio writes 0 for all
    of them when it took none.
    """
    count, mean = figure(block, "N"), figure(block, "mean")
    if count == 0 or not mean:
        return {}
    taken = {"mean": mean, "min": figure(block, "min"), "max": figure(block, "max")}
    percentiles = as_mapping(block.get("percentile"))
    taken.update({name: figure(percentiles, key) for name, key in PERCENTILES.items()})
    return {name: value / per_second for name, value in taken.items() if value}


def _combine(flows: Sequence[Flow]) -> Latency:
    """Latency of processes taken together: means weighted by operations, extremes; percentiles
    cannot be merged and are left out.
    """
    if len(flows) == 1:
        return flows[0].latency
    parts = [(flow.latency.seconds, flow.operations) for flow in flows]
    if not all("mean" in seconds for seconds, _ in parts):
        return Latency()
    total = sum(operations or 0.0 for _, operations in parts)
    seconds: dict[str, float] = {}
    if total > 0 and all(operations is not None for _, operations in parts):
        seconds["mean"] = (
            sum(part["mean"] * (operations or 0.0) for part, operations in parts) / total
        )
    for name, extreme in (("min", min), ("max", max)):
        if all(name in part for part, _ in parts):
            seconds[name] = extreme(part[name] for part, _ in parts)
    return Latency(seconds=seconds, total=flows[0].latency.total)


def _mean_share(entries: Sequence[Mapping[str, Json]], key: str) -> float | None:
    """A CPU percentage as a ratio; the mean over processes, as fio itself does when it groups
    them.
    """
    shares = [figure(entry, key) for entry in entries]
    known = [share for share in shares if share is not None]
    return sum(known) / len(known) / 100 if len(known) == len(shares) else None


def _error_ratio(entries: Sequence[Mapping[str, Json]]) -> float | None:
    """Failed operations among all (``continue_on_error`` counts them in ``total_err``); 0 only
    where fio says ``error: 0``.
    """
    failed = [
        figure(entry, "total_err") if "total_err" in entry else 0 if "error" in entry else None
        for entry in entries
    ]
    done = [
        figure(child(entry, direction), "total_ios")
        for entry in entries
        for direction in DIRECTIONS
    ]
    operations = sum(count for count in done if count is not None)
    if operations <= 0 or any(count is None for count in failed):
        return None
    errors = sum(count for count in failed if count is not None)
    return errors / (operations + errors)
