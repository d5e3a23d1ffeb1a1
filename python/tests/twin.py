"""The oracle: what `executemany` of the standard library stores in a table that is declared the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any


def query(db: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(db)) as connection:
        return connection.execute(sql).fetchall()


def declared(db: Path, table: str = "t") -> str:
    """Returns the statement that made the table."""
    ((sql,),) = query(db, f"SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = '{table}'")
    return str(sql)


def stored(db: Path, table: str = "t") -> list[tuple[Any, ...]]:
    """Returns all rows with their storage classes."""
    columns = [name for _, name, *_ in query(db, f"PRAGMA table_info('{table}')")]
    shown = ", ".join(f'"{name}", typeof("{name}")' for name in columns)
    return query(db, f'SELECT {shown} FROM "{table}"')


def twin(db: Path, rows: Iterable[Sequence[Any]], table: str = "t") -> list[tuple[Any, ...]]:
    """Returns what `executemany` stores for the same rows."""
    other = db.with_suffix(".twin")
    other.unlink(missing_ok=True)
    with closing(sqlite3.connect(other)) as connection:
        connection.execute(declared(db, table))
        width = len(connection.execute(f'PRAGMA table_info("{table}")').fetchall())
        connection.executemany(f'INSERT INTO "{table}" VALUES ({", ".join("?" * width)})', rows)
        connection.commit()
    return stored(other, table)


def sound(db: Path) -> bool:
    return query(db, "PRAGMA integrity_check") == [("ok",)]
