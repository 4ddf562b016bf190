"""The layout of the results: workload by workload its figures, sweeps and cells."""

from __future__ import annotations

from collections.abc import Iterator

from .blocks import (
    Align,
    Block,
    Bullet,
    Bullets,
    Cell,
    Code,
    Column,
    Drawing,
    Fold,
    Heading,
    Link,
    Manner,
    Paragraph,
    PerFormat,
    Row,
    Section,
    Span,
    Table,
    Text,
    Words,
    columns,
    joined,
    row,
)
from .model import (
    CellView,
    Comparison,
    DescriptiveRow,
    Reference,
    ResultRow,
    SweepView,
    View,
    WorkloadView,
)


def lay_out_results(view: View) -> Section:
    """The section of the results."""
    return (
        Heading(level=2, text=(Words("Results"),)),
        *(block for workload in view.workloads for block in _workload(view, workload)),
    )


def _workload(view: View, workload: WorkloadView) -> Iterator[Block]:
    anchor = workload.anchor if workload.sweeps else ""
    yield Heading(level=3, text=(workload.title,), anchor=anchor)
    yield Paragraph(text=tuple(_settings(workload)), manner=Manner.MUTED)
    yield from (Drawing(figure=figure) for figure in workload.figures)
    for sweep in workload.sweeps:
        yield Paragraph(text=(sweep.sentence,))
        yield _sweep(sweep)
    for cell in workload.cells:
        yield from _cell(view, cell)


def _settings(workload: WorkloadView) -> Iterator[Span]:
    yield from (Words("Tool: "), Code(workload.tool), Words("."))
    if workload.settings:
        yield Words(" Settings: ")
        texts = ((Code(each.name), Words(" "), each.text) for each in workload.settings)
        yield from joined(tuple(texts), ", ")
        yield Words(".")


def _sweep(sweep: SweepView) -> Block:
    others: Text = (Words(", "), sweep.others) if sweep.others else ()
    bounds = ("A later point adds at least", "and at most")
    return Table(
        columns=(
            Column(title=(sweep.target, *others)),
            Column(title=(sweep.metric, *_in_unit(sweep.unit)), align=Align.NUMBER),
            *columns(*bounds, align=Align.NUMBER, optional=True),
            Column(title=(Words("Gain of "), sweep.gain)),
        ),
        rows=tuple(
            row(each.point, each.centre, each.least, each.most, each.state) for each in sweep.rows
        ),
    )


def _cell(view: View, cell: CellView) -> Iterator[Block]:
    yield Heading(level=4, text=(cell.name,), anchor=cell.anchor)
    if cell.metric:
        yield Paragraph(text=_metric(cell), manner=Manner.MUTED)
    yield Table(
        columns=_result_columns(view, cell),
        rows=tuple(_result(view, cell, each) for each in cell.rows),
    )
    if cell.comparisons:
        yield _comparisons(view, cell.comparisons)
    yield _notes([each for each in cell.rows if each.notes])
    yield from (Drawing(figure=figure) for figure in cell.figures)
    if cell.descriptive:
        yield _descriptive(cell)


def _metric(cell: CellView) -> Text:
    unit: Text = (Words(", in "), cell.unit) if cell.unit else ()
    better: Text = (Words("; "), cell.better) if cell.better else ()
    of = Words(" of session values")
    return (cell.metric, Words(", "), cell.statistic, of, *unit, *better, Words("."))


def _head(cell: CellView) -> Span:
    """Which mean the column is."""
    return cell.statistic.capitalize() if cell.statistic else Words("Mean")


def _in_unit(unit: str) -> Text:
    return (Words(" ("), unit, Words(")")) if unit else ()


def _result_columns(view: View, cell: CellView) -> tuple[Column, ...]:
    interval: Text = (view.confidence, Words(" interval"))
    more = (*["Limit"] * cell.has_limits, *["Per price"] * cell.has_price)
    return (
        *columns("Target"),
        *columns("Sessions", align=Align.NUMBER),
        *columns("Trials"),
        Column(title=(_head(cell), *_in_unit(cell.unit)), align=Align.NUMBER),
        Column(title=interval, align=Align.NUMBER, optional=True),
        *columns("Median", "Quartiles", align=Align.NUMBER),
        *columns("SD", "CoV", align=Align.NUMBER, optional=True),
        *columns(*more, align=Align.WIDE, optional=True),
    )


def _result(view: View, cell: CellView, each: ResultRow) -> Row:
    trials = Link(text=(each.trials,), anchor=each.reference.anchor)
    return row(
        each.target,
        each.sessions,
        (trials,),
        *_figures_of(view, each),
        *[each.limits] * cell.has_limits,
        *[each.price] * cell.has_price,
    )


def _figures_of(view: View, each: ResultRow) -> tuple[str | Cell, ...]:
    """From the mean to the CoV, or why there is nothing."""
    if each.absent:
        return (Cell(text=(each.absent,), columns=6),)
    centre = Cell(text=(each.centre,), hint=_trials_of(view, each.reference))
    return (centre, each.interval, each.median, each.quartiles, each.sd, each.cov)


def _trials_of(view: View, reference: Reference) -> Text:
    return (Words("trials "), reference.trials, Words(" of "), view.run_id)


def _comparisons(view: View, comparisons: tuple[Comparison, ...]) -> Block:
    return Table(
        columns=(
            *columns("Comparison", "Difference: verdict"),
            *columns("Test", optional=True),
            *columns("Trials"),
        ),
        rows=tuple(
            row(
                _against(each.target, each.baseline),
                each.change,
                each.test,
                _references(view, each),
            )
            for each in comparisons
        ),
    )


def _against(target: str, baseline: str) -> Text:
    return (target, Words(" against "), baseline)


def _references(view: View, comparison: Comparison) -> Text:
    links = (
        Link(text=(str(each.count),), anchor=each.anchor, hint=_trials_of(view, each))
        for each in comparison.references
    )
    return joined(tuple((link,) for link in links), " and ")


def _notes(rows: list[ResultRow]) -> Block:
    texts: list[Text] = [(each.target, Words(": "), each.notes) for each in rows]
    return PerFormat(
        markdown=(Bullets(items=tuple(Bullet(text=text) for text in texts)),),
        html=tuple(Paragraph(text=text, manner=Manner.MUTED) for text in texts),
    )


def _descriptive(cell: CellView) -> Block:
    count = len(cell.descriptive)
    changes = "; change as an interval only" if cell.compared else ""
    return Fold(
        title=(Words(f"{count} further series, described without a verdict"),),
        lead=(
            Words(
                "Further measurements, described without a verdict (mean of sessions with its"
                f" interval{changes}):"
            ),
        ),
        blocks=(
            Table(
                columns=_descriptive_columns(cell),
                rows=tuple(_series(each) for each in cell.descriptive),
            ),
        ),
    )


def _descriptive_columns(cell: CellView) -> tuple[Column, ...]:
    pairs = zip(cell.compared, cell.against, strict=True)
    return (
        *columns("Series"),
        *columns("Unit", optional=True),
        *(Column(title=(target,), align=Align.NUMBER) for target in cell.targets),
        *(Column(title=_against(*pair), align=Align.NUMBER, optional=True) for pair in pairs),
    )


def _series(each: DescriptiveRow) -> Row:
    return row((Code(each.series),), each.unit, *each.values, *each.changes)
