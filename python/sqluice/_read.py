"""`read` and `export`: rows of a database as Arrow data, and as files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

from . import _sqluice
from ._arguments import check_arguments
from ._commands import OutputFormat
from ._open_files import used
from ._progress import Callback, Watched
from ._report import ExportReport, from_json
from ._settings import settings_of
from ._write import Path, names

Mixed = Literal["error", "text", "null"]


class Rows:
    """Rows of a database for any library that takes Arrow: `pyarrow.table(rows)`, `polars.DataFrame(rows)`,
    `pandas.DataFrame.from_arrow(rows)`, `duckdb.sql("SELECT ... FROM rows")`.

    The rows are read while the library takes them, on all cores and in bounded memory. Each library that takes them reads the database again, and
    sees one committed state from beginning to end.
    """

    __slots__ = ("_arguments", "_db", "_reading")

    def __init__(self, db: Path, rows: dict[str, Any], settings: dict[str, Any]) -> None:
        self._db = os.fspath(db)
        self._arguments = (self._db, rows, settings)
        self._reading: _sqluice.Reading | None = None
        with used(self._db) as native:
            self._made(native)

    def _made(self, native: Any) -> Any:
        """Returns the reader, in this process or in a child process."""
        if native is not _sqluice:
            return native.Reading(*self._arguments)
        self._reading = self._reading or _sqluice.Reading(*self._arguments)
        return self._reading

    def basis(self) -> str:
        """Returns the state of the database and the types of the columns, as text, for `read(..., part=..., basis=...)`. To find the types of columns
        that are declared without one, all of their values are read."""
        with used(self._db) as native:
            basis: str = self._made(native).basis()
            return basis

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Returns the rows as a stream of Arrow. `requested_schema` is ignored."""
        # The file counts as used until the stream is released: the stream holds `guard`.
        guard = used(self._db)
        native = guard.__enter__()
        reading = self._made(native)
        if native is _sqluice:
            return reading.stream(guard)
        return _sqluice.received(_Taken(guard, reading.sending()))


class _Taken:
    """Gives the batches that a child process reads, one at each call; None at the end."""

    def __init__(self, guard: Any, sending: Any) -> None:
        self._guard, self._sending = guard, sending

    def __call__(self) -> bytes | None:
        taken: bytes | None = self._sending.__next__()
        if taken is None:
            self._guard.__exit__(None, None, None)
        return taken


def read(
    db: Path,
    table: str | None = None,
    *,
    query: str | None = None,
    columns: str | Sequence[str] | None = None,
    where: str | None = None,
    limit: int | None = None,
    part: tuple[int, int] | None = None,
    basis: str | None = None,
    mixed: Mixed = "error",
    dates: bool = False,
    threads: int | None = None,
    busy_timeout: float = 5.0,
    timeout: float | None = None,
    retries: int | None = None,
    busy_limit: float | None = None,
) -> Rows:
    """Reads a table, a view, or the rows of a query, as Arrow data.

    columns, where, limit: the columns to read, a condition in SQL for the rows, and how many rows at most; query: a SELECT instead of a table.
    Columns that are declared INTEGER are int64, REAL float64, TEXT utf8 and BLOB binary; other columns get the type of their values. mixed: a value
    of another kind is an error ("error"), turns the column into text ("text"), or becomes null ("null"). dates: ISO text of columns declared DATE,
    DATETIME or TIMESTAMP becomes dates and timestamps. busy_limit: the seconds for which reading may keep other programs from committing; after that
    it ends with an error. In WAL mode, reading keeps nobody waiting. timeout, retries: of requests for a URL, as for `write`.

    part: `(k, n)` reads the k-th part, counted from 0, of a table whose pages are cut into n parts. Together they are the rows of the table, one part
    after another; parts of a small table may be empty. Views, queries, `where` and `limit` have no parts. basis: what `Rows.basis()` has returned for
    the whole table, here or on another machine that has the file: all parts then have the same types, and it is an error if the database has changed
    since.
    """
    check_arguments(read, locals())
    settings = settings_of("read", locals())
    return Rows(db, {"table": table, "query": query, "part": part, "basis": basis}, settings)


def export(
    db: Path,
    tables: str | Sequence[str] = (),
    *,
    to: Path,
    query: str | None = None,
    columns: str | Sequence[str] | None = None,
    where: str | None = None,
    limit: int | None = None,
    format: OutputFormat | None = None,
    overwrite: bool = False,
    mixed: Mixed = "error",
    dates: bool = False,
    threads: int | None = None,
    busy_timeout: float = 5.0,
    timeout: float | None = None,
    retries: int | None = None,
    busy_limit: float | None = None,
    progress: bool | Callback = False,
) -> ExportReport:
    """Exports tables, views or the rows of a query to the file `to`, or each table to a file in the folder `to`, as `sqluice export` does.

    The name of the file says the format, also before .gz and .zst. Without `tables`, all tables are exported to a folder; a file gets
    the only table, and it is an error if there are several. The other parameters are those of `read`.

    A .sql file has the statements that make the whole database, or `tables` with their indexes and triggers: `sqlite3 new.db < dump.sql`.
    """
    check_arguments(export, locals())
    settings = settings_of("export", locals())
    with used(db) as native, Watched(progress) as notify:
        text = native.export(os.fspath(db), names(tables), settings, notify)
    return from_json(ExportReport, text)
