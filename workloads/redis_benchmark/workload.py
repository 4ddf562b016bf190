"""redis-benchmark: commands to a Redis server that is started for the workload, or to one that is
there already.

It sends a number of requests, however long they take, and asks a server that is away again and
again without an end: a script that is placed beside the client sees first that the server answers,
and writes down which it is. It takes a password only as an argument, which every user of the host
can read, so servers that want one are not measured.
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
    Server,
    Surroundings,
    Tool,
)
from ...engine.model.contract.workload import Workload
from ...engine.model.errors import ParseError
from ...engine.model.results import Direction, Measurement, Metric
from ...engine.model.spec import Experiment, Json, Role
from ...engine.model.text.json_output import as_sequence, quote
from ..shared.latencies import latency_metrics
from ..shared.measurements import measurements
from ..shared.quantities import flag, integer, seconds, text, whole_bytes
from . import output as redis_output

NAME = "redis-benchmark"
ROLES: Sequence[Role] = (Role.CLIENT, Role.SERVER)
DEFAULT_GATES: Mapping[str, float] = {}
_GRACE_S = 60.0
_PATIENCE = 3.0
"""How many times the expected duration a trial may take."""

_SERVER_LIFE_S = 7 * 86400.0
_SCRIPT = "redis-benchmark.sh"
_IDENTITY = "redis-server.txt"
_CONFIGURATION = "redis.conf"

SCRIPT = b"""\
# Sees that the server answers, and measures. $1: its host; $2: its port; the rest: options.
host=$1 port=$2
shift 2
answer=$(redis-cli -h "$host" -p "$port" PING 2>&1)
if [ "$answer" != PONG ]; then
    echo "Redis at $host port $port does not answer PING with PONG: $answer" >&2
    exit 1
fi
redis-cli -h "$host" -p "$port" INFO server >redis-server.txt 2>&1
exec redis-benchmark -h "$host" -p "$port" --csv "$@"
"""

METRICS: Sequence[Metric] = (
    Metric(name="throughput", title="Requests per second", unit="1/s", direction=Direction.HIGHER),
    *latency_metrics("mean", "min", "p50", "p95", "p99", "max"),
)


def metrics(parameters: Mapping[str, Json]) -> Sequence[Metric]:
    """All metrics, whatever the tests."""
    return METRICS


def tools(parameters: Mapping[str, Json]) -> Sequence[Tool]:
    """redis-benchmark and redis-cli, and redis-server where one is started."""
    client = tuple(
        Tool(
            executable=name,
            package="redis-tools",
            version_argv=(name, "--version"),
            roles=(Role.CLIENT,),
        )
        for name in ("redis-benchmark", "redis-cli")
    )
    server = Tool(
        executable="redis-server",
        package="redis-server",
        version_argv=("redis-server", "--version"),
        roles=(Role.SERVER,),
    )
    return client if "host" in parameters else (*client, server)


def primary(parameters: Mapping[str, Json]) -> str:
    """Requests per second of the test that is listed first."""
    return f"throughput{{test={_tests(parameters)[0]}}}"


def duration_s(parameters: Mapping[str, Json]) -> float:
    """How long its author expects all tests to take, in s. Raises UnitError."""
    return seconds(parameters, "duration", "10 s")


def _tests(parameters: Mapping[str, Json]) -> tuple[str, ...]:
    return tuple(str(name) for name in as_sequence(parameters.get("tests"))) or ("set", "get")


def commands(experiment: Experiment, surroundings: Surroundings) -> Commands:
    """One redis-benchmark, and the server it asks unless ``host`` names one. Raises UnitError."""
    parameters, own = experiment.parameters, surroundings.endpoints[Role.SERVER]
    cpus = {place.role: place.cpus for place in experiment.roles}
    there = Endpoint(host=text(parameters, "host"), port=integer(parameters, "port", 6379))
    target = there if "host" in parameters else own
    client = Command(
        argv=("sh", _SCRIPT, target.host, str(target.port), *_options(parameters)),
        role=Role.CLIENT,
        timeout_s=_PATIENCE * duration_s(parameters) + _GRACE_S,
        fetch=(_IDENTITY,),
        cpus=cpus.get(Role.CLIENT, ()),
    )
    files = (PlacedFile(role=Role.CLIENT, name=_SCRIPT, data=SCRIPT),)
    if "host" in parameters:
        return Commands(clients=(client,), files=files)
    server = Command(
        argv=("redis-server", _CONFIGURATION),
        role=Role.SERVER,
        timeout_s=_SERVER_LIFE_S,
        cpus=cpus.get(Role.SERVER, ()),
    )
    configuration = PlacedFile(
        role=Role.SERVER, name=_CONFIGURATION, data=_configuration(parameters, own.port)
    )
    return Commands(
        clients=(client,),
        servers=(Server(command=server, endpoint=own),),
        files=(*files, configuration),
    )


def _options(parameters: Mapping[str, Json]) -> tuple[str, ...]:
    size = whole_bytes(parameters, "data_size", "3 B")
    keys, threads = integer(parameters, "keyspace", 0), integer(parameters, "threads", 1)
    return (
        *("-t", ",".join(_tests(parameters))),
        *("-n", str(integer(parameters, "requests", 100_000))),
        *("-c", str(integer(parameters, "clients", 50))),
        *("-P", str(integer(parameters, "pipeline", 1))),
        *("-d", str(size)),
        *(("-r", str(keys)) if keys else ()),
        *(("--threads", str(threads)) if threads > 1 else ()),
        *(("-k", "0") if not flag(parameters, "keepalive", True) else ()),
    )


def _configuration(parameters: Mapping[str, Json], port: int) -> bytes:
    """A server that keeps nothing on a disk, and lets whoever reaches it do no more than the tests.

    Its process keeps its title: redis-server writes over the environment otherwise, by which a run
    knows its own.
    """
    return (
        f'port {port}\nbind * -::*\nprotected-mode no\ndaemonize no\nset-proc-title no\nsave ""\n'
        f"appendonly no\ndir ./\nio-threads {integer(parameters, 'io_threads', 1)}\n"
        "user default on nopass ~* +@all -@admin -@dangerous +config|get +info\n"
    ).encode()


def parse(completed: Sequence[Completed], parameters: Mapping[str, Json]) -> Sequence[Measurement]:
    """Measurements of one redis-benchmark, labelled ``test=NAME``.

    Raises:
        ParseError: it failed, printed no whole report, or one without a test that was asked for.
    """
    if len(completed) != 1:
        raise ParseError(f"found {len(completed)} redis-benchmark outputs, expected one")
    process = completed[0]
    if process.exit_code != 0:
        raise ParseError(
            f"redis-benchmark exited with {process.exit_code}:"
            f" {quote(process.stderr or process.stdout)}"
        )
    found = redis_output.figures(process.stdout.decode("utf-8", "replace"))
    asked = _tests(parameters) if parameters else ()  # a file from elsewhere says what it holds
    if not found or (missing := [name for name in asked if name not in found]):
        said = "no test" if not found else f"no result of {', '.join(missing)}"
        raise ParseError(f"found {said} in {quote(process.stdout)}, expected every test's line")
    return [
        measurement
        for name, figures in found.items()
        for measurement in measurements(METRICS, figures, {"test": name})
    ]


if TYPE_CHECKING:  # mypy holds this module against what it is taken for
    from . import workload as _this

    _held: Workload = _this
