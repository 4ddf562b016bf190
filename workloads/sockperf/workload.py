"""sockperf: latency of single messages, idle (ping-pong) or under a given load (under-load), and
how many messages can be sent (throughput).

sockperf ends with exit code 0 whatever happens, so only what it prints counts. Latencies are half
of a round trip, its own convention.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...engine.model.contract.values import (
    Command,
    Commands,
    Completed,
    Endpoint,
    PlacedFile,
    Server,
    Surroundings,
    Tool,
)
from ...engine.model.contract.workload import PrintsReports, Workload
from ...engine.model.errors import ParseError
from ...engine.model.results import Direction, Measurement, Metric, Statistic
from ...engine.model.spec import Experiment, Json, Role
from ...engine.model.text.json_output import quote
from ..shared.latencies import latency_metrics
from ..shared.measurements import measurements
from ..shared.quantities import integer, text, whole_bytes, whole_seconds
from . import output as sockperf_output

NAME = "sockperf"
ROLES: Sequence[Role] = (Role.CLIENT, Role.SERVER)
DEFAULT_GATES: Mapping[str, float] = {}
_FEED = "sockperf.feed"
_GRACE_S = 60.0
_SERVER_LIFE_S = 7 * 86400.0
"""A server is stopped with its allocation; this only ends one that was forgotten."""

_IPV4 = re.compile(r"\d{1,3}(\.\d{1,3}){3}", re.ASCII)

METRICS: Sequence[Metric] = (
    *latency_metrics(
        "min", "mean", "p25", "p50", "p75", "p90", "p99", "p999", "p9999", "p99999", "max", "stddev"
    ),
    Metric(
        name="messages.sent",
        title="Messages sent per second",
        unit="1/s",
        direction=Direction.HIGHER,
    ),
    Metric(
        name="throughput.sent", title="Sent throughput", unit="bit/s", direction=Direction.HIGHER
    ),
    Metric(
        name="loss.ratio",
        title="Share of the messages that were dropped",
        unit="ratio",
        direction=Direction.LOWER,
        statistic=Statistic.ARITHMETIC_MEAN,
    ),
    Metric(
        name="achieved.ratio",
        title="Achieved share of the requested rate",
        unit="ratio",
        direction=Direction.HIGHER,
    ),
    Metric(name="samples", title="Observed round trips", unit="1", direction=Direction.NEITHER),
    Metric(name="duration", title="Measured time", unit="s", direction=Direction.NEITHER),
)


def metrics(parameters: Mapping[str, Json]) -> Sequence[Metric]:
    """All metrics, whatever the mode."""
    return METRICS


def tools(parameters: Mapping[str, Json]) -> Sequence[Tool]:
    """sockperf, from the package of that name."""
    return (
        Tool(
            executable="sockperf",
            package="sockperf",
            version_argv=("sockperf", "--version"),
            roles=(Role.CLIENT, Role.SERVER),
        ),
    )


def primary(parameters: Mapping[str, Json]) -> str:
    """``messages.sent`` for throughput, else the mean latency."""
    return "messages.sent" if _mode(parameters) == "throughput" else "latency.mean"


def duration_s(parameters: Mapping[str, Json]) -> float:
    """How long messages are sent, in s. Raises UnitError."""
    return float(whole_seconds(parameters, "duration", "10 s"))


def _mode(parameters: Mapping[str, Json]) -> str:
    return text(parameters, "mode", "ping-pong")


def commands(experiment: Experiment, surroundings: Surroundings) -> Commands:
    """One client, and one server that answers UDP and TCP on one port (its readiness is probed over
    TCP). Raises UnitError.
    """
    parameters, endpoint = experiment.parameters, surroundings.endpoints[Role.SERVER]
    cpus = {place.role: place.cpus for place in experiment.roles}
    client = Command(
        argv=_client_argv(parameters, endpoint),
        role=Role.CLIENT,
        timeout_s=duration_s(parameters) + _GRACE_S,
        cpus=cpus.get(Role.CLIENT, ()),
    )
    feed = f"{surroundings.workdirs[Role.SERVER]}/{_FEED}"
    server = Command(
        argv=("sockperf", "server", "-f", feed),
        role=Role.SERVER,
        timeout_s=_SERVER_LIFE_S,
        cpus=cpus.get(Role.SERVER, ()),
    )
    placed = PlacedFile(role=Role.SERVER, name=_FEED, data=_sockets(endpoint))
    return Commands(
        clients=(client,), servers=(Server(command=server, endpoint=endpoint),), files=(placed,)
    )


def _sockets(endpoint: Endpoint) -> bytes:
    """The address itself where it is one, so that UDP answers leave from where they are expected on
    a host with several.
    """
    host = endpoint.host if _IPV4.fullmatch(endpoint.host) else "0.0.0.0"
    return f"T:{host}:{endpoint.port}\nU:{host}:{endpoint.port}\n".encode()


def _client_argv(parameters: Mapping[str, Json], endpoint: Endpoint) -> tuple[str, ...]:
    mode, rate = _mode(parameters), integer(parameters, "rate", 0)
    return (
        *("sockperf", mode, "-i", endpoint.host, "-p", str(endpoint.port)),
        *(("--tcp",) if text(parameters, "protocol", "udp") == "tcp" else ()),
        *(
            "-t",
            str(whole_seconds(parameters, "duration", "10 s")),
            "-m",
            str(whole_bytes(parameters, "message_size", "14 B")),
        ),
        *(("--mps", str(rate)) if rate else ()),
        *(
            ("--reply-every", str(integer(parameters, "reply_every", 100)))
            if mode == "under-load"
            else ()
        ),
    )


def parse(completed: Sequence[Completed], parameters: Mapping[str, Json]) -> Sequence[Measurement]:
    """Measurements of one client.

    Raises:
        ParseError: it failed, got no answer, or printed no summary.
    """
    if len(completed) != 1:
        raise ParseError(f"found {len(completed)} sockperf outputs, expected one")
    process = completed[0]
    if process.exit_code != 0:
        raise ParseError(
            f"sockperf exited with {process.exit_code}: {quote(process.stderr or process.stdout)}"
        )
    figures = sockperf_output.figures(process.stdout.decode("utf-8", "replace"), process.stderr)
    rate, sent = integer(parameters, "rate", 0), figures.pop("sent.rate", None)
    return measurements(
        METRICS, {**figures, "achieved.ratio": sent / rate if rate and sent is not None else None}
    )


def unfinished(report: str) -> str | None:
    """What is missing: the least observation, or the data rate."""
    return sockperf_output.unfinished(report)


def unread(report: str) -> Sequence[str]:
    """Nothing: every percentile is known by its name."""
    return ()


if TYPE_CHECKING:  # mypy holds this module against what it is taken for
    from . import workload as _this

    _held: Workload = _this
    _held_reports: PrintsReports = _this
