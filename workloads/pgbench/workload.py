"""pgbench: transactions of a PostgreSQL server that is started for the workload, or of one that is
there already.

Before every trial the tables are made anew by a script that is placed beside the client, so that
each begins with the same data; only the transactions are timed.
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
from ...engine.model.contract.workload import Workload, WritesVolumes
from ...engine.model.errors import ParseError
from ...engine.model.results import Direction, Measurement, Metric
from ...engine.model.spec import Experiment, Json, Role
from ...engine.model.text.json_output import quote
from ...engine.model.units import Dimension
from ..shared.latencies import latency_metrics
from ..shared.measurements import measurements
from ..shared.quantities import flag, integer, quantity, text, whole_seconds
from . import output as pgbench_output
from . import server as postgresql

NAME = "pgbench"
ROLES: Sequence[Role] = (Role.CLIENT, Role.SERVER)
VOLUMES: Sequence[Role] = (Role.SERVER,)
DEFAULT_GATES: Mapping[str, float] = {"max_error_ratio": 0.0}
_GRACE_S = 120.0
_SCALE_S = 10.0
"""How long a unit of scale (100,000 rows) may take to be made at the most."""

_SERVER_LIFE_S = 7 * 86400.0
_READY_S = 120.0
_PROGRAM = "pgbench.sh"
_TRANSACTION = "pgbench-script.sql"
_NEVER_S = 1_000_000
"""With an interval for progress pgbench times every transaction, so that it knows their spread."""

PROGRAM = b"""\
# Makes the tables, and measures. $1: host; $2: port; $3: user; $4: database; $5: scale, or nothing
# where the tables stay as they are; the rest: options.
set -eu
host=$1 port=$2 user=$3 database=$4 scale=$5
shift 5
if [ -n "$scale" ]; then
    pgbench -h "$host" -p "$port" -U "$user" -i -q -s "$scale" "$database" >&2
