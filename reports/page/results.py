"""The results section: per workload and cell the primary metric's table, its comparisons, and the
descriptive series.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...engine.analysis.model import Analysis, Cell, Contrast, LimitState, Summary
from ...engine.model.results import Direction, Metric, RunData
from ...engine.model.spec import Experiment, Placement, Price, WorkloadSpec
from ...engine.planning.baselines import environments
from ..figures.drawings import draw_cell, draw_sweeps, draw_workload
from ..wording.numbers import ABSENT, Scale, plain_decimals, scale_column, write_share
from ..wording.reasons import write_no_value
from ..wording.sentences import name_sides, per_trial, write_shift, write_test
from ..wording.values import make_slugs, title_of
from ..wording.verdict_words import shown_percent, tone_of, verdict_words
from .model import CellView, Comparison, DescriptiveRow, Item, ResultRow, WorkloadView
from .settings import UsedSettings, list_settings, write_compared
from .sweeps import describe_sweep
from .trials import Tally, refer

BETTER = {
    Direction.HIGHER: "higher is better",
    Direction.LOWER: "lower is better",
    Direction.NEITHER: "",
}
PRICED = {"B/s", "bit/s", "1/s"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What every part of the results section needs: the run, its analysis by cell, target titles in
    page order, anchors, tallies.
    """

    run: RunData
    analysis: Analysis
    titles: Mapping[str, str]
    anchors: Mapping[str, str]
    tallies: Mapping[str, Tally]
    cells: Mapping[str, Sequence[Cell]]
    contrasts: Mapping[str, Sequence[Contrast]]
    experiments: Mapping[tuple[str, str], str]
    settings: UsedSettings

    def title(self, target: str) -> str:
        """A target's title; its name when it is not in the spec."""
        return self.titles.get(target, target)

    def price(self, target: str) -> Price | None:
        """A target's declared price."""
        return next((t.price for t in self.run.spec.targets if t.name == target), None)


def make_context(run: RunData, analysis: Analysis, tallies: Mapping[str, Tally]) -> Context:
    """Group the analysis by cell once; targets come by environment, in each the baseline first."""
    ordered = [
        run.spec.target(name)
        for each in environments(run.spec)
        for name in sorted(each.targets, key=lambda name: name != each.baseline)
    ]
    cells: dict[str, list[Cell]] = {}
    contrasts: dict[str, list[Contrast]] = {}
    for cell in analysis.cells:
        cells.setdefault(cell.cell, []).append(cell)
    for contrast in analysis.contrasts:
        contrasts.setdefault(contrast.cell, []).append(contrast)
    anchors = make_slugs(
        [
            *(w.name for w in run.spec.workloads),
            *dict.fromkeys(e.cell for e in run.experiments),
            *cells,
        ]
    )
    return Context(
        run=run,
        analysis=analysis,
        titles={t.name: t.title for t in ordered},
        anchors=anchors,
        tallies=tallies,
        cells=cells,
        contrasts=contrasts,
        experiments={(e.cell, e.target): e.id for e in run.experiments},
        settings=UsedSettings(run),
    )


def describe_workloads(context: Context) -> tuple[WorkloadView, ...]:
    """Every workload of the spec that has an experiment, in order."""
    grouped: dict[str, dict[str, list[Experiment]]] = {}
    for experiment in context.run.experiments:
        grouped.setdefault(experiment.workload, {}).setdefault(experiment.cell, []).append(
            experiment
        )
    return tuple(
        _workload(context, w, grouped[w.name])
        for w in context.run.spec.workloads
        if w.name in grouped
    )


