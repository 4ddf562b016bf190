"""Output that was made elsewhere, read by a workload's parser or by a reader of another program's
format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

from ...workloads.registry import get_workload
from ..model.contract.reading import measured, unread
from ..model.contract.values import Completed
from ..model.contract.workload import FeedsGates, ReadsFiles
from ..model.results import GateResult, Measurement, Metric
from ..model.spec import Json
from ..model.text.plain_text import normalised
from ..planning import validity_gates as gates

READERS: Mapping[str, str] = {
    "hyperfine": "hyperfine",
    "knb": "knb.results",
    "kubestr": "kubestr",
    "vegeta": "vegeta",
}
"""Programs whose results are read and that no spec runs: name to the module, which has METRICS and
``parse(data)``.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What one output holds: measurements, the gates of its tool against them, and the lines that
    look like results and were not read.
    """

    measurements: tuple[Measurement, ...]
    gates: tuple[GateResult, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the result does not count; empty where every gate was passed."""
        return tuple(gates.describe(gate) for gate in self.gates if not gate.passed)


def metrics_of(tool: str) -> Mapping[str, Metric]:
    """The metrics of a tool or reader by name, and what its gates look at. Raises SpecError."""
    if tool in READERS:
        found: Sequence[Metric] = import_module(f".{READERS[tool]}", __package__).METRICS
        return {metric.name: metric for metric in found}
    workload = get_workload(tool)
    inputs = workload.GATE_INPUTS if isinstance(workload, FeedsGates) else ()
    return {metric.name: metric for metric in (*workload.metrics({}), *inputs)}


def parse_output(tool: str, data: bytes, parameters: Mapping[str, Json]) -> Sequence[Measurement]:
    """Measurements in raw output that was made elsewhere, by a workload's tool or one of READERS.

    ``data`` stands for stdout and for the files that the workload reads.

    Raises:
        SpecError: unknown tool.
        ParseError: nothing was measured, with the reason.
    """
    return read_output(tool, data, parameters).measurements


def read_output(tool: str, data: bytes, parameters: Mapping[str, Json]) -> Output:
    """The same with what the tool's own gates say of it. Raises as :func:`parse_output`."""
    if tool in READERS:
        module = import_module(f".{READERS[tool]}", __package__)
        reader: Callable[[bytes], Sequence[Measurement]] = module.parse
        own: Mapping[str, float] = getattr(module, "DEFAULT_GATES", {})
        read = tuple(reader(normalised(data)))
        return Output(measurements=read, gates=gates.evaluate(own, frozenset(), read, {}))
    workload = get_workload(tool)
    names = workload.output_files(parameters) if isinstance(workload, ReadsFiles) else ()
    completed = Completed(
        argv=(tool,),
        exit_code=0,
        stdout=data,
        stderr=b"",
        started_at=0.0,
        duration_s=0.0,
        files=dict.fromkeys(names, data),
    )
    found = tuple(measured(workload, (completed,), parameters))
    return Output(
        measurements=found,
        gates=gates.evaluate(workload.DEFAULT_GATES, frozenset(), found, {}),
        unread=tuple(unread(workload, (completed,), parameters)),
    )
