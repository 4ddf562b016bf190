"""fortio: HTTP requests at a fixed rate or as fast as answers come, against its own echo server, an
nginx, or any URL.

With ``qps`` the loop is open: requests are due at fixed times, and ``achieved.ratio`` says whether
they could be kept. Without it the loop is closed: every connection sends when it has its answer.
fortio runs at its default of 8 requests per second over 4 connections when it does not understand
what it was asked, so an answer is only taken when it repeats rate, connections and length as they
were asked for.

fortio is asked on its command line, or over REST (``api: rest``, see fortio_rest), where headers
can hold secrets.
"""

from __future__ import annotations

import math
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
from ...engine.model.contract.workload import SpeaksHttp, Workload
from ...engine.model.errors import ParseError, SpecError
from ...engine.model.results import Direction, Measurement, Metric
from ...engine.model.spec import Experiment, Json, Role
from ...engine.model.text.json_output import as_mapping, as_sequence, quote
from ...engine.model.units import Dimension
from ..shared import nginx
from ..shared.go_duration import write_duration
from ..shared.latencies import latency_metrics
from ..shared.measurements import measurements
from ..shared.quantities import flag, integer, quantity, seconds, text
from . import output as fortio_output
from . import rest as fortio_rest

NAME = "fortio"
ROLES: Sequence[Role] = (Role.CLIENT, Role.SERVER)
DEFAULT_GATES: Mapping[str, float] = {"max_error_ratio": 0.0}
HTTP = True
_GRACE_S = 60.0
_SERVER_LIFE_S = 7 * 86400.0
_PAYLOAD = "fortio-payload"
_COMPLETE = 0.95
"""A run that lasted less of what was asked was stopped early, which fortio reports as a success."""


METRICS: Sequence[Metric] = (
    Metric(name="throughput", title="Answers per second", unit="1/s", direction=Direction.HIGHER),
    *latency_metrics("mean", "p50", "p75", "p90", "p95", "p99", "p999", "min", "max", "stddev"),
    Metric(
        name="achieved.ratio",
        title="Achieved share of the requested rate",
        unit="ratio",
        direction=Direction.HIGHER,
    ),
    Metric(
        name="error.ratio",
        title="Share of requests without a 2xx answer",
        unit="ratio",
        direction=Direction.LOWER,
    ),
    Metric(name="samples", title="Requests", unit="1", direction=Direction.NEITHER),
    Metric(name="duration", title="Measured time", unit="s", direction=Direction.NEITHER),
)


def metrics(parameters: Mapping[str, Json]) -> Sequence[Metric]:
    """All metrics, whatever the parameters."""
    return METRICS


def tools(parameters: Mapping[str, Json]) -> Sequence[Tool]:
    """fortio (in no Debian release; its releases have packages), and nginx where that serves."""
    kind = _server_kind(parameters)
    roles = (Role.CLIENT, Role.SERVER) if kind == "fortio" else (Role.CLIENT,)
    fortio = Tool(
        executable="fortio", package="fortio", version_argv=("fortio", "version"), roles=roles
    )
    curl = Tool(
        executable="curl", package="curl", version_argv=("curl", "--version"), roles=(Role.CLIENT,)
    )
    return (
        fortio,
        *((nginx.TOOL,) if kind == "nginx" else ()),
        *((curl,) if _over_rest(parameters) else ()),
    )


def primary(parameters: Mapping[str, Json]) -> str:
    """Answers per second."""
    return "throughput"


def duration_s(parameters: Mapping[str, Json]) -> float:
    """The length of one run in s. Raises UnitError."""
    return seconds(parameters, "duration", "10 s")


def _over_rest(parameters: Mapping[str, Json]) -> bool:
    return text(parameters, "api", "command") == "rest"


def _server_kind(parameters: Mapping[str, Json]) -> str:
    return text(parameters, "server", "none" if "url" in parameters else "fortio")


