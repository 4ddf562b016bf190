"""openssl speed: how fast one CPU (or several) encrypts, hashes or signs; no network and no
disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...engine.model.contract.values import Command, Commands, Completed, Surroundings, Tool
from ...engine.model.contract.workload import FeedsGates, PrintsReports, Workload
from ...engine.model.errors import ParseError, SpecError
from ...engine.model.results import Direction, Measurement, Metric
from ...engine.model.spec import Experiment, Json, Role
from ...engine.model.text.json_output import quote
from ..shared.measurements import measurements
from ..shared.quantities import flag, integer, text, whole_bytes, whole_seconds
from . import output as openssl_output

NAME = "openssl-speed"
METRICS: Sequence[Metric] = (
    Metric(
        name="throughput",
        title="Data processed",
        unit="B/s",
        direction=Direction.HIGHER,
        limits=("cpu.throughput",),
    ),
    Metric(
        name="sign",
        title="Signatures made",
        unit="1/s",
        direction=Direction.HIGHER,
        limits=("cpu.sign",),
    ),
    Metric(
        name="verify",
        title="Signatures checked",
        unit="1/s",
        direction=Direction.HIGHER,
        limits=("cpu.verify",),
    ),
    Metric(name="encrypt", title="Encryptions", unit="1/s", direction=Direction.HIGHER),
    Metric(name="decrypt", title="Decryptions", unit="1/s", direction=Direction.HIGHER),
    Metric(name="agree", title="Key agreements", unit="1/s", direction=Direction.HIGHER),
)
GATE_INPUTS: Sequence[Metric] = (
    Metric(name="duration", title="Shortest measurement", unit="s", direction=Direction.NEITHER),
)
ROLES: Sequence[Role] = (Role.CLIENT,)
DEFAULT_GATES: Mapping[str, float] = {}
DEFAULT_ALGORITHM = "aes-256-gcm"
_GRACE_S = 60.0


def metrics(parameters: Mapping[str, Json]) -> Sequence[Metric]:
    """All metrics, whatever the parameters."""
    return METRICS


def tools(parameters: Mapping[str, Json]) -> Sequence[Tool]:
    """openssl, from the package of that name."""
    return (
        Tool(
            executable="openssl",
            package="openssl",
            version_argv=("openssl", "version"),
            roles=(Role.CLIENT,),
        ),
    )


def primary(parameters: Mapping[str, Json]) -> str:
    """``sign`` for a signature, else ``throughput``."""
    return "sign" if "signature" in parameters else "throughput"


def duration_s(parameters: Mapping[str, Json]) -> float:
    """One measurement of a cipher or digest; two of a signature (making and checking). Raises
    UnitError.
    """
    return float(
        whole_seconds(parameters, "seconds", "3 s") * (2 if "signature" in parameters else 1)
    )


def commands(experiment: Experiment, surroundings: Surroundings) -> Commands:
    """One ``openssl speed -mr``. Raises SpecError."""
    cpus = next((place.cpus for place in experiment.roles if place.role is Role.CLIENT), ())
    timeout_s = 2 * duration_s(experiment.parameters) + _GRACE_S
    return Commands(
        clients=(
            Command(
                argv=_argv(experiment.parameters), role=Role.CLIENT, timeout_s=timeout_s, cpus=cpus
            ),
        )
    )


def _argv(parameters: Mapping[str, Json]) -> tuple[str, ...]:
    signature = text(parameters, "signature")
    if signature and "algorithm" in parameters:
        raise SpecError(
            "found both algorithm and signature, expected one of them",
            remedy="make them two points of a matrix",
        )
    return (
        *("openssl", "speed", "-mr", "-seconds", str(whole_seconds(parameters, "seconds", "3 s"))),
        *(("-elapsed",) if flag(parameters, "elapsed", True) else ()),
        *(
            ("-multi", str(integer(parameters, "multi", 1)))
            if integer(parameters, "multi", 1) > 1
            else ()
        ),
        *((signature,) if signature else _cipher(parameters)),
    )


def _cipher(parameters: Mapping[str, Json]) -> tuple[str, ...]:
    return (
        *(
            option
            for name, option in (("decrypt", "-decrypt"), ("aead", "-aead"))
            if flag(parameters, name, False)
        ),
        *("-bytes", str(whole_bytes(parameters, "bytes", "16 KiB"))),
        *("-evp", text(parameters, "algorithm", DEFAULT_ALGORITHM)),
    )


def parse(completed: Sequence[Completed], parameters: Mapping[str, Json]) -> Sequence[Measurement]:
    """Measurements of one ``openssl speed``, labelled with the algorithm and the block size in B.

    Raises:
        ParseError: openssl failed, or measured nothing.
    """
    if len(completed) != 1:
        raise ParseError(f"found {len(completed)} openssl outputs, expected one")
    process = completed[0]
    if process.exit_code != 0:
        raise ParseError(
            f"openssl speed ended with exit code {process.exit_code}; stderr:"
            f" {quote(process.stderr)}"
        )
    output, diagnostics = (
        data.decode("utf-8", "replace") for data in (process.stdout, process.stderr)
    )
    found = [*_rates(output), *_operations(output)]
    if not found:
        raise ParseError(f"openssl speed measured nothing; it printed {quote(process.stdout)}")
    if len({measurement.series for measurement in found}) < len(found):
        raise ParseError("openssl speed printed several figures for one algorithm and block size")
    return [
        *found,
        *measurements(
            GATE_INPUTS,
            {"duration": min(openssl_output.times(f"{diagnostics}\n{output}"), default=None)},
        ),
    ]


def _rates(output: str) -> list[Measurement]:
    found: list[Measurement] = []
    for rate in openssl_output.rates(output):
        block = {} if rate.block is None else {"block": str(rate.block)}
        found += measurements(
            METRICS, {"throughput": rate.bytes_per_s}, {"algorithm": rate.algorithm, **block}
        )
    return found


def _operations(output: str) -> list[Measurement]:
    found: list[Measurement] = []
    for one in openssl_output.operations(output):
        found += measurements(METRICS, one.rates, {"algorithm": one.algorithm})
    return found


def unfinished(report: str) -> str | None:
    """Why the last line is not whole."""
    return openssl_output.unfinished(report)


def unread(report: str) -> Sequence[str]:
    """Rows of kinds that are not known here, such as those of KEMs."""
    return openssl_output.unread(report)


if TYPE_CHECKING:  # mypy holds this module against what it is taken for
    from . import workload as _this

    _held: Workload = _this
    _held_gates: FeedsGates = _this
    _held_reports: PrintsReports = _this
