"""netperf: throughput, transaction rate and latency between two hosts, with the CPU time they cost.

One ``netserver`` serves; N parallel streams are N ``netperf`` processes. Every data connection gets
a fixed port behind the control port (test-specific ``-P ,PORT``; the remote side only, so that a
short-lived local port is never reused) or of its own (``data_port``), which firewalls and Services
can let through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...engine.model.contract.values import (
    Command,
    Commands,
    Completed,
    Endpoint,
    Server,
    Surroundings,
    Tool,
)
from ...engine.model.contract.workload import ListensOnPorts, NamesPorts, PrintsReports, Workload
from ...engine.model.errors import ParseError, SpecError
from ...engine.model.results import Direction, Measurement, Metric, Statistic
from ...engine.model.spec import Experiment, Json, Role
from ...engine.model.units import Dimension
from ..shared.latencies import latency_metrics
from ..shared.measurements import measurements
from ..shared.quantities import flag, integer, quantity, text, whole_bytes, whole_seconds
from . import intervals as netperf_intervals
from . import output as netperf_output
from . import streams as netperf_streams

NAME = "netperf"
ROLES: Sequence[Role] = (Role.CLIENT, Role.SERVER)
DEFAULT_GATES: Mapping[str, float] = {}
_LATENCIES = ("min", "mean", "p50", "p90", "p99", "max", "stddev")
_REQUEST_RESPONSE = ("TCP_RR", "TCP_CRR", "UDP_RR")
_GRACE_S = 60.0
"""Time beyond the test itself before a client counts as hung: connecting, CPU calibration,
netperf's own wait for the last result.
"""

_CRR_END_S = 4.0
"""netperf 2.7 needs 4 s more to end a TCP_CRR test, whatever its length."""

_SERVER_LIFE_S = 7 * 86400.0
"""A server is stopped with its allocation; this only ends one that was forgotten."""


def _metric(
    name: str, title: str, unit: str, direction: Direction, limits: tuple[str, ...] = ()
) -> Metric:
    return Metric(name=name, title=title, unit=unit, direction=direction, limits=limits)


def _cpu_metrics(side: str, host: str) -> tuple[Metric, ...]:
    parts = {
        "": "total",
        ".user": "user",
        ".system": "system",
        ".softirq": "softirq",
        ".irq": "hardware interrupts",
        ".iowait": "waiting for I/O",
    }
    return tuple(
        Metric(
            name=f"cpu.{side}{suffix}",
            title=f"CPU of the {host}, {part} (of all its CPUs)",
            unit="ratio",
            direction=Direction.LOWER,
            statistic=Statistic.ARITHMETIC_MEAN,
        )
        for suffix, part in parts.items()
    )


METRICS: Sequence[Metric] = (
    _metric(
        "throughput", "Received throughput", "bit/s", Direction.HIGHER, ("network.throughput",)
    ),
    _metric(
        "throughput.sent", "Sent throughput (UDP)", "bit/s", Direction.NEITHER
    ),  # much may be dropped before the link: no limit bounds it
    _metric("transactions", "Transactions per second", "1/s", Direction.HIGHER),
    *latency_metrics(*_LATENCIES),
    *latency_metrics(*_LATENCIES, suffix=".call", title=", one send or receive call of a stream"),
    *_cpu_metrics("local", "client's host"),
    *_cpu_metrics("remote", "server's host"),
    _metric("retransmits", "Segments the client sent again", "1", Direction.LOWER),
    _metric("retransmits.remote", "Segments the server sent again", "1", Direction.LOWER),
    _metric(
        "loss.ratio", "Share of the sent data that did not arrive (UDP)", "ratio", Direction.LOWER
    ),
    _metric(
        "throughput.confidence",
        "Full width of netperf's own confidence interval, relative to the mean",
        "ratio",
        Direction.LOWER,
    ),
    _metric(
        "iterations", "Iterations netperf ran for its confidence interval", "1", Direction.NEITHER
    ),
    _metric("duration", "Measured time", "s", Direction.NEITHER),
    _metric(
        "throughput.interval.min",
        "Throughput at the client, least of an interval",
        "bit/s",
        Direction.HIGHER,
    ),
    _metric(
        "throughput.interval.max",
        "Throughput at the client, greatest of an interval",
        "bit/s",
        Direction.NEITHER,
    ),
    _metric(
        "transactions.interval.min",
        "Transactions per second, least of an interval",
        "1/s",
        Direction.HIGHER,
    ),
    _metric(
        "transactions.interval.max",
        "Transactions per second, greatest of an interval",
        "1/s",
        Direction.NEITHER,
    ),
)


def metrics(parameters: Mapping[str, Json]) -> Sequence[Metric]:
    """All metrics, whatever the parameters."""
    return METRICS


def tools(parameters: Mapping[str, Json]) -> Sequence[Tool]:
    """netperf where the client is, netserver where the server is; both are in Debian's ``netperf``
    (component non-free).
    """
    programs = {"netperf": Role.CLIENT, "netserver": Role.SERVER}
    return tuple(
        Tool(executable=name, package="netperf", version_argv=(name, "-V"), roles=(role,))
        for name, role in programs.items()
    )


def primary(parameters: Mapping[str, Json]) -> str:
    """``transactions`` for the request/response tests, ``throughput`` otherwise."""
    return "transactions" if _test(parameters) in _REQUEST_RESPONSE else "throughput"


def duration_s(parameters: Mapping[str, Json]) -> float:
    """The test's length in s, times the most iterations netperf may run for its confidence
    interval. Raises SpecError.
    """
    iteration = whole_seconds(parameters, "duration", "10 s") + (
        _CRR_END_S if _test(parameters) == "TCP_CRR" else 0.0
    )
    return iteration * _confidence(parameters)[1]


def ports(parameters: Mapping[str, Json]) -> int:
    """The control port, and behind it one data port for each stream unless they have ports of their
    own.
    """
    return 1 if fixed_ports(parameters) else 1 + integer(parameters, "streams", 1)


def fixed_ports(parameters: Mapping[str, Json]) -> Sequence[int]:
    """The data ports that ``data_port`` names, one for each stream."""
    first = integer(parameters, "data_port", 0)
    return range(first, first + integer(parameters, "streams", 1)) if first else ()


def _test(parameters: Mapping[str, Json]) -> str:
    return text(parameters, "test", "TCP_STREAM")


def _confidence(parameters: Mapping[str, Json]) -> tuple[int, int]:
    """Fewest and most iterations: 1 and 1 without ``confidence``, which netperf limits to 3 and 30.
    Raises SpecError.
    """
    asked = parameters.get("confidence")
    if not isinstance(asked, Mapping):
        return 1, 1
    fewest, most = integer(asked, "min", 3), integer(asked, "max", 10)
    if fewest > most:
        raise SpecError(f"confidence: found min {fewest} above max {most}, expected min <= max")
    return fewest, most


def commands(experiment: Experiment, surroundings: Surroundings) -> Commands:
    """One netserver, and one netperf per stream with a data port of its own. Raises UnitError."""
    endpoint, parameters = surroundings.endpoints[Role.SERVER], experiment.parameters
    cpus = {place.role: place.cpus for place in experiment.roles}
    deadline = duration_s(parameters) + _GRACE_S
    clients = tuple(
        Command(
            argv=_client_argv(parameters, endpoint, stream),
            role=Role.CLIENT,
            timeout_s=deadline,
            cpus=cpus.get(Role.CLIENT, ()),
        )
        for stream in range(integer(parameters, "streams", 1))
    )
    argv = (
        "netserver",
        "-D",
        "-N",
        *_family(parameters),
        "-p",
        str(endpoint.port),
    )  # -N: no debug file left in /tmp
    server = Command(
        argv=argv, role=Role.SERVER, timeout_s=_SERVER_LIFE_S, cpus=cpus.get(Role.SERVER, ())
    )
    return Commands(clients=clients, servers=(Server(command=server, endpoint=endpoint),))


def _client_argv(
    parameters: Mapping[str, Json], endpoint: Endpoint, stream: int
) -> tuple[str, ...]:
    return (
        "netperf",
        *_family(parameters),
        *("-H", endpoint.host, "-p", str(endpoint.port)),
        *("-t", _test(parameters), "-l", str(whole_seconds(parameters, "duration", "10 s"))),
        *(("-c", "-C") if flag(parameters, "cpu", True) else ()),
        *(("-j",) if flag(parameters, "latency", _test(parameters) in _REQUEST_RESPONSE) else ()),
        *_interval_option(parameters),
        *_confidence_options(parameters),
        "--",
        *_test_options(
            parameters,
            (
                fixed_ports(parameters)
                or range(endpoint.port + 1, endpoint.port + ports(parameters))
            )[stream],
        ),
        *("-k", ",".join(netperf_output.SELECTORS)),
    )


def _family(parameters: Mapping[str, Json]) -> tuple[str, ...]:
    return {"ipv4": ("-4",), "ipv6": ("-6",)}.get(text(parameters, "family"), ())


def _interval_option(parameters: Mapping[str, Json]) -> tuple[str, ...]:
    length = quantity(parameters, "interval", Dimension.TIME)
    return () if length is None else ("-D", f"{length:g}")


def _confidence_options(parameters: Mapping[str, Json]) -> tuple[str, ...]:
    asked = parameters.get("confidence")
    if not isinstance(asked, Mapping):
        return ()
    fewest, most = _confidence(parameters)
    width = 100 * (quantity(asked, "width", Dimension.RATIO, "5 %") or 0.05)
    return ("-i", f"{most},{fewest}", "-I", f"{integer(asked, 'level', 99)},{width:g}")


def _test_options(parameters: Mapping[str, Json], data_port: int) -> tuple[str, ...]:
    message, buffer = (
        whole_bytes(parameters, "message_size"),
        whole_bytes(parameters, "socket_buffer"),
    )
    return (
        *("-P", f",{data_port}"),
        *(
            ("-R", "1") if _test(parameters) == "UDP_STREAM" else ()
        ),  # without it netperf refuses to route the flood beyond the local network
        *(("-m", str(message)) if message else ()),
        *(("-r", _request_response(parameters)) if _test(parameters) in _REQUEST_RESPONSE else ()),
        *(("-s", str(buffer), "-S", str(buffer)) if buffer else ()),
        *(("-D",) if flag(parameters, "no_delay", False) else ()),
    )


def _request_response(parameters: Mapping[str, Json]) -> str:
    return f"{whole_bytes(parameters, 'request_size', '1 B')},{whole_bytes(parameters, 'response_size', '1 B')}"


def parse(completed: Sequence[Completed], parameters: Mapping[str, Json]) -> Sequence[Measurement]:
    """Measurements of one trial: of the one process, or of all parallel ones together (percentiles
    and intervals per process, labelled ``stream=N``).

    Raises:
        ParseError: a process failed, printed no result, ran at another time than the rest, or is
            missing.
    """
    asked = integer(parameters, "streams", len(completed))
    if not completed or len(completed) != asked:
        raise ParseError(f"found {len(completed)} netperf outputs, expected {max(asked, 1)}")
    processes = [_figures_of(process) for process in completed]
    if len(processes) == 1:
        return measurements(METRICS, _named(_with_loss(processes[0])))
    netperf_streams.check_overlap(completed)
    found = [*measurements(METRICS, _named(_with_loss(netperf_streams.combine(processes))))]
    for number, process in enumerate(processes, start=1):
        own = {
            name: process.get(name)
            for name in ("transactions", *netperf_streams.PERCENTILES, *netperf_intervals.METRICS)
        }
        found += measurements(
            METRICS, {**_named(own), "transactions": None}, {"stream": str(number)}
        )
    return found


def _figures_of(process: Completed) -> dict[str, float | None]:
    output = process.stdout.decode("utf-8", errors="replace")
    if process.exit_code != 0:
        said = (process.stderr.decode("utf-8", errors="replace").strip() or output.strip())[-500:]
        raise ParseError(f"netperf exited with {process.exit_code}: {said!r}")
    found = netperf_output.figures(netperf_output.fields(output))
    repeated = (found.get("iterations") or 1) > 1  # every iteration numbers its intervals anew
    return found if repeated else {**found, **netperf_intervals.interval_extremes(output)}


def _named(figures: Mapping[str, float | None]) -> dict[str, float | None]:
    """What netperf calls latency is that of a transaction; of a stream it is how long one call
    took, which says nothing about the network's.
    """
    if figures.get("transactions") is not None:
        return dict(figures)
    return {name.replace("latency.", "latency.call."): value for name, value in figures.items()}


def _with_loss(figures: Mapping[str, float | None]) -> dict[str, float | None]:
    """``loss.ratio = 1 - received / sent``, where the sent rate is known (UDP only)."""
    sent, received = figures.get("throughput.sent"), figures.get("throughput")
    if not sent or received is None:
        return dict(figures)
    return {**figures, "loss.ratio": max(0.0, 1.0 - received / sent)}


def unfinished(report: str) -> str | None:
    """Why the last line is not whole."""
    return netperf_output.unfinished(report)


def unread(report: str) -> Sequence[str]:
    """Nothing: selectors that are not asked for are no results of ours."""
    return ()


if TYPE_CHECKING:  # mypy holds this module against what it is taken for
    from . import workload as _this

    _held: Workload = _this
    _held_reports: PrintsReports = _this
    _held_ports: ListensOnPorts = _this
    _held_fixed: NamesPorts = _this
