"""The tables of the index. Their names carry the format: another version makes others beside them,
and loads the run directories again.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
)

FORMAT = "benchspec1"
METADATA = MetaData()


def _run_id() -> Column[str]:
    runs = f"{FORMAT}_runs.run_id"
    return Column("run_id", Text, ForeignKey(runs, ondelete="CASCADE"), primary_key=True)


RUNS = Table(
    f"{FORMAT}_runs",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("path", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("benchspec", Text, nullable=False),
    Column("spec_sha256", Text, nullable=False),
    Column("measured_at", Double, nullable=False),
    Column("complete", Boolean, nullable=False),
    Column("imported", Boolean, nullable=False),
    Column("trials", Integer, nullable=False),
    Column("valid", Integer, nullable=False),
    Column("verdicts", Integer, nullable=False),
    Column("settled", Integer, nullable=False),
    Index(f"{FORMAT}_runs_by_name", "name", "measured_at"),
)
SERIES = Table(
    f"{FORMAT}_series",
    METADATA,
    _run_id(),
    Column("experiment_id", Text, primary_key=True),
    Column("series", Text, primary_key=True),
    Column("target", Text, nullable=False),
    Column("cell", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("better", Text, nullable=False),
    Column("statistic", Text, nullable=False),
    Column("is_primary", Boolean, nullable=False),
    Column("sessions", Integer, nullable=False),
    Column("centre", Double, nullable=False),
    Column("low", Double),
    Column("high", Double),
)
COMPARISONS = Table(
    f"{FORMAT}_comparisons",
    METADATA,
    _run_id(),
    Column("place", Integer, primary_key=True),
    Column("cell", Text, nullable=False),
    Column("series", Text, nullable=False),
    Column("baseline", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("is_primary", Boolean, nullable=False),
    Column("ratio", Double),
    Column("low", Double),
    Column("high", Double),
    Column("void", Text),
    Column("difference", Text),
    Column("margin", Text),
)
