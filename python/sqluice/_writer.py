"""`Writer`, which collects rows for several tables and writes them in one transaction."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Literal

from . import _sqluice
from ._arguments import check_arguments
from ._errors import TargetError, UsageError
from ._open_files import is_open_elsewhere, used
from ._progress import Callback, Watched
from ._report import Report, from_json
from ._rows import names_in_schema, understand
from ._settings import settings_of
from ._write import MEMORY, IfExists, OnConflict, Path, folder_for_rows, names, schema_read, specs, table_args


class _Table:
    def __init__(self, args: dict[str, Any], columns: list[str] | None, spool: _sqluice.Spool) -> None:
        self.args, self.columns, self.spool = args, columns, spool
        self.rows = 0


class Writer:
    """Rows for tables of a database, given batch by batch.

    The rows wait in an unnamed temporary file. At the end of the `with`, all tables are written in one transaction. If an exception ends the `with`,
    nothing is written.

        >>> import sqluice
        >>> with sqluice.Writer("shop.db") as writer:
        ...     writer.create_table("item", {"id": "INTEGER", "name": "TEXT"}, primary_key="id")
        ...     for start in range(0, 4, 2):
        ...         _ = writer.append([(n, f"item {n}") for n in range(start, start + 2)])
        >>> writer.report.rows
        4
    """

    report: Report | None
    """The report of the commit; None before it."""

    def __init__(
        self,
        db: Path,
        *,
        if_exists: IfExists = "fail",
        fts: str | Sequence[str] = (),
        on_conflict: OnConflict = "abort",
        overwrite: bool = False,
        threads: int | None = None,
        memory: int = MEMORY,
        temp_dir: Path | None = None,
        page_size: int | None = None,
        busy_timeout: float = 5.0,
        assume_unused: bool = False,
        timeout: float | None = None,
        retries: int | None = None,
        foreign_keys: bool | None = None,
        analyze: bool = False,
        progress: bool | Callback = False,
    ) -> None:
        """The arguments are those of `write`; `if_exists` applies to every table. The rows wait in `temp_dir`, or in the folder of the database."""
        check_arguments(Writer.__init__, locals())
        self._db = os.fspath(db)
        self._folder = folder_for_rows(db, temp_dir)
        self._overwrite, self._progress = overwrite, progress
        self._options = settings_of("write", locals(), first_rowid=None, upsert=[] if if_exists == "upsert" else None)
        self._tables: dict[str, _Table] = {}
        self._last: str | None = None
        self._used: AbstractContextManager[Any] | None = None
        self._writes: Any = None
        self._ended: str | None = None
        self.report = None

    def create_table(
        self,
        table: str,
        columns: Mapping[str, str] | None = None,
        *,
        schema: str | os.PathLike[str] | None = None,
        primary_key: str | Sequence[str] | None = None,
        index: str | Sequence[str | Sequence[str]] | None = None,
        unique: str | Sequence[str | Sequence[str]] | None = None,
        strict: bool = False,
        without_rowid: bool = False,
        decimal: Literal["auto", "text", "real"] = "auto",
        timestamp: Literal["iso", "unix"] = "iso",
    ) -> None:
        """Declares a new table: by its columns with their types, or by SQL statements (`schema`). Without either, its columns and types are those of
        its rows."""
        check_arguments(Writer.create_table, locals())
        self._check()
        if table in self._tables:
            raise UsageError(f"table {table} has been declared already: call create_table only once, before the first rows of the table")
        declared = columns if schema is None else schema_read(schema)
        args = table_args(
            None, table, names(primary_key), specs(index), specs(unique), declared, strict, without_rowid, decimal, timestamp
        )
        known = list(columns) if columns is not None else None
        if isinstance(declared, str):
            known = names_in_schema(declared, table)
        spool = self._native().Spool(self._folder, self._db, args, self._options)
        self._tables[table] = _Table(args, known, spool)
        self._last = table

    def append(self, data: Any, table: str | None = None, *, columns: str | Sequence[str] | None = None) -> int:
        """Adds rows, of any kind that `write` takes, to `table`, or to the table that was named last. Returns the number of rows."""
        check_arguments(Writer.append, locals())
        self._check()
        name = table if table is not None else self._last
        if name is None:
            raise UsageError("the rows have no table", hint="name it by table=, or call create_table first")
        if name not in self._tables:
            self.create_table(name)
        self._last = name
        goal = self._tables[name]

        def known_columns() -> Sequence[str] | None:
            if goal.columns is not None or self._overwrite:
                return goal.columns
            columns: Sequence[str] | None = self._native().columns_of(self._db, name)
            return columns

        chosen = None if columns is None else names(columns)
        given = understand(data, chosen, known_columns, rows_before=goal.rows, table_columns=known_columns).make()
        if len(given) == 3:
            shape, found, rows = given
            # Rows with names, such as dicts, may have the columns in any order, and lack some.
            if goal.columns is not None and shape in ("mapping", "attributes") and set(found) <= set(goal.columns):
                found = goal.columns
            goal.columns = goal.columns or found
            given = (shape, found, rows)
        try:
            added = goal.spool.append(given)
        except BaseException:
            self._ended = "an append has failed, and the rows are discarded"
            raise
        goal.rows += added
        return added

    def commit(self) -> Report:
        """Writes all tables. The end of the `with` calls this, too."""
        self._check()
        native = self._native()
        self._ended = "the rows have been committed"
        tables = [(table.args, table.spool) for table in self._tables.values()]
        try:
            with Watched(self._progress) as notify:
                self.report = from_json(Report, native.write_spools(self._db, tables, self._options, notify))
        finally:
            self._let_go()
        return self.report

    def _native(self) -> Any:
        """Returns the compiled module, or a child process with it. The rows wait in the process that will write them."""
        if self._used is None:
            self._used = used(self._db)
            self._writes = self._used.__enter__()
        elif self._writes is _sqluice and is_open_elsewhere(self._db):
            message = f"{self._db} was opened in this process by another SQLite library since the first rows were given"
            raise TargetError(message, hint="close that connection, or open it before the first rows are given")
        return self._writes

    def _let_go(self) -> None:
        self._tables.clear()
        if self._used is not None:
            self._used.__exit__(None, None, None)
        self._used = self._writes = None

    def rollback(self) -> None:
        """Discards all rows; the database is not changed."""
        self._ended = self._ended or "the rows have been discarded"
        self._let_go()

    def _check(self) -> None:
        if self._ended is not None:
            raise UsageError(f"this Writer can't be used any more: {self._ended}")

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            self.rollback()
        elif self._ended is None and self._tables:
            self.commit()
        elif self._ended is not None and self.report is None:
            self._check()
