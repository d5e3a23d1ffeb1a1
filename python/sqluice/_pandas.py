"""`pandas_method`: a `method=` of `DataFrame.to_sql` by which a child process writes the rows.

```text
pandas              creates the table, and calls the method with the rows
 the method         finds out if the child may write (see below)
 child process      writes the rows and commits                              or the ordinary INSERT of pandas, with one warning
pandas              makes the index of the frame, and commits
```

The child commits by itself. So it writes only where pandas would commit as well, and where nothing of the caller's connection would be lost: the
connection has no open transaction, no other chunk of the frame follows, and the connection has nothing that the child would lack, such as a temporary
trigger. If the child refuses the rows, the ordinary INSERT of pandas stores them or raises its own error. If a COMMIT of the child fails, the rows
may be stored, so that is an error.
"""

from __future__ import annotations

import array
import os
import re
import sqlite3
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ._arguments import check_arguments
from ._child import EXACT, Child, Ended
from ._errors import Error
from ._frames import arrow_of
from ._settings import settings_of
from ._write import quoted, table_args, write_defaults

# The number of rows that go to the child at a time.
_CHUNK_ROWS = 32 << 10


class _Ordinary(Exception):
    """Raised with the reason why the ordinary INSERT of pandas must store the rows."""


def pandas_method(table: Any, connection: Any, keys: Sequence[str], rows: Iterable[Any]) -> int | None:
    """Writes the rows of `DataFrame.to_sql` as fast as `write` does: `frame.to_sql("t", engine, method=sqluice.pandas_method)`.

    The engine of SQLAlchemy, or the connection of `sqlite3`, stays open: a child process writes the rows and commits, where pandas would
    commit itself. In a transaction of the caller, for a part of a frame (`chunksize`), in a memory database and for a file that is
    locked, the rows go by the ordinary INSERT, and a warning says why.

    table, connection, keys, rows: what pandas gives to a method: its table, the connection, the names of the columns, and the rows.
    """
    check_arguments(pandas_method, locals())
    columns = _taken(keys, rows)
    try:
        return _by_child(table, connection, keys, columns)
    except _Ordinary as reason:
        _warn(table, str(reason))
    inserted: int | None = table._execute_insert(connection, list(keys), zip(*columns, strict=True))
    return inserted


def _taken(keys: Sequence[str], rows: Iterable[Any]) -> list[Any]:
    """Returns the values of each column. The values of the first column are a list; those of other columns are lists or iterators, because most
    are never needed."""
    if type(rows) is zip:
        # pandas gives a zip of its columns. The columns are taken out of the zip, so that no tuple is made for each row.
        made: Any = rows.__reduce__()
        if made[0] is zip and len(made[1]) == len(keys):
            return [list(made[1][0]), *made[1][1:]]
    columns: list[list[Any]] = [[] for _ in keys]
    for row in rows:
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    return columns


def _warn(table: Any, reason: str) -> None:
    """Warns, once for all chunks of a frame."""
    if getattr(table, "_sqluice_warned", False):
        return
    table._sqluice_warned = True
    # The warning names the line that calls to_sql, so the stack frames of pandas and sqluice are skipped.
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and re.match(r"(pandas|sqluice)\b", str(frame.f_globals.get("__name__", ""))):
        level, frame = level + 1, frame.f_back
    warnings.warn(f"sqluice.pandas_method inserts row by row: {reason}", stacklevel=level)


def _by_child(table: Any, connection: Any, keys: Sequence[str], given: list[Any]) -> int:
    rows = len(given[0]) if given else 0
    if rows != len(table.frame):
        raise _Ordinary("the frame has several chunks, and a child process would commit each chunk by itself (leave out chunksize)")
    raw = _connection(table, connection)
    if raw.in_transaction:
        raise _Ordinary("the connection is in a transaction")
    path = _path(raw, table)
    busy_timeout, foreign_keys = _pragma(raw, "busy_timeout") / 1000, bool(_pragma(raw, "foreign_keys"))
    try:
        # The child starts while the values are prepared.
        with Child() as child:
            columns = _columns(table, connection, keys, given)
            _look(raw, table, keys)
            arguments = write_defaults() | {"if_exists": "append", "busy_timeout": busy_timeout, "foreign_keys": foreign_keys}
            about = table_args(rows, table.name, [], [], [], None, False, False, "auto", "iso")
            settings = settings_of("write", arguments, upsert=None)

            def make() -> Any:
                return "columns", list(keys), _chunks(columns, rows)

            child.write(path, make, True, False, about, settings, None)
    except Ended:
        # The rows may be stored already, so they must not be inserted again.
        raise
    except Error as error:
        if _may_be_stored(error):
            raise
        raise _Ordinary(str(error)) from error
    return rows


def _may_be_stored(error: Error) -> bool:
    """Returns True if a COMMIT has failed, as on a disk with errors, so that the rows may be stored. A COMMIT that a FOREIGN KEY refuses stores
    none."""
    message = str(error)
    return "cannot commit to" in message and "constraint failed" not in message


def _connection(table: Any, connection: Any) -> Any:
    """Returns the connection of the module `sqlite3`, or of a module like it, if pandas will commit what it writes."""
    if isinstance(connection, sqlite3.Cursor):
        return connection.connection
    dialect = getattr(connection, "dialect", None)
    if getattr(dialect, "name", None) != "sqlite":
        raise _Ordinary("the connection is not one of sqlite3 or of SQLAlchemy for SQLite")
    # pandas commits a transaction only if it has begun the transaction itself, which is then in its exit stack.
    begun = connection.get_transaction()
    closes = getattr(getattr(table.pd_sql, "exit_stack", None), "_exit_callbacks", ())
    if begun is None or connection.in_nested_transaction() or not any(getattr(one[1], "__self__", None) is begun for one in closes):
        raise _Ordinary("the connection is in a transaction of its own (give to_sql the engine)")
    raw = connection.connection.dbapi_connection
    if not isinstance(getattr(raw, "in_transaction", None), bool):
        raise _Ordinary("the connection is not one of sqlite3 or of SQLAlchemy for SQLite")
    return raw