def compare(context: Context, contrast: Contrast) -> Comparison:
    """One comparison in words; the percent never leaves without its verdict."""
    percent, words = shown_percent(contrast), verdict_words(contrast)
    if contrast.shift is not None and contrast.verdict is not None and not contrast.verdict.void:
        size, bounds = write_shift(contrast.metric, contrast.shift, signed=True)
        change = f"{size} ({bounds}): {words}"
    elif percent is None:
        change = words
    else:
        change = f"{percent.signed()} ({percent.signed_interval()}): {words}"
    sides = (
        (contrast.baseline_cell or contrast.cell, contrast.baseline),
        (contrast.cell, contrast.target),
    )
    experiments = [context.experiments[side] for side in sides]
    names = name_sides(contrast, context.titles)
    return Comparison(
        cell=contrast.cell,
        series=contrast.series,
        baseline=names.baseline,
        target=names.target,
        sentence=write_compared(context.settings, contrast, names, context.analysis.family),
        change=change,
        verdict=words,
        test=write_test(contrast),
        tone=tone_of(contrast),
        primary=contrast.primary,
        references=tuple(refer(e, context.tallies) for e in experiments),
    )


def _workload(
    context: Context, workload: WorkloadSpec, experiments: Mapping[str, Sequence[Experiment]]
) -> WorkloadView:
    names = list(experiments)
    cells = [_cell(context, name, experiments[name]) for name in names]
    primaries = [cell for name in names for cell in context.cells.get(name, ()) if cell.primary]
    contrasts = [
        c
        for name in names
        for c in context.contrasts.get(name, ())
        if c.primary and c.paths is None
    ]
    sweeps = [each for each in context.analysis.saturations if each.workload == workload.name]
    figures = draw_workload(
        context.anchors[workload.name],
        workload.title,
        context.run.spec.report.figures,
        primaries,
        contrasts,
        context.titles,
        context.analysis.equivalence,
    )
    return WorkloadView(
        name=workload.name,
        title=workload.title,
        anchor=context.anchors[workload.name],
        tool=_tool(context, workload),
        settings=_settings(context, workload),
        figures=(
            *figures,
            *draw_sweeps(
                context.anchors[workload.name],
                workload.title,
                sweeps,
                context.cells,
                context.titles,
            ),
        ),
        cells=tuple(cells),
        sweeps=tuple(
            describe_sweep(each, context.titles, context.analysis.confidence) for each in sweeps
        ),
    )


def _only_figures(context: Context, workload: WorkloadSpec) -> bool:
    """Whether the workload stands for figures that another program measured and that no run here
    could be of: its parameters only declare them.
    """
    return "imported" in context.run.manifest and workload.tool == "command"


def _tool(context: Context, workload: WorkloadSpec) -> str:
    imported = context.run.manifest.get("imported")
    if _only_figures(context, workload) and isinstance(imported, Mapping):
        return str(imported.get("from"))
    return workload.tool


def _settings(context: Context, workload: WorkloadSpec) -> tuple[Item, ...]:
    """What the spec says; of imported results no placement that nobody said."""
    if _only_figures(context, workload):
        return ()
    unsaid = "imported" in context.run.manifest and workload.placement is Placement.ANY
    rows = list_settings(context.run, workload.name)
    return tuple(row for row in rows if not (unsaid and row.name == "placement"))


