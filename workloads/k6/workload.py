"""k6: HTTP requests of virtual users, as a script describes them or all of one kind, to an nginx
that is started for the workload or to any URL.

Without a rate the loop is closed: a virtual user begins again when it is done. With one it is open:
iterations are due at fixed times, and those for which no virtual user is free are dropped.
Thresholds of a script do not end or fail a run: what is valid is said by gates.
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
from ...engine.model.text.json_output import as_mapping, quote
from ...engine.model.units import Dimension
from ..shared import nginx
from ..shared.latencies import latency_metrics
from ..shared.measurements import measurements
from ..shared.quantities import quantity, seconds, text
from . import output as k6_output
from . import scripts

NAME = "k6"
ROLES: Sequence[Role] = (Role.CLIENT, Role.SERVER)
DEFAULT_GATES: Mapping[str, float] = {"max_error_ratio": 0.0}
HTTP = True
_GRACE_S = 120.0
_PATIENCE = 3.0
_COMPLETE = 0.95
_CONFIGURATION = "k6-config.json"
_TREND = ",".join(k6_output.TRENDS)


def _metric(name: str, title: str, unit: str, direction: Direction) -> Metric:
    return Metric(name=name, title=title, unit=unit, direction=direction)


METRICS: Sequence[Metric] = (
    _metric("throughput", "Requests per second", "1/s", Direction.HIGHER),
    _metric("iterations", "Iterations per second", "1/s", Direction.HIGHER),
    *latency_metrics("mean", "min", "p50", "p90", "p95", "p99", "p999", "max"),
    _metric("received", "Data received", "B/s", Direction.HIGHER),
    _metric("sent", "Data sent", "B/s", Direction.HIGHER),
    _metric("achieved.ratio", "Achieved share of the requested rate", "ratio", Direction.HIGHER),
    _metric("dropped.ratio", "Share of iterations that were dropped", "ratio", Direction.LOWER),
    _metric("checks.ratio", "Share of checks that held", "ratio", Direction.HIGHER),
    _metric("error.ratio", "Share of failed requests", "ratio", Direction.LOWER),
    _metric("samples", "Requests", "1", Direction.NEITHER),
    _metric("duration", "Measured time", "s", Direction.NEITHER),
)


def metrics(parameters: Mapping[str, Json]) -> Sequence[Metric]:
    """All metrics, whatever the parameters."""
    return METRICS


def tools(parameters: Mapping[str, Json]) -> Sequence[Tool]:
    """k6 (in no Debian release; its own releases have packages), and nginx unless a URL is
    given.
    """
    k6 = Tool(executable="k6", package="k6", version_argv=("k6", "version"), roles=(Role.CLIENT,))
    return (k6,) if "url" in parameters else (k6, nginx.TOOL)


def primary(parameters: Mapping[str, Json]) -> str:
    """Requests per second; with a rate, which says how many, their median latency."""
    return "latency.p50" if "rate" in parameters else "throughput"


def duration_s(parameters: Mapping[str, Json]) -> float:
    """The length of one run in s; with a script, which says itself, the estimate. Raises
    UnitError.
    """
    return seconds(parameters, "duration", "10 s")


def commands(experiment: Experiment, surroundings: Surroundings) -> Commands:
    """One k6, and the nginx it loads unless a URL is given. Raises SpecError, UnitError."""
    parameters, endpoint = experiment.parameters, surroundings.endpoints[Role.SERVER]
    cpus = {place.role: place.cpus for place in experiment.roles}
    patience = _PATIENCE if "script" in parameters else 1.0
    client = Command(
        argv=(
            *("k6", "run", "--quiet", "--no-color", "--no-usage-report", "--no-thresholds"),
            *("--address", "", "--config", _CONFIGURATION, "--summary-trend-stats", _TREND),
            *("-e", f"{scripts.URL}={_url(parameters, endpoint)}", scripts.MAIN),
        ),
        role=Role.CLIENT,
        timeout_s=patience * duration_s(parameters) + _GRACE_S,
        env=_environment(parameters),
        cpus=cpus.get(Role.CLIENT, ()),
    )
    placed = {**scripts.files(parameters), _CONFIGURATION: b"{}\n"}
    files = tuple(
        PlacedFile(role=Role.CLIENT, name=name, data=data) for name, data in placed.items()
    )
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


def _environment(parameters: Mapping[str, Json]) -> dict[str, str]:
    """Variables of a script, and secret headers: references until the command is started. k6 builds
    itself anew, from elsewhere, for scripts that want extensions, unless it is told not to.
    """
    given = {name: str(value) for name, value in as_mapping(parameters.get("env")).items()}
    if options := [name for name in given if name.startswith("K6_")]:
        raise SpecError(
            f"env: found {', '.join(options)}, expected no option of k6 itself",
            remedy="set options in the script",
        )
    hidden = as_mapping(parameters.get("secret_headers")).values()
    headers = {f"{scripts.HEADER}{number}": str(value) for number, value in enumerate(hidden, 1)}
    return {"K6_AUTO_EXTENSION_RESOLUTION": "false", **given, **headers}


def parse(completed: Sequence[Completed], parameters: Mapping[str, Json]) -> Sequence[Measurement]:
    """Measurements of one run.

    Raises:
        ParseError: k6 failed or was interrupted, made no HTTP request, printed no whole summary, or
            ended before its time.
    """
    if len(completed) != 1:
        raise ParseError(f"found {len(completed)} k6 outputs, expected one")
    process = completed[0]
    if process.exit_code != 0:
        raise ParseError(
            f"k6 exited with {process.exit_code}: {quote(process.stderr or process.stdout)}"
        )
    figures = k6_output.figures(process.stdout)
    lasted = figures["duration"]
    timed = parameters and "script" not in parameters
    if timed and lasted is not None and lasted < _COMPLETE * duration_s(parameters):
        raise ParseError(
            f"found a run of {lasted:.3f} s, expected {duration_s(parameters):g} s: it was stopped"
            " early"
        )
    rate, found = quantity(parameters, "rate", Dimension.RATE), figures["throughput"]
    if rate and found:
        figures["achieved.ratio"] = found / rate
        figures["dropped.ratio"] = figures["dropped.ratio"] or 0.0  # k6 says only what it dropped
    if figures.get(primary(parameters)) is None:
        raise ParseError(f"found no {primary(parameters)} in k6's summary")
    return measurements(METRICS, figures)


if TYPE_CHECKING:  # mypy holds this module against what it is taken for
    from . import workload as _this

    _held: Workload = _this
    _held_http: SpeaksHttp = _this
