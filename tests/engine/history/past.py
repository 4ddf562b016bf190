"""Runs that never were, as rows of the index."""

from __future__ import annotations

from collections.abc import Sequence

from benchspec.engine.history.entry import ComparisonRow, Entry, RunRow, SeriesRow


def entry(
    number: int, values: Sequence[float] = (100.0,), *, name: str = "counted", path: str = ""
) -> Entry:
    """The rows of run ``number``, whose targets a, b, ... have ``values``."""
    run_id = f"{name}-{number:05d}"
    return Entry(
        run=RunRow(
            run_id=run_id,
            path=path or f"/runs/{run_id}",
            name=name,
            title=name.title(),
            benchspec="0.1.0",
            spec_sha256="0" * 64,
            measured_at=1.7e9 + 3600 * number,
            complete=True,
            imported=False,
            trials=20,
            valid=20,
            verdicts=1,
            settled=number % 2,
        ),
        series=tuple(_series(run_id, "abcd"[at], value) for at, value in enumerate(values)),
        comparisons=(
            ComparisonRow(
                run_id=run_id,
                place=0,
                cell="count",
                series="rate",
                baseline="a",
                target="b",
                is_primary=True,
                ratio=1.5,
                low=1.25,
                high=None,
                void=None,
                difference="higher",
                margin="outside",
            ),
        ),
    )


def _series(run_id: str, target: str, value: float) -> SeriesRow:
    return SeriesRow(
        run_id=run_id,
        experiment_id=target * 64,
        target=target,
        cell="count",
        series="rate",
        unit="1/s",
        better="higher",
        statistic="geometric mean",
        is_primary=True,
        sessions=10,
        centre=value,
        low=value * 0.99,
        high=value * 1.01,
    )