fi
exec pgbench -h "$host" -p "$port" -U "$user" "$@" "$database"
"""


def _metric(name: str, title: str, unit: str, direction: Direction) -> Metric:
    return Metric(name=name, title=title, unit=unit, direction=direction)


METRICS: Sequence[Metric] = (
    _metric("throughput", "Transactions per second", "1/s", Direction.HIGHER),
    *latency_metrics("mean", "stddev"),
    _metric("connection.initial", "Time to make all connections", "s", Direction.LOWER),
    _metric("connection.mean", "Mean time to connect", "s", Direction.LOWER),
    _metric("lag.mean", "Mean delay of the start of transactions", "s", Direction.LOWER),
    _metric("lag.max", "Greatest delay of the start of a transaction", "s", Direction.LOWER),
    _metric("late.ratio", "Share above the latency limit", "ratio", Direction.LOWER),
    _metric("achieved.ratio", "Achieved share of the requested rate", "ratio", Direction.HIGHER),
    _metric("error.ratio", "Share of failed or skipped transactions", "ratio", Direction.LOWER),
    _metric("samples", "Transactions", "1", Direction.NEITHER),
    _metric("duration", "Measured time", "s", Direction.NEITHER),
)


def metrics(parameters: Mapping[str, Json]) -> Sequence[Metric]:
    """All metrics, whatever the parameters."""
    return METRICS


def tools(parameters: Mapping[str, Json]) -> Sequence[Tool]:
    """pgbench, which Debian has in the server's package; so it stands for the server, too, whose
    own programs are in no PATH there.
    """
    roles = (Role.CLIENT,) if "host" in parameters else (Role.CLIENT, Role.SERVER)
    return (
        Tool(
            executable="pgbench",
            package="postgresql",
            version_argv=("pgbench", "--version"),
            roles=roles,
        ),
    )


def primary(parameters: Mapping[str, Json]) -> str:
    """Transactions per second; with a rate, which says how many, their mean latency."""
    return "latency.mean" if "rate" in parameters else "throughput"


def duration_s(parameters: Mapping[str, Json]) -> float:
    """How long transactions are sent, in s. Raises UnitError."""
    return float(whole_seconds(parameters, "duration", "10 s"))


def commands(experiment: Experiment, surroundings: Surroundings) -> Commands:
    """One pgbench, and the server it loads unless ``host`` names one. Raises SpecError,
    UnitError.
    """
    parameters, own = experiment.parameters, surroundings.endpoints[Role.SERVER]
    cpus = {place.role: place.cpus for place in experiment.roles}
    made, transaction = _initialised(parameters), text(parameters, "script")
    scale = integer(parameters, "scale", 1) if made else 0
    password, tls = text(parameters, "password"), text(parameters, "sslmode")
    client = Command(
        argv=("sh", _PROGRAM, *_target(parameters, own), str(scale or ""), *_options(parameters)),
        role=Role.CLIENT,
        timeout_s=duration_s(parameters) + _GRACE_S + _SCALE_S * scale,
        env={  # the reference of a secret; its value takes its place when the command is started
            **({"PGPASSWORD": password} if password else {}),
            **({"PGSSLMODE": tls} if tls else {}),
        },
        cpus=cpus.get(Role.CLIENT, ()),
    )
    files = [PlacedFile(role=Role.CLIENT, name=_PROGRAM, data=PROGRAM)]
    if transaction:
        data = transaction.encode()
        files.append(PlacedFile(role=Role.CLIENT, name=_TRANSACTION, data=data))
    if "host" in parameters:
        return Commands(clients=(client,), files=tuple(files))
    folder = text(experiment.storage, "path") or surroundings.workdirs.get(Role.SERVER, ".")
    server = Command(
        argv=("sh", postgresql.SCRIPT, folder, str(own.port)),
        role=Role.SERVER,
        timeout_s=_SERVER_LIFE_S,
        cpus=cpus.get(Role.SERVER, ()),
    )
    configuration = postgresql.settings(parameters)
    files += [
        PlacedFile(role=Role.SERVER, name=postgresql.SCRIPT, data=postgresql.PROGRAM),
        PlacedFile(role=Role.SERVER, name=postgresql.SETTINGS, data=configuration),
    ]
    return Commands(
        clients=(client,),
        servers=(Server(command=server, endpoint=own, ready_timeout_s=_READY_S),),
        files=tuple(files),
    )


def _target(parameters: Mapping[str, Json], own: Endpoint) -> tuple[str, ...]:
    """Host, port, user and database."""
    if "host" not in parameters:
        return own.host, str(own.port), postgresql.USER, postgresql.DATABASE
    port = str(integer(parameters, "port", 5432))
    user = text(parameters, "user", "postgres")
    return text(parameters, "host"), port, user, text(parameters, "database", "postgres")


def _initialised(parameters: Mapping[str, Json]) -> bool:
    return flag(parameters, "initialize", True)


def _options(parameters: Mapping[str, Json]) -> tuple[str, ...]:
    rate = quantity(parameters, "rate", Dimension.RATE)
    limit = quantity(parameters, "latency_limit", Dimension.TIME)
    script, tries = text(parameters, "script"), integer(parameters, "tries", 1)
    builtin = text(parameters, "builtin", "tpcb-like")
    return (
        *(("-f", _TRANSACTION) if script else ("-b", builtin)),
        *(("-n",) if script or _initialised(parameters) else ()),  # vacuumed when they were made
        *("-T", str(whole_seconds(parameters, "duration", "10 s"))),
        *("-c", str(integer(parameters, "clients", 1)), "-j", str(integer(parameters, "jobs", 1))),
        *("-M", text(parameters, "protocol", "simple"), "-P", str(_NEVER_S)),
        *(("-R", f"{rate:.9g}") if rate is not None else ()),
        *(("-L", f"{1e3 * limit:.9g}") if limit is not None else ()),
        *(("--max-tries", str(tries)) if tries > 1 else ()),
        *(("-C",) if flag(parameters, "reconnect", False) else ()),
    )


def parse(completed: Sequence[Completed], parameters: Mapping[str, Json]) -> Sequence[Measurement]:
    """Measurements of one pgbench.

    Raises:
        ParseError: it failed, a client was aborted, or it printed no whole report.
    """
    if len(completed) != 1:
        raise ParseError(f"found {len(completed)} pgbench outputs, expected one")
    process = completed[0]
    if process.exit_code != 0:
        raise ParseError(
            f"pgbench exited with {process.exit_code}: {quote(process.stderr or process.stdout)}"
        )
    figures = pgbench_output.figures(process.stdout.decode("utf-8", "replace"))
    rate, found = quantity(parameters, "rate", Dimension.RATE), figures["throughput"]
    if rate and found:
        figures["achieved.ratio"] = found / rate
    if figures.get(primary(parameters)) is None:
        raise ParseError(f"found no {primary(parameters)} in {quote(process.stdout)}")
    return measurements(METRICS, figures)


if TYPE_CHECKING:  # mypy holds this module against what it is taken for
    from . import workload as _this

    _held: Workload = _this
    _held_volumes: WritesVolumes = _this
