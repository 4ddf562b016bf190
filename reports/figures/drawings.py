"""Which figures a page gets, and what each is drawn from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...engine.analysis.model import Cell, Contrast, Saturation
from ..wording.numbers import Scale, scale_column
from ..wording.reasons import write_no_value
from ..wording.values import title_of
from ..wording.verdict_words import short_words, shown_percent, tone_of
from .curves import Swept, draw_distribution, draw_sessions, draw_sweep
from .figures import Figure, Group, Plotted, Reference
from .ratios import RatioRow, draw_ratios
from .rows import draw_bars, draw_boxes


def draw_workload(
    anchor: str,
    title: str,
    kinds: Sequence[str],
    cells: Sequence[Cell],
    contrasts: Sequence[Contrast],
    titles: Mapping[str, str],
    margin: float | None,
) -> tuple[Figure, ...]:
    """Figures over all cells of a workload: bars per metric (when asked for, or when nothing is
    compared) and the ratios.
    """
    figures: list[Figure] = []
    if cells and ("bar" in kinds or not contrasts):
        figures += _bars(anchor, title, cells, titles)
    if "interval" in kinds and margin is not None and any(shown_percent(c) for c in contrasts):
        figures += _ratios(anchor, title, contrasts, titles, margin)
    return tuple(figures)


def draw_cell(
    anchor: str,
    name: str,
    kinds: Sequence[str],
    cells: Sequence[Cell],
    titles: Mapping[str, str],
    scale: Scale,
) -> tuple[Figure, ...]:
    """Figures of one cell's primary metric. Nothing is drawn when no target has a value."""
    if not any(cell.summary for cell in cells):
        return ()
    rows, reference = [_plotted(cell, titles) for cell in cells], _reference(cells)
    title = f"{title_of(cells[0].metric)}, {name}"
    figures = []
    if "box" in kinds:
        figures.append(draw_boxes(f"{anchor}-box", title, rows, scale, reference))
    if "series" in kinds:
        figures.append(draw_sessions(f"{anchor}-series", title, rows, scale, reference))
    if "ecdf" in kinds:
        figures.append(draw_distribution(f"{anchor}-ecdf", title, rows, scale))
    return tuple(figures)


def draw_sweeps(
    anchor: str,
    title: str,
    sweeps: Sequence[Saturation],
    cells: Mapping[str, Sequence[Cell]],
    titles: Mapping[str, str],
) -> Iterator[Figure]:
    """One figure per axis and point of the other axes: a line per target."""
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[Saturation]] = {}
    for sweep in sweeps:
        groups.setdefault((sweep.axis, sweep.others), []).append(sweep)
    for number, ((axis, others), members) in enumerate(groups.items(), start=1):
        measured = [_points(each, cells) for each in members]
        chosen = [cell for points in measured for _, cell in points]
        if chosen:
            lines = [
                _swept(each, points, titles) for each, points in zip(members, measured, strict=True)
            ]
            scale = scale_column(
                [cell.summary.centre for cell in chosen if cell.summary], chosen[0].metric.unit
            )
            name = f"{anchor}-sweep" if number == 1 else f"{anchor}-sweep-{number}"
            about = "".join(f", {other} {label}" for other, label in others)
            yield draw_sweep(
                name,
                f"{title}: {title_of(chosen[0].metric)}{about}",
                axis,
                lines,
                scale,
                _reference(chosen),
            )


def _swept(
    sweep: Saturation, points: Sequence[tuple[float, Cell]], titles: Mapping[str, str]
) -> Swept:
    order = list(titles)
    colour = order.index(sweep.target) if sweep.target in order else len(order)
    return Swept(
        titles.get(sweep.target, sweep.target),
        colour,
        tuple((x, cell.summary) for x, cell in points if cell.summary),
    )