def commands(experiment: Experiment, surroundings: Surroundings) -> Commands:
    """One load generator, and the server it loads unless a URL is given. Raises SpecError,
    UnitError.
    """
    parameters, endpoint = experiment.parameters, surroundings.endpoints[Role.SERVER]
    cpus = {place.role: place.cpus for place in experiment.roles}
    generate = _rest_client if _over_rest(parameters) else _command_client
    client, files = generate(parameters, _url(parameters, endpoint), cpus.get(Role.CLIENT, ()))
    argv, server_files = _server(
        _server_kind(parameters), endpoint, surroundings.workdirs.get(Role.SERVER, ".")
    )
    if not argv:
        return Commands(clients=(client,), files=files)
    server = Command(
        argv=argv, role=Role.SERVER, timeout_s=_SERVER_LIFE_S, cpus=cpus.get(Role.SERVER, ())
    )
    return Commands(
        clients=(client,),
        servers=(Server(command=server, endpoint=endpoint),),
        files=(*files, *server_files),
    )


def _command_client(
    parameters: Mapping[str, Json], url: str, cpus: tuple[int, ...]
) -> tuple[Command, tuple[PlacedFile, ...]]:
    if _secret_headers(parameters):
        raise SpecError(
            "secret_headers: found headers, which would be seen in arguments",
            remedy="ask fortio over its REST interface: api: rest",
        )
    payload = text(parameters, "payload")
    files = (PlacedFile(role=Role.CLIENT, name=_PAYLOAD, data=payload.encode()),) if payload else ()
    argv = _load_argv(parameters, url)
    return (
        Command(
            argv=argv, role=Role.CLIENT, timeout_s=duration_s(parameters) + _GRACE_S, cpus=cpus
        ),
        files,
    )


def _rest_client(
    parameters: Mapping[str, Json], url: str, cpus: tuple[int, ...]
) -> tuple[Command, tuple[PlacedFile, ...]]:
    hidden = _secret_headers(parameters)
    client = Command(
        argv=fortio_rest.argv(
            duration_s(parameters), tuple(hidden), _connection_options(parameters)
        ),
        role=Role.CLIENT,
        timeout_s=duration_s(parameters) + _GRACE_S,
        env={
            f"FORTIO_HEADER_{number}": value for number, value in enumerate(hidden.values(), 1)
        },  # references until the command is started
        fetch=fortio_rest.ANSWERS,
        cpus=cpus,
    )
    request = fortio_rest.request(_rest_arguments(parameters, url), _headers(parameters))
    placed = {fortio_rest.SCRIPT: fortio_rest.PROGRAM, fortio_rest.REQUEST: request}
    return client, tuple(
        PlacedFile(role=Role.CLIENT, name=name, data=data) for name, data in placed.items()
    )


def _url(parameters: Mapping[str, Json], endpoint: Endpoint) -> str:
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return (
        text(parameters, "url") or f"http://{host}:{endpoint.port}{text(parameters, 'path', '/')}"
    )


def _server(
    kind: str, endpoint: Endpoint, workdir: str
) -> tuple[tuple[str, ...], tuple[PlacedFile, ...]]:
    if kind == "fortio":
        others = (
            option
            for name in ("grpc", "tcp", "udp", "redirect")
            for option in (f"-{name}-port", "disabled")
        )
        return (
            "fortio",
            "server",
            "-http-port",
            str(endpoint.port),
            *others,
            "-ui-path",
            "",
            "-quiet",
        ), ()
    if kind == "nginx":
        return nginx.argv(workdir), (nginx.configuration(endpoint),)
    return (), ()


def _load_argv(parameters: Mapping[str, Json], url: str) -> tuple[str, ...]:
    rate = quantity(parameters, "qps", Dimension.RATE)
    resolution = seconds(parameters, "resolution", "50 us")
    return (
        *("fortio", "load", "-quiet", "-log-errors=false", "-labels", "benchspec", "-json", "-"),
        *("-qps", "0" if rate is None else f"{rate:.9g}", "-c", str(_connections(parameters))),
        *(
            "-t",
            write_duration(duration_s(parameters)),
            "-r",
            f"{resolution:.9g}",
            "-p",
            _percentiles(),
        ),
        *("-timeout", write_duration(seconds(parameters, "timeout", "3 s"))),
        *(option for name, option in _SWITCHES.items() if flag(parameters, name, False)),
        *_connection_options(parameters),
        *(("-k",) if flag(parameters, "insecure", False) else ()),
        *(argument for header in _headers(parameters) for argument in ("-H", header)),
        *(("-payload-file", _PAYLOAD) if text(parameters, "payload") else ()),
        *(("-X", text(parameters, "method")) if text(parameters, "method") else ()),
        url,
    )


