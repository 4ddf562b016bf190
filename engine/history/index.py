"""The index of runs: SQLite in the user's state directory, or the PostgreSQL that BENCHSPEC_STORE
names. Run directories are the truth; what is here can be thrown away and made again.

Several processes write at once: a run's rows are written in one transaction, whose first statement
writes (a transaction that reads before it writes would be refused by SQLite instead of waiting).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from importlib import import_module
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, delete, event, insert, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateIndex, CreateTable

from ..model.errors import StorageError, UsageError
from ..store.own_runs import state_folder
from .entry import ComparisonRow, Entry, RunRow, SeriesRow
from .tables import COMPARISONS, METADATA, RUNS, SERIES

VARIABLE = "BENCHSPEC_STORE"
_PATIENCE_S = 30
_CONNECT_S = 5
_LOCK = 0x62656E63  # any number that is always the same: who makes the tables


def store_url() -> str:
    """Where the index is: what BENCHSPEC_STORE says, or index.sqlite in the user's state
    directory.
    """
    return os.environ.get(VARIABLE) or f"sqlite:///{state_folder() / 'index.sqlite'}"


class RunIndex:
    """An index that can be read and written.

    Every method raises StorageError when the store cannot be reached or used.
    """

    def __init__(self, url: str | None = None) -> None:
        """Open the index at ``url``, and make its tables if they are not there.

        Raises:
            UsageError: ``url`` is none of SQLite or PostgreSQL, or psycopg is not installed.
            StorageError: the store cannot be reached.
        """
        given = store_url() if url is None else url
        self._engine, self.place = _connect(given)
        with self._begin() as connection:
            _make_tables(connection)

    def put(self, entry: Entry) -> None:
        """Put the rows of a run in place of those that are there."""
        with self._begin() as connection:
            self._put(connection, entry)

    def put_all(self, entries: Iterable[Entry], *, alone: bool = False) -> int:
        """Put the rows of several runs, all or none; ``alone``: all other rows go. Return how many
        runs they were.
        """
        count = 0
        with self._begin() as connection:
            if alone:
                for table in (COMPARISONS, SERIES, RUNS):
                    connection.execute(delete(table))
            for entry in entries:
                self._put(connection, entry)
                count += 1
        return count

    def remove(self, run_id: str) -> None:
        """Forget a run."""
        with self._begin() as connection:
            for table in (COMPARISONS, SERIES, RUNS):
                connection.execute(delete(table).where(table.c.run_id == run_id))

    def runs(self, name: str | None = None) -> list[RunRow]:
        """All runs, or those of the spec ``name``, in the order of time."""
        query = select(RUNS).order_by(RUNS.c.measured_at, RUNS.c.run_id)
        if name is not None:
            query = query.where(RUNS.c.name == name)
        with self._begin() as connection:
            return [RunRow(**row) for row in connection.execute(query).mappings()]

    def series(self, name: str, *, everything: bool = False) -> list[SeriesRow]:
        """The series of all runs of the spec ``name``, in the order of time: primary ones, or
        ``everything``.
        """
        query = (
            select(SERIES)
            .join(RUNS, RUNS.c.run_id == SERIES.c.run_id)
            .where(RUNS.c.name == name)
            .order_by(RUNS.c.measured_at, RUNS.c.run_id, SERIES.c.experiment_id, SERIES.c.series)
        )
        if not everything:
            query = query.where(SERIES.c.is_primary)
        names = [field.name for field in fields(SeriesRow)]
        with self._begin() as connection:
            found = connection.execute(query.with_only_columns(*(SERIES.c[one] for one in names)))
            return [SeriesRow(**dict(zip(names, row, strict=True))) for row in found]

    def comparisons(self, run_id: str) -> list[ComparisonRow]:
        """The comparisons of a run, in the order of its analysis."""
        query = select(COMPARISONS).where(COMPARISONS.c.run_id == run_id)
        with self._begin() as connection:
            found = connection.execute(query.order_by(COMPARISONS.c.place)).mappings()
            return [ComparisonRow(**row) for row in found]

    def _put(self, connection: Connection, entry: Entry) -> None:
        row = asdict(entry.run)
        upsert: Any = _insert(connection.dialect.name)(RUNS).values(row)
        connection.execute(upsert.on_conflict_do_update(index_elements=["run_id"], set_=row))
        rows: Sequence[tuple[Any, Sequence[SeriesRow] | Sequence[ComparisonRow]]] = (
            (SERIES, entry.series),
            (COMPARISONS, entry.comparisons),
        )
        for table, own in rows:
            connection.execute(delete(table).where(table.c.run_id == entry.run.run_id))
            if own:
                connection.execute(insert(table), [asdict(one) for one in own])

    @contextmanager
    def _begin(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except (SQLAlchemyError, UnicodeError) as error:
            raise _unusable(error, self.place) from error


def _insert(dialect: str) -> Any:
    """What makes an INSERT that can update; imported by whoever writes alone."""
    return import_module(f"sqlalchemy.dialects.{dialect}").insert


def _connect(given: str) -> tuple[Engine, str]:
    try:
        url = make_url(given)
    except (ArgumentError, ValueError) as error:
        raise UsageError(
            f"{VARIABLE}: found no address of a database",  # not its text: it may have a password
            remedy="write it as postgresql+psycopg://USER@HOST/DATABASE, or unset it",
        ) from error
    place = url.render_as_string(hide_password=True)
    match url.drivername:
        case "postgresql+psycopg":
            return _postgresql(given, place), place
        case "sqlite":
            return _sqlite(given, url.database or "", place), place
    raise UsageError(
        f"found {url.drivername}, expected postgresql+psycopg or sqlite",
        where=VARIABLE,
        remedy="write it as postgresql+psycopg://USER@HOST/DATABASE, or unset it",
    )


def _postgresql(url: str, place: str) -> Engine:
    try:
        return create_engine(url, poolclass=NullPool, connect_args={"connect_timeout": _CONNECT_S})
    except ImportError as error:
        raise UsageError(
            "the program that speaks with PostgreSQL is not installed",
            where=place,
            remedy="pip install 'benchspec[postgresql]'",
        ) from error


def _sqlite(url: str, file: str, place: str) -> Engine:
    try:
        Path(file).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(error, place) from error
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": _PATIENCE_S})
    event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    """Readers do not wait for writers (WAL), rows go with their run, and a commit that power takes
    away is loaded again from its directory.
    """
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={_PATIENCE_S * 1000}")
    (mode,) = cursor.execute("PRAGMA journal_mode").fetchone()
    if mode != "wal":
        cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _make_tables(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    for table in METADATA.sorted_tables:
        connection.execute(CreateTable(table, if_not_exists=True))
        for one in table.indexes:
            connection.execute(CreateIndex(one, if_not_exists=True))


def _unusable(error: Exception, place: str) -> StorageError:
    said = str(getattr(error, "orig", None) or error).strip().splitlines()
    return StorageError(
        f"the index of runs cannot be used: {said[0] if said else type(error).__name__}",
        where=place,
        remedy=(
            "the run directories have everything; `benchspec index DIRECTORY` loads them when the"
            " index can be used again"
        ),
    )
