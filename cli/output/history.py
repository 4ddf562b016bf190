"""Runs over time, in the terminal."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .answer import print_answer
from .tables import print_table
from .terminal import echo, print_wrapped

if TYPE_CHECKING:
    from ...api.one_run import Shown
    from ...api.past_runs import History, RunList
    from ...engine.history.lines import Line, Point
    from ...reports.wording.numbers import Scale


def show_list(found: RunList) -> None:
    """Print a row for each run."""
    if not found.runs:
        echo("The index has no such run; `benchspec index runs` loads those of the folder runs.")
        return
    print_table(
        ("run", "measured (UTC)", "trials", "verdicts", "state", "directory"),
        [
            (
                one.run.run_id,
                _moment(one.run.measured_at),
                f"{one.run.valid} of {one.run.trials} valid",
                f"{one.run.settled} of {one.run.verdicts}" if one.run.verdicts else "",
                one.state,
                one.run.path,
            )
            for one in found.runs
        ],
    )


def show_run(shown: Shown) -> None:
    """Print one run."""
    trials = ", ".join(f"{count} {status}" for status, count in sorted(shown.trials.items()))
    findings = ", ".join(f"{code} ({count})" for code, count in shown.findings.items())
    again = f", resumed {shown.resumed} times" if shown.resumed else ""
    for name, said in (
        ("run", shown.run_id),
        ("directory", str(shown.directory)),
        ("made", f"{shown.created_at} by benchspec {shown.benchspec}"),
        ("state", ("complete" if shown.complete else "cut short") + again),
        ("trials", trials or "none"),
        ("findings", findings or "none"),
    ):
        print_wrapped(said, first=f"{name:<11}", rest=" " * 11)
    echo()
    print_answer(shown.answer)


def show_history(found: History) -> None:
    """Print a table for each line, then what changed and nobody acknowledged."""
    from ...reports.wording.numbers import scale_column

    for line in found.found.lines:
        scale = scale_column([point.row.centre for point in line.points], line.unit)
        unit = f" ({scale.unit})" if scale.unit else ""
        echo(f"{line.target}, {line.cell}, {line.series}{unit}", bold=True)
        print_table(
            ("measured (UTC)", "run", "value", "95 % interval", "expected", ""),
            [_row(point, scale) for point in line.points],
            styles=[("",) * 5 + ("red" if p.mark.alarming else "",) for p in line.points],
        )
        echo(_better(line))
        echo()
    for ack in found.found.expired:
        echo(f"acks.yaml: {ack.run} ({ack.reason}) counted until {ack.until}")
    for ack in found.found.unused:
        echo(f"acks.yaml: {ack.run} ({ack.reason}) is no run that the index has")
    changed = len(found.alarming)
    echo(f"{changed} results began a new level or were not expected" if changed else "No change.")


def _row(point: Point, scale: Scale) -> tuple[str, ...]:
    row, mark = point.row, point.mark
    interval, decimals = "", None
    if row.low is not None and row.high is not None:
        interval, decimals = scale.interval(row.centre, row.low, row.high)
    expected = "" if mark.expected is None else scale.interval(row.centre, *mark.expected)[0]
    return (
        _moment(point.run.measured_at),
        point.run.run_id,
        scale.write(row.centre, decimals),
        interval,
        expected,
        "; ".join(_remarks(point, scale)),
    )


def _remarks(point: Point, scale: Scale) -> list[str]:
    from ...reports.wording.numbers import Percent

    mark, said = point.mark, []
    if mark.change is not None:
        size = (
            Percent.of(mark.change, None, None).signed()
            if mark.is_ratio
            else scale.quantity(mark.change)
        )
        said.append(f"new level: {size}")
    if mark.acknowledged is not None:
        said.append(f"known: {mark.acknowledged}")
    if mark.outside:
        said.append("not expected")
    if not point.run.complete:
        said.append("cut short")
    return said


def _better(line: Line) -> str:
    return "" if line.better == "neither" else f"{line.better} is better"


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds)) if seconds else "not known"