def _points(sweep: Saturation, cells: Mapping[str, Sequence[Cell]]) -> list[tuple[float, Cell]]:
    """The points that were measured: position on the axis and cell."""
    found = [
        (
            float(p.label),
            next(
                (c for c in cells.get(p.cell, ()) if c.primary and c.target == sweep.target), None
            ),
        )
        for p in sweep.points
    ]
    return [(x, cell) for x, cell in found if cell is not None and cell.summary is not None]


def _bars(
    anchor: str, title: str, cells: Sequence[Cell], titles: Mapping[str, str]
) -> Iterator[Figure]:
    """One figure per metric and unit: cells are groups, targets are bars."""
    for number, (metric, unit) in enumerate(
        dict.fromkeys((cell.metric.name, cell.metric.unit) for cell in cells)
    ):
        chosen = [cell for cell in cells if (cell.metric.name, cell.metric.unit) == (metric, unit)]
        names = list(dict.fromkeys(cell.cell for cell in chosen))
        groups = [
            Group(
                label=name if len(names) > 1 else "",
                rows=tuple(_plotted(cell, titles) for cell in _in_order(chosen, name, titles)),
            )
            for name in names
        ]
        scale = scale_column([cell.summary.centre for cell in chosen if cell.summary], unit)
        figure_name = f"{anchor}-bar" if number == 0 else f"{anchor}-bar-{number + 1}"
        yield draw_bars(
            figure_name, f"{title}: {title_of(chosen[0].metric)}", groups, scale, _reference(chosen)
        )


def _in_order(cells: Sequence[Cell], name: str, titles: Mapping[str, str]) -> list[Cell]:
    order = list(titles)
    return sorted(
        (c for c in cells if c.cell == name),
        key=lambda c: order.index(c.target) if c.target in order else len(order),
    )


def _ratios(
    anchor: str, title: str, contrasts: Sequence[Contrast], titles: Mapping[str, str], margin: float
) -> Iterator[Figure]:
    """One figure per baseline: one for each environment."""
    for number, baseline in enumerate(dict.fromkeys(c.baseline for c in contrasts), start=1):
        chosen = [c for c in contrasts if c.baseline == baseline]
        targets, cells = {c.target for c in chosen}, {c.cell for c in chosen}
        rows = [
            RatioRow(
                label=_ratio_label(c, titles, len(targets), len(cells)),
                percent=shown_percent(c),
                words=short_words(c),
                tone=tone_of(c),
            )
            for c in chosen
        ]
        against = titles.get(baseline, baseline)
        who = (
            f"{titles.get(chosen[0].target, chosen[0].target)} against {against}"
            if len(targets) == 1
            else f"against {against}"
        )
        subtitle = f"{who}: percent difference of the primary metric with its interval"
        name = f"{anchor}-interval" if number == 1 else f"{anchor}-interval-{number}"
        yield draw_ratios(name, f"{title}: difference from {against}", subtitle, rows, margin)


def _ratio_label(contrast: Contrast, titles: Mapping[str, str], targets: int, cells: int) -> str:
    """What tells the rows apart: the point of the matrix, the target, or both."""
    point = contrast.cell.partition("[")[2].removesuffix("]") or contrast.cell
    target = titles.get(contrast.target, contrast.target)
    if targets == 1:
        return point
    return f"{target}, {point}" if cells > 1 else target


def _plotted(cell: Cell, titles: Mapping[str, str]) -> Plotted:
    order = list(titles)
    why = write_no_value(cell.not_measured) if cell.not_measured else "no value"
    return Plotted(
        label=titles.get(cell.target, cell.target),
        colour=order.index(cell.target) if cell.target in order else len(order),
        summary=cell.summary,
        absent="" if cell.summary else f"not measured ({why})",
    )


def _reference(cells: Sequence[Cell]) -> Reference | None:
    """The documented limit, when all limits of these cells are the same figure."""
    sustained = {check.limit.sustained for cell in cells for check in cell.limits}
    if len(sustained) != 1:
        return None
    value = sustained.pop()
    unit = next(cell.metric.unit for cell in cells if cell.limits)
    return Reference(
        value=value, label=f"documented limit {scale_column([value], unit).declared(value)}"
    )
