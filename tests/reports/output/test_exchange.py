"""OpenMetrics is read by Prometheus' own reader, Parquet by pyarrow and pandas."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from importlib import import_module

import pyarrow.parquet

from benchspec.reports.output.exchange import export_bencher, export_openmetrics, export_parquet
from tests.reports.hostile_run import make_hostile_analysis, make_hostile_run
from tests.reports.sample_run import make_analysis, make_run

read_openmetrics = import_module(
    "prometheus_client.openmetrics.parser"
).text_string_to_metric_families
RUN = make_run()
ANALYSIS = make_analysis(RUN)
HOSTILE = make_hostile_run()
HOSTILE_ANALYSIS = make_hostile_analysis(HOSTILE)


def test_openmetrics_are_read_by_prometheus() -> None:
    text = export_openmetrics(RUN, ANALYSIS).decode()
    families = {family.name: family for family in read_openmetrics(text)}
    assert all(family.type == "gauge" for family in families.values())
    found = {
        (s.labels["target"], s.labels["cell"], s.labels["series"]): s.value
        for s in families["benchspec_value"].samples
    }
    expected = {(c.target, c.cell, c.series): c.summary.centre for c in ANALYSIS.cells if c.summary}
    assert found.keys() == expected.keys()
    assert all(math.isclose(found[key], expected[key], rel_tol=1e-9) for key in found)
    ratios = [c for c in ANALYSIS.contrasts if c.ratio is not None]
    assert len(families["benchspec_ratio"].samples) == len(ratios)
    assert {s.labels["run"] for s in families["benchspec_sessions"].samples} == {RUN.run_id}


def test_hostile_names_stay_labels() -> None:
    text = export_openmetrics(HOSTILE, HOSTILE_ANALYSIS).decode()
    names = {
        sample.labels["cell"] for family in read_openmetrics(text) for sample in family.samples
    }
    assert names <= {cell.cell for cell in HOSTILE_ANALYSIS.cells}


def test_bencher_has_each_series_with_its_interval() -> None:
    found = json.loads(export_bencher(ANALYSIS))
    count = 0
    for cell in ANALYSIS.cells:
        if cell.summary is None:
            continue
        metric = found[f"{cell.target}: {cell.cell}"][f"{cell.series} ({cell.metric.unit})"]
        assert math.isclose(metric["value"], cell.summary.centre, rel_tol=1e-9)
        if cell.summary.interval is not None:
            assert metric["lower_value"] <= metric["value"] <= metric["upper_value"]
        count += 1
    assert sum(map(len, found.values())) == count > 3


def test_parquet_has_every_measurement() -> None:
    data = export_parquet(RUN)
    assert data == export_parquet(RUN)
    table = pyarrow.parquet.read_table(io.BytesIO(data))
    assert table.schema.metadata[b"benchspec_run"].decode() == RUN.run_id
    measured = [m for trial in RUN.trials for m in trial.measurements]
    values = table.column("value").drop_null().to_pylist()
    assert values == [float(m.value) for m in measured]
    assert table.num_rows == len(measured) + sum(not trial.measurements for trial in RUN.trials)
    empty = replace(RUN, trials=())
    assert pyarrow.parquet.read_table(io.BytesIO(export_parquet(empty))).num_rows == 0
