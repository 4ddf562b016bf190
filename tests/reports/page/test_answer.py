"""The answer: the rows and sentences of a run in one screen."""

from __future__ import annotations

import pytest

from benchspec.engine.model.codec import decode, encode
from benchspec.reports.page.answer import Answer, make_answer
from benchspec.reports.page.view import build_view
from tests.reports.sample_run import make_analysis, make_run

RUN = make_run()
ANALYSIS = make_analysis(RUN)
VIEW = build_view(RUN, ANALYSIS)


@pytest.fixture(scope="module")
def answer() -> Answer:
    return make_answer(RUN, ANALYSIS, VIEW)


def test_every_target_of_every_cell_has_a_row(answer: Answer) -> None:
    cells = [cell for workload in VIEW.workloads for cell in workload.cells]
    rows = {(row.cell, row.target) for row in answer.rows}
    assert {(cell.title, row.target) for cell in cells for row in cell.rows} <= rows
    assert answer.sentences == tuple(map(str, VIEW.summary))


def test_no_difference_stands_without_its_verdict(answer: Answer) -> None:
    judged = [row for row in answer.rows if row.baseline]
    assert len(judged) == sum(contrast.primary for contrast in ANALYSIS.contrasts)
    assert {row.tone for row in judged} >= {"neutral", "worse", "void"}
    assert all(row.verdict and row.tone for row in judged)
    assert all(row.verdict.startswith("void: ") for row in judged if not row.difference)
    assert not any(row.difference or row.verdict for row in answer.rows if not row.baseline)


def test_it_travels_as_json(answer: Answer) -> None:
    assert decode(Answer, encode(answer)) == answer
