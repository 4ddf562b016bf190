"""wrk: as many HTTP requests as connections can carry, to an nginx that is started for the workload
or to any URL.

The loop is closed: a connection sends when it has its answer, so that latency says little about a
server under a fixed load. Up to version 4.1 wrk adds latencies that it supposes to have missed.
Certificates are not verified. A wrk that is interrupted reports what it has as a success, so a
report is only taken when it covers the time that was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...engine.model.contract.values import (
    Command,
    Commands,
    Completed,
    Endpoint,
    PlacedFile,
    Surroundings,
    Tool,
)
from ...engine.model.contract.workload import SpeaksHttp, Workload
from ...engine.model.errors import ParseError, SpecError
from ...engine.model.results import Direction, Measurement, Metric
from ...engine.model.spec import Experiment, Json, Role
from ...engine.model.text.json_output import as_mapping, as_sequence, quote
from ..shared import nginx
from ..shared.latencies import latency_metrics
from ..shared.measurements import measurements
from ..shared.quantities import integer, text, whole_seconds
from . import output as wrk_output

NAME = "wrk"
ROLES: Sequence[Role] = (Role.CLIENT, Role.SERVER)
DEFAULT_GATES: Mapping[str, float] = {"max_error_ratio": 0.0}
HTTP = True
_GRACE_S = 60.0
_SCRIPT = "wrk-script.lua"
_COMPLETE = 0.95

METRICS: Sequence[Metric] = (
    Metric(name="throughput", title="Answers per second", unit="1/s", direction=Direction.HIGHER),
    *latency_metrics("mean", "p50", "p75", "p90", "p99", "max", "stddev"),
    Metric(name="received", title="Data received", unit="B/s", direction=Direction.HIGHER),
    Metric(
        name="error.ratio",
        title="Share of requests without a good answer in time",
        unit="ratio",
        direction=Direction.LOWER,
    ),
    Metric(name="samples", title="Answers", unit="1", direction=Direction.NEITHER),
    Metric(name="duration", title="Measured time", unit="s", direction=Direction.NEITHER),
)


def metrics(parameters: Mapping[str, Json]) -> Sequence[Metric]:
    """All metrics, whatever the parameters."""
    return METRICS


def tools(parameters: Mapping[str, Json]) -> Sequence[Tool]:
    """wrk, and nginx unless a URL is given."""
    wrk = Tool(executable="wrk", package="wrk", version_argv=("wrk", "-v"), roles=(Role.CLIENT,))
    return (wrk,) if "url" in parameters else (wrk, nginx.TOOL)


def primary(parameters: Mapping[str, Json]) -> str:
    """Answers per second."""
    return "throughput"


def duration_s(parameters: Mapping[str, Json]) -> float:
    """The length of one run in s. Raises UnitError."""
    return float(whole_seconds(parameters, "duration", "10 s"))


def commands(experiment: Experiment, surroundings: Surroundings) -> Commands:
    """One wrk, and the nginx it loads unless a URL is given. Raises SpecError, UnitError."""
    parameters, endpoint = experiment.parameters, surroundings.endpoints[Role.SERVER]
    cpus = {place.role: place.cpus for place in experiment.roles}
    script = _script(parameters)
    client = Command(
        argv=(
            *("wrk", *_options(parameters)),
            *(("-s", _SCRIPT) if script else ()),
            _url(parameters, endpoint),
        ),
        role=Role.CLIENT,
        timeout_s=duration_s(parameters) + _GRACE_S,
        env={  # references until the command is started
            f"WRK_HEADER_{number}": value
            for number, value in enumerate(_secret_headers(parameters).values(), 1)
        },
        cpus=cpus.get(Role.CLIENT, ()),
    )
    placed = PlacedFile(role=Role.CLIENT, name=_SCRIPT, data=script.encode())
    files = (placed,) if script else ()
    if "url" in parameters:
        return Commands(clients=(client,), files=files)
    workdir = surroundings.workdirs.get(Role.SERVER, ".")
    return Commands(
        clients=(client,),
        servers=(nginx.server(endpoint, workdir, cpus.get(Role.SERVER, ())),),
        files=(*files, nginx.configuration(endpoint)),
    )


def _url(parameters: Mapping[str, Json], endpoint: Endpoint) -> str:
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    own = f"http://{host}:{endpoint.port}{text(parameters, 'path', '/')}"
    return text(parameters, "url") or own


def _options(parameters: Mapping[str, Json]) -> tuple[str, ...]:
    threads, connections = _threads(parameters), _connections(parameters)
    if connections % threads:
        raise SpecError(
            f"connections: found {connections} for {threads} threads, expected a multiple",
            remedy="every thread of wrk has the same number of connections; it drops the others",
        )
    headers = (str(header) for header in as_sequence(parameters.get("headers")))
    return (
        *("-t", str(threads), "-c", str(connections), "--latency"),
        *("-d", f"{whole_seconds(parameters, 'duration', '10 s')}s"),
        *("--timeout", f"{whole_seconds(parameters, 'timeout', '2 s')}s"),
        *(word for header in headers for word in ("-H", header)),
    )


def _threads(parameters: Mapping[str, Json]) -> int:
    return integer(parameters, "threads", 2)


def _connections(parameters: Mapping[str, Json]) -> int:
    return integer(parameters, "connections", 10)


def _secret_headers(parameters: Mapping[str, Json]) -> dict[str, str]:
    """Secret references by the name of their header."""
    named = as_mapping(parameters.get("secret_headers")).items()
    return {name: value for name, value in named if isinstance(value, str)}


def _script(parameters: Mapping[str, Json]) -> str:
    """The spec's own script, or one for what wrk has no options for; "" where none is needed."""
    given = {"method": text(parameters, "method"), "body": text(parameters, "payload")}
    if given["body"] and not given["method"]:
        given["method"] = "POST"
    lines = [f"wrk.{name} = {_lua(value)}\n" for name, value in given.items() if value]
    lines += [
        f'wrk.headers[{_lua(name)}] = os.getenv("WRK_HEADER_{number}")\n'
        for number, name in enumerate(_secret_headers(parameters), 1)
    ]
    return text(parameters, "script") or "".join(lines)


def _lua(value: str) -> str:
    """A string of Lua that no text can leave: every byte by its number."""
    return '"' + "".join(f"\\{byte:03d}" for byte in value.encode()) + '"'


def parse(completed: Sequence[Completed], parameters: Mapping[str, Json]) -> Sequence[Measurement]:
    """Measurements of one run.

    Raises:
        ParseError: wrk failed, got no answer, printed no whole report, or was stopped early.
    """
    if len(completed) != 1:
        raise ParseError(f"found {len(completed)} wrk outputs, expected one")
    process = completed[0]
    if process.exit_code != 0:
        raise ParseError(
            f"wrk exited with {process.exit_code}: {quote(process.stderr or process.stdout)}"
        )
    figures = wrk_output.figures(process.stdout.decode("utf-8", "replace"))
    lasted = figures["duration"]
    if parameters and lasted is not None and lasted < _COMPLETE * duration_s(parameters):
        raise ParseError(
            f"found a run of {lasted:.3f} s, expected {duration_s(parameters):g} s: it was stopped"
            " early"
        )
    return measurements(METRICS, figures)


if TYPE_CHECKING:  # mypy holds this module against what it is taken for
    from . import workload as _this

    _held: Workload = _this
    _held_http: SpeaksHttp = _this
