"""Exports in the forms of other programs: OpenMetrics, Bencher and Parquet. Absent stays absent."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from ...engine.analysis.model import Analysis, Cell, Contrast, Summary
from ...engine.model.errors import UsageError
from ...engine.model.results import RunData
from ..wording.numbers import steady

_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_FAMILIES = (
    ("benchspec_value", "The centre of the session values, in the base unit of the label unit."),
    ("benchspec_value_low", "The lower end of its interval."),
    ("benchspec_value_high", "The upper end of its interval."),
    ("benchspec_sessions", "Sessions that it is of."),
    ("benchspec_trials", "Measured trials by status."),
    ("benchspec_ratio", "Target by baseline."),
    ("benchspec_ratio_low", "The lower end of the ratio's interval."),
    ("benchspec_ratio_high", "The upper end of the ratio's interval."),
)
Sample = tuple[str, dict[str, str], float]


def export(run: RunData, analysis: Analysis, format: str) -> Mapping[str, bytes]:
    """The one file of ``format`` (openmetrics, bencher or parquet) by its name. Raises UsageError:
    pyarrow is not installed.
    """
    match format:
        case "openmetrics":
            return {"results.prom": export_openmetrics(run, analysis)}
        case "bencher":
            return {"bencher.json": export_bencher(analysis)}
        case _:
            return {"results.parquet": export_parquet(run)}


def export_openmetrics(run: RunData, analysis: Analysis) -> bytes:
    """What was found, as gauges (OpenMetrics 1.0, text). Without times of their own: a collector of
    text files gives them its own.
    """
    samples = [
        *(sample for cell in analysis.cells for sample in _of_cell(cell)),
        *(sample for contrast in analysis.contrasts for sample in _of_contrast(contrast)),
    ]
    head = {"run": run.run_id, "spec": run.spec.name}
    lines = []
    for family, meaning in _FAMILIES:
        lines += [f"# TYPE {family} gauge", f"# HELP {family} {meaning}"]
        lines += [_line(name, head | labels, v) for name, labels, v in samples if name == family]
    return ("\n".join([*lines, "# EOF"]) + "\n").encode()


def export_bencher(analysis: Analysis) -> bytes:
    """The series as Bencher Metric Format
    (https://bencher.dev/docs/reference/bencher-metric-format): a benchmark for each target and
    cell, a measure for each series, with its interval.
    """
    found: dict[str, dict[str, dict[str, float]]] = {}
    for cell in analysis.cells:
        if cell.summary is not None and math.isfinite(cell.summary.centre):
            measures = found.setdefault(f"{cell.target}: {cell.cell}", {})
            measures[f"{cell.series} ({cell.metric.unit})"] = _metric(cell.summary)
    text = json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode()


def export_parquet(run: RunData) -> bytes:
    """One row per measurement, and one without a value for a trial without any; the columns of the
    CSV, typed. Values are exact, in base units.

    Raises:
        UsageError: pyarrow is not installed.
    """
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise UsageError(
            "the program that writes Parquet is not installed",
            remedy="pip install 'benchspec[parquet]'",
        ) from error
    text, whole = arrow.string(), arrow.int64()
    schema = arrow.schema(
        [
            ("trial", whole),
            ("session", whole),
            ("kind", text),
            ("target", text),
            ("workload", text),
            ("cell", text),
            ("metric", text),
            ("labels", text),
            ("value", arrow.float64()),
            ("unit", text),
            ("status", text),
        ],
        metadata={"benchspec_run": run.run_id, "benchspec_spec": run.spec.name},
    )
    buffer = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist(list(_rows(run)), schema=schema), buffer)
    return buffer.getvalue()


def _rows(run: RunData) -> Iterator[dict[str, Any]]:
    places = {e.id: (e.target, e.workload, e.cell) for e in run.experiments}
    for trial in run.trials:
        target, workload, cell = places.get(trial.experiment_id, (None, None, None))
        head = {
            "trial": trial.sequence,
            "session": trial.session,
            "kind": trial.kind.value,
            "target": target,
            "workload": workload,
            "cell": cell,
            "status": trial.status.value,
        }
        if not trial.measurements:
            yield head
        for one in trial.measurements:
            labels = ";".join(f"{key}={value}" for key, value in sorted(one.labels.items()))
            value = float(one.value) if math.isfinite(one.value) else None
            yield {**head, "metric": one.metric, "labels": labels, "value": value, "unit": one.unit}


def _of_cell(cell: Cell) -> Iterator[Sample]:
    labels = {
        "target": cell.target,
        "cell": cell.cell,
        "series": cell.series,
        "unit": cell.metric.unit,
        "better": cell.metric.direction.value,
        "primary": _word(cell.primary),
    }
    if cell.primary:
        place = {"target": cell.target, "cell": cell.cell}
        for status, count in sorted(cell.counts.items()):
            yield "benchspec_trials", {**place, "status": status}, float(count)
    if cell.summary is None:
        return
    yield "benchspec_value", labels, cell.summary.centre
    yield "benchspec_sessions", labels, float(len(cell.summary.values))
    if cell.summary.interval is not None:
        yield "benchspec_value_low", labels, cell.summary.interval.low
        yield "benchspec_value_high", labels, cell.summary.interval.high


def _of_contrast(contrast: Contrast) -> Iterator[Sample]:
    if contrast.ratio is None:
        return
    labels = {
        "target": contrast.target,
        "baseline": contrast.baseline,
        "cell": contrast.cell,
        "baseline_cell": contrast.baseline_cell,
        "series": contrast.series,
        "primary": _word(contrast.primary),
        "difference": _difference(contrast),
    }
    yield "benchspec_ratio", labels, contrast.ratio
    if contrast.interval is not None:
        yield "benchspec_ratio_low", labels, contrast.interval.low
        yield "benchspec_ratio_high", labels, contrast.interval.high


def _difference(contrast: Contrast) -> str:
    verdict = contrast.verdict
    if verdict is None:
        return ""
    return "void" if verdict.difference is None else verdict.difference.value


def _metric(summary: Summary) -> dict[str, float]:
    found = {"value": steady(summary.centre)}
    interval = summary.interval
    if interval is not None and math.isfinite(interval.low) and math.isfinite(interval.high):
        found |= {"lower_value": steady(interval.low), "upper_value": steady(interval.high)}
    return found


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    said = ",".join(f'{key}="{text.translate(_ESCAPED)}"' for key, text in labels.items())
    return f"{name}{{{said}}} {_number(value)}"


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(steady(value))


def _word(value: bool) -> str:
    return "true" if value else "false"
