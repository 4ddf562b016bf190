"""The answer of a run in one screen: a row for each target of each workload and point, and the
sentences of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...engine.analysis.model import Analysis, Contrast
from ...engine.model.results import RunData
from ..wording.sentences import name_sides
from ..wording.verdict_words import short_words, shown_percent, tone_of
from .model import CellView, ResultRow, View


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRow:
    """What was found of one target: ``value`` is a number with its interval in ``unit``, or why
    there is none; ``difference`` is against ``baseline``, and empty where no percent may be shown.

    ``verdict`` and ``tone`` are empty where nothing is compared.
    """

    cell: str
    metric: str
    target: str
    unit: str
    value: str
    baseline: str = ""
    difference: str = ""
    verdict: str = ""
    tone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The rows in the order of the page, and the sentences of its summary."""

    title: str
    rows: tuple[AnswerRow, ...]
    sentences: tuple[str, ...]


def make_answer(run: RunData, analysis: Analysis, view: View) -> Answer:
    """The answer of ``run``; its words and its rounding are those of the page that ``view`` is."""
    titles = {target.name: target.title for target in run.spec.targets}
    compared: dict[str, list[tuple[str, str, Contrast]]] = {}
    for contrast in analysis.contrasts:
        if contrast.primary:
            names = name_sides(contrast, titles)
            compared.setdefault(contrast.cell, []).append((names.target, names.baseline, contrast))
    return Answer(
        title=view.title,
        rows=tuple(
            row
            for workload in view.workloads
            for cell in workload.cells
            for row in _rows(cell, compared.get(cell.name, []))
        ),
        sentences=tuple(map(str, view.summary)),
    )


def _rows(cell: CellView, compared: list[tuple[str, str, Contrast]]) -> Iterator[AnswerRow]:
    """A row for each target, and one more for each comparison that is not of a target as a
    whole.
    """
    known = {row.target for row in cell.rows}
    head = AnswerRow(cell=cell.title, metric=cell.metric, unit=cell.unit, target="", value="")
    for row in cell.rows:
        plain = replace(head, target=row.target, value=_value(row))
        own = [_judged(plain, base, one) for target, base, one in compared if target == row.target]
        yield from own or [plain]
    for target, base, contrast in compared:
        if target not in known:
            yield _judged(replace(head, target=target), base, contrast)


def _judged(row: AnswerRow, baseline: str, contrast: Contrast) -> AnswerRow:
    percent = shown_percent(contrast)
    return replace(
        row,
        baseline=baseline,
        difference="" if percent is None else percent.signed(),
        verdict=short_words(contrast),
        tone=tone_of(contrast).value,
    )


def _value(row: ResultRow) -> str:
    if row.absent:
        return " ".join(row.absent.split())
    bounds = f" ({row.interval})" if row.interval else ""
    return f"{row.centre}{bounds}"
