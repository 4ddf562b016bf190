"""vault-benchmark: HashiCorp's load generator against a Vault that is already there (a component of
the target).

The configuration is a file rendered from the parameters; the token is handed over as an environment
variable and is never in a file, an argument or a log. Latencies mean nothing when requests fail
fast, so success is 2xx only (a standby's redirect is none) and is gated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...engine.model.contract.values import (
    Command,
    Commands,
    Completed,
    PlacedFile,
    Surroundings,
    Tool,
)
from ...engine.model.contract.workload import Workload
from ...engine.model.errors import ParseError, SpecError
from ...engine.model.results import Direction, Measurement, Metric
from ...engine.model.spec import Experiment, Json, Role
from ...engine.model.text.json_output import as_mapping, as_sequence, quote
from ...engine.model.units import Dimension
from ..shared.go_duration import write_duration
from ..shared.latencies import latency_metrics
from ..shared.measurements import measurements
from ..shared.quantities import flag, integer, quantity, seconds, text
from . import hcl as vault_hcl
from . import output as vault_benchmark_output

NAME = "vault-benchmark"
ROLES: Sequence[Role] = (Role.LOAD_GENERATOR,)
DEFAULT_GATES: Mapping[str, float] = {"max_error_ratio": 0.001}
CONFIGURATION = "vault-benchmark.hcl"
_GRACE_S = 300.0
"""Mounting engines, writing keys and removing them again; requests still under way when the time is
up.
"""


METRICS: Sequence[Metric] = (
    *latency_metrics("mean", "p50", "p90", "p95", "p99", "max", "min"),
    Metric(
        name="throughput",
        title="Successful requests per second",
        unit="1/s",
        direction=Direction.HIGHER,
    ),
    Metric(name="rate", title="Requests sent per second", unit="1/s", direction=Direction.NEITHER),
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
    Metric(
        name="duration",
        title="Time in which requests were sent",
        unit="s",
        direction=Direction.NEITHER,
    ),
)


def metrics(parameters: Mapping[str, Json]) -> Sequence[Metric]:
    """All metrics, whatever the parameters."""
    return METRICS


def tools(parameters: Mapping[str, Json]) -> Sequence[Tool]:
    """vault-benchmark, of which there is a release binary and an image, but no Debian package."""
    return (
        Tool(
            executable=NAME,
            package=NAME,
            version_argv=(NAME, "version"),
            roles=(Role.LOAD_GENERATOR,),
        ),
    )


def primary(parameters: Mapping[str, Json]) -> str:
    """Mean latency over all tests."""
    return f"latency.mean{{test={vault_benchmark_output.TOTAL}}}"


def duration_s(parameters: Mapping[str, Json]) -> float:
    """How long requests are sent, in s. Raises UnitError."""
    return seconds(parameters, "duration", "10 s")


def commands(experiment: Experiment, surroundings: Surroundings) -> Commands:
    """One vault-benchmark with its configuration file. Raises SpecError."""
    parameters, workdir = experiment.parameters, surroundings.workdirs[Role.LOAD_GENERATOR]
    token = text(parameters, "token")
    client = Command(
        argv=(NAME, "run", f"-config={workdir}/{CONFIGURATION}"),
        role=Role.LOAD_GENERATOR,
        timeout_s=duration_s(parameters) + _GRACE_S,
        env=(
            {"VAULT_TOKEN": token} if token else {}
        ),  # the reference; its value takes its place when the command is started
        cpus=next(
            (place.cpus for place in experiment.roles if place.role is Role.LOAD_GENERATOR), ()
        ),
    )
    return Commands(
        clients=(client,),
        files=(
            PlacedFile(
                role=Role.LOAD_GENERATOR, name=CONFIGURATION, data=configuration(parameters)
            ),
        ),
    )


def configuration(parameters: Mapping[str, Json]) -> bytes:
    """The HCL file of these parameters, without the token; the same parameters give the same bytes.

    Raises:
        SpecError: no test, weights that do not sum to 100, a name that comes twice, or a setting
            that HCL cannot hold.
    """
    tests = [as_mapping(test) for test in as_sequence(parameters.get("tests"))]
    _check_tests(tests)
    return (
        vault_hcl.attributes(_settings(parameters))
        + "".join(f"\n{_test_block(test)}" for test in tests)
    ).encode()


def _settings(parameters: Mapping[str, Json]) -> dict[str, Json]:
    random_mounts = flag(parameters, "random_mounts", True)
    rate = _requested_rate(parameters)
    optional = {
        "vault_namespace": text(parameters, "namespace"),
        "ca_pem_file": text(parameters, "ca_pem_file"),
    }
    return {
        "vault_addr": text(parameters, "address"),
        **{name: value for name, value in optional.items() if value},
        "duration": write_duration(duration_s(parameters)),
        "workers": integer(parameters, "workers", 10),
        **({} if rate is None else {"rps": rate}),
        "report_mode": "json",
        "random_mounts": random_mounts,
        "cleanup": flag(
            parameters, "cleanup", random_mounts
        ),  # the tool refuses to clean up mounts with fixed names
        "disable_http2": flag(parameters, "disable_http2", False),
        "log_level": "WARN",  # kubectl logs mixes the log into the result
    }


def _requested_rate(parameters: Mapping[str, Json]) -> int | None:
    rate = quantity(parameters, "rate", Dimension.RATE)
    if rate is not None and (not rate.is_integer() or rate < 1):
        raise SpecError(f"rate: found {rate:g} 1/s, expected a whole number of requests per second")
    return None if rate is None else int(rate)


def _test_block(test: Mapping[str, Json]) -> str:
    weight = vault_hcl.attributes({"weight": integer(test, "weight", 0)}, "  ")
    config = vault_hcl.attributes({"config": test["config"]}, "  ") if test.get("config") else ""
    return vault_hcl.block("test", (text(test, "type"), text(test, "name")), weight + config)


def _check_tests(tests: Sequence[Mapping[str, Json]]) -> None:
    weights = sum(integer(test, "weight", 0) for test in tests)
    if weights != 100:
        raise SpecError(f"tests: found weights that sum to {weights}, expected 100")
    if twice := [
        name for name, count in Counter(text(test, "name") for test in tests).items() if count > 1
    ]:
        raise SpecError(
            f"tests: found {', '.join(map(repr, twice))} more than once, expected a name of its own"
            " for every test"
        )


def parse(completed: Sequence[Completed], parameters: Mapping[str, Json]) -> Sequence[Measurement]:
    """Measurements of one run, labelled ``test=NAME`` with ``test=total`` for all together; with
    several Vault addresses also ``address=URL``.

    Raises:
        ParseError: vault-benchmark failed, printed no JSON result or those of several runs, or a
            test that was asked for made no request.
    """
    if len(completed) != 1:
        raise ParseError(f"found {len(completed)} vault-benchmark outputs, expected 1")
    job = completed[0]
    if job.exit_code != 0:
        raise ParseError(
            f"vault-benchmark exited with {job.exit_code}: {quote(job.stderr or job.stdout)}"
        )
    results = vault_benchmark_output.documents(job.stdout)
    if len({vault_benchmark_output.address(result) for result in results}) < len(results):
        raise ParseError(
            "found several results for one Vault address, expected one",
            remedy="keep the output of every run apart",
        )
    found: list[Measurement] = []
    for result in results:
        where = {"address": vault_benchmark_output.address(result)} if len(results) > 1 else {}
        found += _of_one_address(result, parameters, where)
    return found


def _of_one_address(
    result: Mapping[str, Json], parameters: Mapping[str, Json], where: Mapping[str, str]
) -> list[Measurement]:
    entries = vault_benchmark_output.entries(result)
    asked = [text(as_mapping(test), "name") for test in as_sequence(parameters.get("tests"))]
    if missing := [name for name in asked if name not in entries]:
        raise ParseError(
            f"found no request of {', '.join(missing)} in vault-benchmark's result, expected every"
            " test to have made some"
        )
    rate = _requested_rate(parameters)
    found: list[Measurement] = []
    for name, entry in entries.items():
        figures = vault_benchmark_output.figures(entry)
        if name == vault_benchmark_output.TOTAL and rate and figures["rate"] is not None:
            figures["achieved.ratio"] = figures["rate"] / rate
        found += measurements(METRICS, figures, {"test": name, **where})
    return found


if TYPE_CHECKING:  # mypy holds this module against what it is taken for
    from . import workload as _this

    _held: Workload = _this