def _cell(context: Context, name: str, experiments: Sequence[Experiment]) -> CellView:
    order = {target: index for index, target in enumerate(context.titles)}
    experiments = sorted(experiments, key=lambda e: order.get(e.target, len(order)))
    cells = context.cells.get(name, ())
    primary = {cell.target: cell for cell in cells if cell.primary}
    metric = next((cell.metric for cell in primary.values()), None)
    scale = _scale(list(primary.values()))
    prices = _prices(context, [e.target for e in experiments], metric)
    rows = tuple(_row(context, e, primary.get(e.target), scale, prices) for e in experiments)
    contrasts = context.contrasts.get(name, ())
    comparisons = tuple(compare(context, c) for c in contrasts if c.primary)
    others = [c for c in contrasts if not c.primary]
    return CellView(
        name=name,
        title=_cell_title(context, experiments[0]) or name,
        anchor=context.anchors[name],
        metric=f"{title_of(metric)}{per_trial(metric)}" if metric else "",
        statistic=metric.statistic.value if metric else "",
        unit=scale.unit,
        better=BETTER[metric.direction] if metric else "",
        targets=tuple(context.title(e.target) for e in experiments),
        rows=rows,
        comparisons=comparisons,
        compared=tuple(context.title(target) for target, _ in _sides(others)),
        against=tuple(context.title(baseline) for _, baseline in _sides(others)),
        descriptive=_descriptive(context, experiments, [c for c in cells if not c.primary], others),
        figures=draw_cell(
            context.anchors[name],
            name,
            context.run.spec.report.figures,
            [primary[e.target] for e in experiments if e.target in primary],
            context.titles,
            scale,
        ),
        has_limits=any(row.limits for row in rows),
        has_price=any(row.price for row in rows),
        has_notes=any(row.notes for row in rows),
    )


def _cell_title(context: Context, experiment: Experiment) -> str:
    """Workload and point: an experiment's title without the target, of which a cell has several."""
    return experiment.title.removesuffix(f" on {context.title(experiment.target)}")


def _scale(cells: Sequence[Cell]) -> Scale:
    values = [cell.summary.centre for cell in cells if cell.summary]
    return scale_column(values, cells[0].metric.unit if cells else "1")


def _row(
    context: Context,
    experiment: Experiment,
    cell: Cell | None,
    scale: Scale,
    prices: Mapping[str, Price],
) -> ResultRow:
    reference = refer(experiment.id, context.tallies)
    target = context.title(experiment.target)
    summary = cell.summary if cell else None
    trials = _trials(context.tallies.get(experiment.id, Tally()), summary)
    if cell is None or summary is None:
        reason = _absent(cell) or context.run.skipped.get(experiment.id) or "no trial gave a value"
        return ResultRow(
            target=target,
            sessions="0",
            trials=trials,
            centre="",
            interval="",
            median="",
            sd="",
            cov="",
            quartiles="",
            limits="",
            price="",
            notes="",
            reference=reference,
            absent=f"{ABSENT} ({reason})",
        )
    decimals = _decimals(summary, scale)
    return ResultRow(
        target=target,
        sessions=str(len(summary.values)),
        trials=trials,
        centre=scale.write(summary.centre, decimals),
        interval=_interval(summary, scale),
        median=scale.write(summary.median, decimals),
        sd=""
        if summary.sd is None
        else scale.write(summary.sd, decimals + 1 if decimals >= 0 else 0),
        cov="" if summary.cov is None else write_share(summary.cov),
        quartiles=f"{scale.write(summary.q1, decimals)} to {scale.write(summary.q3, decimals)}",
        limits=_limits(cell),
        price=_per_price(summary, cell.metric, prices.get(experiment.target)),
        notes="; ".join(summary.flags),
        reference=reference,
    )


def _trials(tally: Tally, summary: Summary | None) -> str:
    """``30 valid, 1 invalid``; kinds that did not occur are left out. Where valid trials lack the
    figure it says how many have it.
    """
    others = [f"{len(numbers)} {status}" for status, numbers in sorted(tally.others.items())]
    valid = f"{len(tally.valid)} valid"
    if summary is not None and summary.trials < len(tally.valid):
        valid += f" ({summary.trials} with this figure)"
    return ", ".join([valid, *others])


def _decimals(summary: Summary, scale: Scale) -> int:
    if summary.interval is None:
        return plain_decimals(scale.of(summary.centre))
    return scale.decimals(summary.centre, summary.interval.low, summary.interval.high)


def _interval(summary: Summary, scale: Scale) -> str:
    return (
        ""
        if summary.interval is None
        else scale.interval(summary.centre, summary.interval.low, summary.interval.high)[0]
    )


