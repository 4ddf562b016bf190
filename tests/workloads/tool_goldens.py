"""Golden outputs of tools: raw files beside ``CASE.expected.json``, which says what made them and
what a parser must find in them.

``{"tool", "command", "parameters", "outputs": [files], "exit_code", "measurements": {series:
value}}``, or ``"error": "part of the message"`` instead of measurements; ``"stderr": file`` where
the tool's stderr matters. Adding a case is adding files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchspec.engine.model.contract.reading import measured
from benchspec.engine.model.contract.values import Completed
from benchspec.engine.model.contract.workload import FeedsGates, Workload
from benchspec.engine.model.errors import ParseError
from benchspec.engine.model.results import Measurement
from benchspec.engine.model.spec import Json

DATA = Path(__file__).parents[1] / "data"
_EXPECTED = ".expected.json"
SHARED_SAMPLES = Path(__file__).parents[2].parent / "shared" / "samples"


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """One case."""

    name: str
    outputs: tuple[bytes, ...]
    parameters: dict[str, Json]
    exit_code: int
    measurements: dict[str, float] | None
    error: str | None
    stderr: bytes = b""


def golden_names(tool: str) -> list[str]:
    """The names of the cases of ``tool``."""
    return sorted(path.name.removesuffix(_EXPECTED) for path in (DATA / tool).glob(f"*{_EXPECTED}"))


def goldens(tool: str) -> list[Golden]:
    """Every case of ``tool`` (at least one)."""
    found = [read_golden(tool, name) for name in golden_names(tool)]
    assert found, f"no golden outputs of {tool} in tests/data/{tool}"
    return found


def read_golden(tool: str, name: str) -> Golden:
    """One case with its raw outputs."""
    folder = DATA / tool
    case = json.loads((folder / f"{name}{_EXPECTED}").read_text(encoding="utf-8"))
    return Golden(
        name=name,
        outputs=tuple((folder / output).read_bytes() for output in case["outputs"]),
        parameters=case["parameters"],
        exit_code=case["exit_code"],
        measurements=case.get("measurements"),
        error=case.get("error"),
        stderr=(folder / case["stderr"]).read_bytes() if "stderr" in case else b"",
    )


def completed(stdout: bytes, exit_code: int = 0, stderr: bytes = b"") -> Completed:
    """A finished job that printed ``stdout``."""
    return Completed(
        argv=("tool",),
        exit_code=exit_code,
        stdout=stdout,
        stderr=stderr,
        started_at=0.0,
        duration_s=0.0,
    )


def by_series(found: Sequence[Measurement]) -> dict[str, float]:
    """Values by series; a series that comes twice is a bug."""
    values = {m.series: m.value for m in found}
    assert len(values) == len(found), "one series twice"
    return values


def check(workload: Workload, case: Golden) -> None:
    """Parse the case and hold the result against what is expected: the same series, values equal to
    1e-9, units as declared.
    """
    jobs = [completed(raw, case.exit_code, case.stderr) for raw in case.outputs]
    if case.error is not None:
        with pytest.raises(ParseError) as caught:
            measured(workload, jobs, case.parameters)
        assert case.error in str(caught.value), (
            f"another refusal of the golden output {case.name}: {caught.value}"
        )
        return
    found = measured(workload, jobs, case.parameters)
    check_declared(workload, found, case.parameters)
    figures = by_series(found)
    assert figures == pytest.approx(case.measurements, rel=1e-9, abs=1e-12), (
        f"other figures in the golden output {case.name}: {figures}"
    )


def check_declared(
    workload: Workload, found: Sequence[Measurement], parameters: Mapping[str, Json]
) -> None:
    """Every measurement is one of a metric that the tool declares, in its unit, finite and not
    below zero.
    """
    inputs = workload.GATE_INPUTS if isinstance(workload, FeedsGates) else ()
    units = {metric.name: metric.unit for metric in (*workload.metrics(parameters), *inputs)}
    undeclared = {m.metric for m in found} - units.keys()
    assert not undeclared, (
        f"{workload.NAME} measures what it does not declare: {', '.join(sorted(undeclared))}"
    )
    assert all(m.unit == units[m.metric] and math.isfinite(m.value) and m.value >= 0 for m in found)


def sample(tool: str, name: str) -> bytes:
    """A sample that may not be shipped, read where it lies. Skips the test when the folder is
    absent.
    """
    path = SHARED_SAMPLES / tool / name
    if not path.exists():
        pytest.skip(
            f"{path} is not here: third-party samples are used where they lie and are never shipped"
        )
    return path.read_bytes()
