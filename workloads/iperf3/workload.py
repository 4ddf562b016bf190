"""iperf3: TCP and UDP throughput between two hosts, one way, the other, or both at once."""

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
from ...engine.model.contract.workload import FeedsGates, Workload
from ...engine.model.errors import ParseError, SpecError
from ...engine.model.results import Measurement, Metric
from ...engine.model.spec import Experiment, Json, Role
from ...engine.model.text.json_output import only_document, quote
from ...engine.model.units import Dimension
from ..shared.quantities import flag, integer, quantity, text, whole_bytes, whole_seconds
from . import output as iperf3_output
from . import stream as iperf3_stream

NAME = "iperf3"
METRICS: Sequence[Metric] = iperf3_output.METRICS
GATE_INPUTS: Sequence[Metric] = iperf3_output.GATE_INPUTS
ROLES: Sequence[Role] = (Role.CLIENT, Role.SERVER)
DEFAULT_GATES: Mapping[str, float] = {}
_GRACE_S = 60.0
"""Time beyond the test itself before a client counts as hung: connecting, and exchanging results on
a saturated link.
"""

_SERVER_LIFE_S = 7 * 86400.0
"""A server is stopped with its allocation; this only ends one that was forgotten."""

_SETTLE_S = 0.2
"""The server opens its socket anew after every client, and takes the readiness probe for one; who
comes a moment later is refused or reset.
"""


def metrics(parameters: Mapping[str, Json]) -> Sequence[Metric]:
    """All metrics, whatever the parameters."""
    return METRICS


def tools(parameters: Mapping[str, Json]) -> Sequence[Tool]:
    """iperf3, from the package of that name."""
    return (
        Tool(
            executable="iperf3",
            package="iperf3",
            version_argv=("iperf3", "--version"),
            roles=(Role.CLIENT, Role.SERVER),
        ),
    )


def primary(parameters: Mapping[str, Json]) -> str:
    """What arrived: client to server, or the only direction there is."""
    return "throughput"


def duration_s(parameters: Mapping[str, Json]) -> float:
    """Omitted and measured time in s. Raises UnitError."""
    return float(
        whole_seconds(parameters, "omit", "0 s") + whole_seconds(parameters, "duration", "10 s")
    )


def commands(experiment: Experiment, surroundings: Surroundings) -> Commands:
    """One client, and one server that stays up between the trials of an allocation.

    Raises:
        SpecError: parameters that contradict each other, or times and sizes that are not whole.
    """
    endpoint, parameters = surroundings.endpoints[Role.SERVER], experiment.parameters
    cpus = {place.role: place.cpus for place in experiment.roles}
    client = Command(
        argv=_client_argv(parameters, endpoint),
        role=Role.CLIENT,
        timeout_s=duration_s(parameters) + _GRACE_S,
        cpus=cpus.get(Role.CLIENT, ()),
    )
    argv = ("iperf3", "-s", *_family(parameters), "-p", str(endpoint.port))
    server = Command(
        argv=argv, role=Role.SERVER, timeout_s=_SERVER_LIFE_S, cpus=cpus.get(Role.SERVER, ())
    )
    return Commands(
        clients=(client,), servers=(Server(command=server, endpoint=endpoint, settle_s=_SETTLE_S),)
    )


_SWITCHES: Mapping[str, str] = {
    "no_delay": "-N",
    "zerocopy": "-Z",
    "dont_fragment": "--dont-fragment",
    "server_output": "--get-server-output",
}


def _client_argv(parameters: Mapping[str, Json], endpoint: Endpoint) -> tuple[str, ...]:
    return (
        "iperf3",
        *(
            "-c",
            endpoint.host,
            *_family(parameters),
            "-p",
            str(endpoint.port),
            "-J",
            "--connect-timeout",
            "10000",
        ),
        *(
            "-t",
            str(whole_seconds(parameters, "duration", "10 s")),
            "-O",
            str(whole_seconds(parameters, "omit", "0 s")),
        ),
        *("-P", str(integer(parameters, "streams", 1))),
        *_direction(parameters),
        *_protocol(parameters),
        *_sizes(parameters),
        *(("-C", text(parameters, "congestion")) if "congestion" in parameters else ()),
        *(("--cport", str(integer(parameters, "cport", 0))) if "cport" in parameters else ()),
        *(("--dscp", str(integer(parameters, "dscp", 0))) if "dscp" in parameters else ()),
        *(option for name, option in _SWITCHES.items() if flag(parameters, name, False)),
    )


def _family(parameters: Mapping[str, Json]) -> tuple[str, ...]:
    return {"ipv4": ("-4",), "ipv6": ("-6",)}.get(text(parameters, "family"), ())


def _direction(parameters: Mapping[str, Json]) -> tuple[str, ...]:
    reverse, bidir = flag(parameters, "reverse", False), flag(parameters, "bidir", False)
    if reverse and bidir:
        raise SpecError(
            "found both reverse and bidir, expected one of them",
            remedy="bidir already measures both directions",
        )
    return ("-R",) if reverse else ("--bidir",) if bidir else ()


def _protocol(parameters: Mapping[str, Json]) -> tuple[str, ...]:
    """``-b`` only when asked: iperf3 then sends UDP at 1 Mbit/s, which nobody means, so UDP without
    a bitrate is unlimited.
    """
    udp = text(parameters, "protocol", "tcp") == "udp"
    rate = quantity(parameters, "bitrate", Dimension.BIT_RATE, "0 bit/s" if udp else None)
    return (
        *(("-u", "--udp-counters-64bit") if udp else ()),
        *(("-b", str(round(rate))) if rate is not None else ()),
    )


def _sizes(parameters: Mapping[str, Json]) -> tuple[str, ...]:
    sizes = (
        (option, whole_bytes(parameters, name))
        for name, option in (("length", "-l"), ("mss", "-M"), ("window", "-w"))
    )
    return tuple(word for option, size in sizes if size is not None for word in (option, str(size)))


def parse(completed: Sequence[Completed], parameters: Mapping[str, Json]) -> Sequence[Measurement]:
    """Measurements of one client.

    Raises:
        ParseError: iperf3 failed (with whatever exit code), was stopped, printed no JSON, or
            nothing arrived.
    """
    if len(completed) != 1:
        raise ParseError(f"found {len(completed)} iperf3 outputs, expected one")
    process = completed[0]
    if not process.stdout.strip():
        raise ParseError(
            f"iperf3 printed nothing and ended with exit code {process.exit_code}; stderr:"
            f" {quote(process.stderr)}"
        )
    found = iperf3_output.read(_document(process.stdout))
    if process.exit_code != 0:
        raise ParseError(
            f"iperf3 ended with exit code {process.exit_code}; stderr: {quote(process.stderr)}"
        )
    return found


def _document(data: bytes) -> Json:
    """The result, printed at the end (``-J``) or as it came (``--json-stream``)."""
    if iperf3_stream.is_stream(data):
        return iperf3_stream.document(data)
    return only_document(data, NAME)


if TYPE_CHECKING:  # mypy holds this module against what it is taken for
    from . import workload as _this

    _held: Workload = _this
    _held_gates: FeedsGates = _this