def _limits(cell: Cell) -> str:
    parts = []
    for check in cell.limits:
        state = "" if check.state is LimitState.FREE else f" ({check.state})"
        attainable = (
            f", {write_share(check.share_of_attainable)} of attainable"
            if check.efficiency != 1
            else ""
        )
        on = f" of the {check.limit.applies_to}" if check.limit.applies_to else ""
        name = f" {check.limit.metric}{on}" if len(cell.limits) > 1 else ""
        parts.append(
            f"{write_share(check.share_of_documented)} of documented{name}{attainable}{state}"
        )
    return "; ".join(parts)


def _prices(context: Context, targets: Sequence[str], metric: Metric | None) -> Mapping[str, Price]:
    """Prices for the column of performance per price: only when every target has one, all in one
    currency, and the metric is a rate.
    """
    prices = {
        target: price
        for target in targets
        if (price := context.price(target)) is not None and price.per_hour > 0
    }
    whole = len(prices) == len(targets) and len({p.currency for p in prices.values()}) == 1
    return (
        prices
        if whole
        and metric is not None
        and metric.unit in PRICED
        and metric.direction is Direction.HIGHER
        else {}
    )


def _per_price(summary: Summary, metric: Metric, price: Price | None) -> str:
    """How much one unit of currency buys: rate x 3600 s / price per hour, and its interval by the
    same factor.
    """
    if price is None:
        return ""
    factor = 3600 / price.per_hour
    scale = (
        scale_column([summary.centre * factor], metric.unit)
        if metric.unit != "1/s"
        else Scale(factor=1e6, unit="million/s")
    )
    unit = f"{scale.unit.removesuffix('/s')} per {price.currency}"
    if summary.interval is None:
        return f"{scale.write(summary.centre * factor)} {unit}"
    bounds, decimals = scale.interval(
        summary.centre * factor, summary.interval.low * factor, summary.interval.high * factor
    )
    return f"{scale.write(summary.centre * factor, decimals)} ({bounds}) {unit}"


def _descriptive(
    context: Context,
    experiments: Sequence[Experiment],
    cells: Sequence[Cell],
    contrasts: Sequence[Contrast],
) -> tuple[DescriptiveRow, ...]:
    """Further series, one row each with its own unit, in the order of the analysis."""
    rows = []
    for series in dict.fromkeys(cell.series for cell in cells):
        of_series = {cell.target: cell for cell in cells if cell.series == series}
        scale = _scale(
            [cell for cell in of_series.values() if cell.summary] or list(of_series.values())
        )
        ratios = {c.target: c for c in contrasts if c.series == series}
        rows.append(
            DescriptiveRow(
                series=series,
                title=title_of(next(iter(of_series.values())).metric),
                unit=scale.unit,
                values=tuple(_value(of_series.get(e.target), scale) for e in experiments),
                changes=tuple(_change(ratios.get(target)) for target, _ in _sides(contrasts)),
            )
        )
    return tuple(rows)


def _sides(contrasts: Sequence[Contrast]) -> Sequence[tuple[str, str]]:
    """Who is compared with whom: target and baseline, each once."""
    return tuple(dict.fromkeys((c.target, c.baseline) for c in contrasts))


def _absent(cell: Cell | None) -> str:
    """Why there is no value; empty where nothing is known about it."""
    return "" if cell is None or cell.not_measured is None else write_no_value(cell.not_measured)


def _value(cell: Cell | None, scale: Scale) -> str:
    if cell is None or cell.summary is None:
        why = _absent(cell)
        return f"{ABSENT} ({why})" if why else ABSENT
    summary = cell.summary
    bounds = _interval(summary, scale)
    return scale.write(summary.centre, _decimals(summary, scale)) + (
        f" ({bounds})" if bounds else ""
    )


def _change(contrast: Contrast | None) -> str:
    """A descriptive difference as an interval alone: without a verdict no single percent is
    shown.
    """
    percent = shown_percent(contrast) if contrast else None
    return "" if percent is None else percent.signed_interval()
