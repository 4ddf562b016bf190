from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from enum import IntEnum

import pytest

from benchspec.reports.output.export import (
    COLUMNS,
    encode_contrasts,
    export_csv,
    export_json,
    guard,
    plain,
)
from benchspec.reports.wording.reasons import write_no_value
from tests.reports.hostile_run import make_hostile_analysis, make_hostile_run
from tests.reports.sample_run import make_analysis, make_run

RUN = make_run()
ANALYSIS = make_analysis(RUN)
DOCUMENT = json.loads(export_json(RUN, ANALYSIS))


def test_every_number_of_the_analysis_is_in_the_json() -> None:
    assert len(DOCUMENT["cells"]) == len(ANALYSIS.cells)
    for row, cell in zip(DOCUMENT["cells"], ANALYSIS.cells, strict=True):
        assert row["series"] == cell.series
        why = None if cell.not_measured is None else write_no_value(cell.not_measured)
        assert row["not_measured"] == why
        if cell.summary:
            assert row["summary"]["values"] == pytest.approx(cell.summary.values, rel=1e-9)
    for row, contrast in zip(DOCUMENT["contrasts"], ANALYSIS.contrasts, strict=True):
        assert row["ratio"] == (
            None if contrast.ratio is None else pytest.approx(contrast.ratio, rel=1e-9)
        )
        assert row["checks"].keys() == contrast.checks.keys()


def test_a_percent_in_the_json_has_its_verdict_beside_it() -> None:
    for row in DOCUMENT["contrasts"]:
        assert row["words"]
        assert (row["sentence"] is not None) == row["primary"]
        if row["verdict"] and row["verdict"]["void"]:
            assert row["percent"] is None
            assert row["words"].startswith("void")
    assert {row["words"].split(",")[0] for row in DOCUMENT["contrasts"]} >= {
        "lower (worse)",
        "void: limit-bound",
        "descriptive",
    }


def test_reasons_are_exported_in_words() -> None:
    voids = [row["verdict"] for row in DOCUMENT["contrasts"] if row["words"] == "void: too few"]
    assert voids
    for verdict in voids:
        assert verdict == {
            "void": "too few",
            "reason": "found 4 pairs of sessions, expected at least 5",
            "because": {"kind": "FewSessions", "found": 4, "least": 5, "paired": True},
            "settled": False,
            "difference": None,
            "margin": None,
        }


def test_comparisons_alone_leave_out_what_is_absent() -> None:
    rows = encode_contrasts(ANALYSIS.contrasts)
    assert json.loads(json.dumps(rows)) == rows
    verdicts = [row["verdict"] for row in rows]
    assert None in verdicts, "descriptive series"
    assert {tuple(verdict) for verdict in verdicts if isinstance(verdict, dict)} == {
        ("void", "reason", "because", "settled"),
        ("settled", "difference", "margin"),
    }


def test_absent_is_null_and_never_zero() -> None:
    skipped = [cell for cell in DOCUMENT["cells"] if cell["not_measured"]]
    assert skipped
    assert all(cell["summary"] is None for cell in skipped)


def test_the_csv_has_one_row_per_measurement_and_one_per_failed_trial() -> None:
    text = export_csv(RUN).decode()
    assert text.count("\r\n") == text.count("\n")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == sum(max(1, len(trial.measurements)) for trial in RUN.trials)
    expected = [(t.sequence, m.metric, m.value, m.unit) for t in RUN.trials for m in t.measurements]
    found = [
        (int(r["trial"]), r["metric"], float(r["value"]), r["unit"]) for r in rows if r["metric"]
    ]
    assert found == expected
    failed = [r for r in rows if r["status"] == "failed"]
    assert [(r["trial"], r["value"]) for r in failed] == [("218", "")]
    labelled = next(r for r in rows if r["labels"])
    assert labelled["labels"] == "job=read_iops"
    assert {r["kind"] for r in rows} == {"warmup", "measured"}


def test_a_value_that_is_not_a_number_leaves_an_empty_field() -> None:
    trial = RUN.trials[0]
    broken = replace(
        RUN,
        trials=(replace(trial, measurements=(replace(trial.measurements[0], value=math.nan),)),),
    )
    assert next(csv.DictReader(io.StringIO(export_csv(broken).decode())))["value"] == ""


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_spreadsheet_is_not_given_a_formula(text: str) -> None:
    assert guard(text) == f"'{text}"
    assert guard("net.mtu") == "net.mtu"


def test_hostile_text_round_trips_through_json_and_csv() -> None:
    run = make_hostile_run()
    document = json.loads(export_json(run, make_hostile_analysis(run)))
    messages = [finding["message"] for finding in document["findings"]]
    assert messages[: len(run.findings)] == [finding.message for finding in run.findings]
    assert len(messages) > len(run.findings), "what the analysis found is exported too"
    hostile = replace(
        run, experiments=tuple(replace(e, target='=HYPERLINK("x"),\n"y"') for e in run.experiments)
    )
    rows = list(csv.DictReader(io.StringIO(export_csv(hostile).decode(), newline="")))
    assert {r["target"] for r in rows} == {'\'=HYPERLINK("x"),\n"y"'}


def test_values_become_plain() -> None:
    class Level(IntEnum):
        ONE = 1

    assert plain({"a": (1, 2.5, True, None, math.inf, "x", Level.ONE)}) == {
        "a": [1, 2.5, True, None, None, "x", "1"]
    }
    assert plain(0.1 + 0.2) == 0.3
    assert plain(frozenset({1})) == [1]


def test_a_trial_of_an_unknown_experiment_is_kept() -> None:
    stray = replace(RUN, experiments=())
    rows = list(csv.DictReader(io.StringIO(export_csv(stray).decode())))
    assert rows[0]["cell"] == RUN.trials[0].experiment_id
