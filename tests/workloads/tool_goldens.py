"""Golden outputs of tools: raw files beside ``CASE.expected.json``, which says what made them and what a parser must find in them.

``{"tool", "command", "parameters", "outputs": [files], "exit_code", "measurements": {series: value}}``, or ``"error": "part of the message"`` instead
of measurements; ``"stderr": file`` where the tool's stderr matters. Adding a case is adding files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchspec.engine.errors import ParseError
from benchspec.engine.ports import Completed, Workload
from benchspec.engine.results import Measurement
from benchspec.engine.spec import Json

DATA = Path(__file__).parents[1] / "data"
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


def goldens(tool: str) -> list[Golden]:
    """Every case of ``tool`` (at least one)."""
    found = [_golden(path) for path in sorted((DATA / tool).glob("*.expected.json"))]
    assert found, f"no golden outputs of {tool}"
    return found


def _golden(path: Path) -> Golden:
    case = json.loads(path.read_text())
    return Golden(
        name=path.name.removesuffix(".expected.json"),
        outputs=tuple((path.parent / name).read_bytes() for name in case["outputs"]),
        parameters=case["parameters"],
        exit_code=case["exit_code"],
        measurements=case.get("measurements"),
        error=case.get("error"),
        stderr=(path.parent / case["stderr"]).read_bytes() if "stderr" in case else b"",
    )


def completed(stdout: bytes, exit_code: int = 0, stderr: bytes = b"") -> Completed:
    """A finished job that printed ``stdout``."""
    return Completed(argv=("tool",), exit_code=exit_code, stdout=stdout, stderr=stderr, started_at=0.0, duration_s=0.0)


def by_series(found: Sequence[Measurement]) -> dict[str, float]:
    """Values by series; a series that comes twice is a bug."""
    values = {m.series: m.value for m in found}
    assert len(values) == len(found), "one series twice"
    return values


def check(workload: Workload, case: Golden) -> None:
    """Parse the case and hold the result against what is expected: the same series, values equal to 1e-9, units as declared."""
    jobs = [completed(raw, case.exit_code, case.stderr) for raw in case.outputs]
    if case.error is not None:
        with pytest.raises(ParseError) as caught:
            workload.parse(jobs, case.parameters)
        assert case.error in str(caught.value)
        return
    found = workload.parse(jobs, case.parameters)
    assert by_series(found) == pytest.approx(case.measurements, rel=1e-9, abs=1e-12)
    units = {metric.name: metric.unit for metric in (*workload.metrics(case.parameters), *getattr(workload, "GATE_INPUTS", ()))}
    assert all(m.unit == units[m.metric] and math.isfinite(m.value) for m in found)


def sample(tool: str, name: str) -> bytes:
    """A sample that may not be shipped, read where it lies. Skips the test when the folder is absent."""
    path = SHARED_SAMPLES / tool / name
    if not path.exists():
        pytest.skip(f"{path} is not here: third-party samples are used where they lie and are never shipped")
    return path.read_bytes()