def _connection_options(parameters: Mapping[str, Json]) -> tuple[str, ...]:
    """What a load run takes, and a server for all its runs: REST has no arguments for these."""
    authority = text(parameters, "ca_file")
    return (
        *(("-keepalive=false",) if not flag(parameters, "keepalive", True) else ()),
        *(("-cacert", authority) if authority else ()),
    )


_SWITCHES: Mapping[str, str] = {
    "http2": "-h2",
    "jitter": "-jitter",
    "uniform": "-uniform",
    "no_catch_up": "-nocatchup",
}


def _percentiles() -> str:
    return ",".join(f"{percentile:g}" for percentile in fortio_output.PERCENTILES)


def _connections(parameters: Mapping[str, Json]) -> int:
    return integer(parameters, "connections", 4)


def _headers(parameters: Mapping[str, Json]) -> list[str]:
    return [header for header in as_sequence(parameters.get("headers")) if isinstance(header, str)]


def _secret_headers(parameters: Mapping[str, Json]) -> dict[str, str]:
    """Secret references by the name of their header."""
    return {
        name: value
        for name, value in as_mapping(parameters.get("secret_headers")).items()
        if isinstance(value, str)
    }


def _rest_arguments(parameters: Mapping[str, Json], url: str) -> dict[str, str]:
    """What ``fortio load`` is told in options. The REST rate for "as fast as possible" is -1."""
    rate = quantity(parameters, "qps", Dimension.RATE)
    given = {"payload": text(parameters, "payload"), "X": text(parameters, "method")}
    return {
        "url": url,
        "labels": "benchspec",
        "qps": "-1" if rate is None else f"{rate:.9g}",
        "c": str(_connections(parameters)),
        "t": write_duration(duration_s(parameters)),
        "r": f"{seconds(parameters, 'resolution', '50 us'):.9g}",
        "p": _percentiles(),
        "timeout": write_duration(seconds(parameters, "timeout", "3 s")),
        **{name: value for name, value in given.items() if value},
        **{
            option.removeprefix("-"): "on"
            for name, option in _SWITCHES.items()
            if flag(parameters, name, False)
        },
        **({"https-insecure": "on"} if flag(parameters, "insecure", False) else {}),
    }


def parse(completed: Sequence[Completed], parameters: Mapping[str, Json]) -> Sequence[Measurement]:
    """Measurements of one run.

    Raises:
        ParseError: fortio failed or refused, printed no result, or ran at another rate, with other
            connections or for less time than asked for.
    """
    if len(completed) != 1:
        raise ParseError(f"found {len(completed)} fortio outputs, expected 1")
    job = completed[0]
    if job.exit_code != 0:
        raise ParseError(f"fortio exited with {job.exit_code}: {quote(job.stderr or job.stdout)}")
    document = fortio_output.result(job.stdout)
    _check_asked(document, parameters)
    return measurements(METRICS, fortio_output.figures(document))


def _check_asked(document: Mapping[str, Json], parameters: Mapping[str, Json]) -> None:
    """Hold the answer against the parameters that are given; without any (a file from elsewhere)
    there is nothing to check.
    """
    if not parameters:
        return
    rate = quantity(parameters, "qps", Dimension.RATE)
    duration = duration_s(parameters)
    _check(
        "RequestedQPS", fortio_output.requested_qps(document), math.inf if rate is None else rate
    )
    _check("RequestedDuration", fortio_output.requested_duration(document), duration)
    threads = document.get("NumThreads")
    _check("NumThreads", threads if isinstance(threads, int) else None, _connections(parameters))
    lasted = fortio_output.actual_duration(document)
    if lasted is not None and lasted < _COMPLETE * duration:
        raise ParseError(
            f"found a run of {lasted:.3f} s, expected {duration:g} s: it was stopped early"
        )


def _check(name: str, found: float | None, expected: float) -> None:
    """fortio writes rates with 9 digits."""
    if found is None or not math.isclose(found, expected, rel_tol=1e-8):
        said = "no" if found is None else f"{found:.9g} as"
        raise ParseError(
            f"found {said} {name} in fortio's answer, expected {expected:.9g}: it did not run what"
            " was asked",
            remedy="hand fortio its arguments as strings",
        )


if TYPE_CHECKING:  # mypy holds this module against what it is taken for
    from . import workload as _this

    _held: Workload = _this
    _held_http: SpeaksHttp = _this