def _asked(raw: Any, sql: str, *values: Any) -> list[Any]:
    """Returns the rows of a query as tuples, whatever rows the caller's connection makes."""
    cursor = raw.cursor()
    try:
        cursor.row_factory = None
        rows: list[Any] = cursor.execute(sql, values).fetchall()
        return rows
    finally:
        cursor.close()


def _pragma(raw: Any, name: str) -> Any:
    return _asked(raw, f"PRAGMA {name}")[0][0]


def _path(raw: Any, table: Any) -> str:
    """Returns the path of the database, if another process may write the file."""
    schema = table.schema or "main"
    files = {name.lower(): file for _, name, file in _asked(raw, "PRAGMA database_list")}
    path: str | None = files.get(schema.lower())
    if not path or not os.path.isfile(path):
        raise _Ordinary("the database is in memory, or temporary")
    if "temp" in files:
        shadowing = "SELECT 1 FROM temp.sqlite_schema WHERE type = 'trigger' OR name = ? COLLATE NOCASE"
        if _asked(raw, shadowing, table.name):
            raise _Ordinary("the connection has temporary tables of this name, or temporary triggers")
    if str(_pragma(raw, "locking_mode")).lower() == "exclusive":
        raise _Ordinary("the connection has locking_mode exclusive, so no other process can open the database")
    if _pragma(raw, "recursive_triggers"):
        raise _Ordinary("the connection has recursive triggers")
    return path


def _look(raw: Any, table: Any, keys: Sequence[str]) -> None:
    """Tries an INSERT of no rows, and rolls it back: a connection that may not write, or a locked file, is left to the ordinary INSERT."""
    target = quoted(table.name) if table.schema is None else f"{quoted(table.schema)}.{quoted(table.name)}"
    columns = ", ".join(map(quoted, keys))
    cursor = raw.cursor()
    try:
        cursor.execute("BEGIN IMMEDIATE")
        try:
            cursor.execute(f"INSERT INTO {target} ({columns}) SELECT {columns} FROM {target} WHERE 0")
        finally:
            cursor.execute("ROLLBACK")
    except Exception as error:
        raise _Ordinary(f"the connection cannot write now: {error}") from error
    finally:
        cursor.close()


def _columns(table: Any, connection: Any, keys: Sequence[str], given: list[Any]) -> list[Any]:
    """Returns the values of each column as the ordinary INSERT would store them. Iterators in `given` become lists if their values are needed."""
    columns: list[Any] = []
    processors = _processors(table, connection, keys)
    for number, (process, buffer) in enumerate(zip(processors, _buffers(table, keys), strict=True)):
        if process is None and buffer is not None:
            columns.append(buffer)
            continue
        values = given[number] = list(given[number])
        kinds = set(map(type, values))
        if process is not None and not kinds <= {type(None), bytes}:
            values = list(map(process, values))
            kinds = set(map(type, values))
        if not kinds <= EXACT:
            values = [value if type(value) in EXACT else _adapted(value) for value in values]
            kinds = set(map(type, values))
        columns.append(_buffer(values, kinds))
    return columns


def _buffers(table: Any, keys: Sequence[str]) -> list[Any]:
    """Returns the values of each column that the frame has as a buffer of integers or floats, or as text of Arrow; None for the other columns."""
    frame = table.frame
    levels = len(keys) - len(frame.columns)
    if levels < 0:
        return [None] * len(keys)
    buffers: list[Any] = []
    for position, dtype in enumerate(frame.dtypes):
        values = frame.iloc[:, position]
        if str(dtype) in ("int64", "float64") and type(dtype).__module__.startswith("numpy"):
            buffers.append(memoryview(values.to_numpy().copy()))
        else:
            text = arrow_of(values) if type(dtype).__name__ == "StringDtype" else None
            buffers.append(text.chunk(0) if text is not None and text.num_chunks == 1 else None)
    return [None] * levels + buffers


def _buffer(values: list[Any], kinds: set[type]) -> Any:
    if kinds == {float}:
        return memoryview(array.array("d", values))
    if kinds == {int}:
        try:
            return memoryview(array.array("q", values))
        except OverflowError as error:
            raise _Ordinary("an integer has more than 64 bits") from error
    return values


def _processors(table: Any, connection: Any, keys: Sequence[str]) -> Iterable[Any]:
    """Returns the function by which SQLAlchemy converts the values of each column; None for a column without one."""
    if isinstance(connection, sqlite3.Cursor):
        return [None] * len(keys)
    dialect = connection.dialect
    declared = [table.table.columns[key].type for key in keys]
    if any(getattr(one, "_has_bind_expression", False) for one in declared):
        raise _Ordinary("the type of a column puts SQL around its values")
    return [one.dialect_impl(dialect).bind_processor(dialect) for one in declared]


def _adapted(value: Any) -> Any:
    try:
        adapted = sqlite3.adapt(value, sqlite3.PrepareProtocol)
    except sqlite3.ProgrammingError as error:
        raise _Ordinary(f"a value of type {type(value).__name__} has no adapter") from error
    if type(adapted) not in EXACT:
        raise _Ordinary(f"a value of type {type(value).__name__} has no adapter")
    return adapted


def _chunks(columns: list[Any], rows: int) -> Iterator[list[Any]]:
    for start in range(0, rows, _CHUNK_ROWS):
        yield [column[start : start + _CHUNK_ROWS] for column in columns]
