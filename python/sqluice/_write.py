"""`write`, which stores rows in a table, and conversions of arguments that other functions use, too."""

from __future__ import annotations

import inspect
import os
import pathlib
import re
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ._arguments import check_arguments
from ._errors import InputError, UsageError, system_errors
from ._open_files import used
from ._progress import Callback, Watched
from ._report import Report, from_json
from ._rows import names_in_schema, understand
from ._settings import settings_of

Path = str | os.PathLike[str]
IfExists = Literal["fail", "replace", "append", "upsert"]
OnConflict = Literal["abort", "ignore", "replace"]

MEMORY = 256 << 20
"""The default of the parameter `memory`: the number of bytes for buffers."""


def names(given: str | Sequence[str] | None) -> list[str]:
    """Returns names as a list: the argument is one name, several names, or None."""
    if given is None:
        return []
    return [given] if isinstance(given, str) else list(given)


def quoted(name: str) -> str:
    """Returns a name as a quoted identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def specs(given: str | Sequence[str | Sequence[str]] | None) -> list[str]:
    """Returns the columns of each index, as text with commas. An index may be given as such text, or as a sequence of names."""
    if given is None:
        return []
    if isinstance(given, str):
        return [given]
    return [one if isinstance(one, str) else ", ".join(map(quoted, one)) for one in given]


def statements_given(schema: str | os.PathLike[str] | None) -> str | pathlib.Path | None:
    """Returns statements as a str, or the path of a file with statements as a `pathlib.Path`: a text without CREATE and line ends is taken for a path."""
    if schema is None:
        return None
    text = os.fspath(schema)
    declares = not text.strip() or "\n" in text or re.search(r"\bcreate\s", text, re.IGNORECASE)
    return text if isinstance(schema, str) and declares else pathlib.Path(text)


def schema_read(schema: str | os.PathLike[str] | Mapping[str, str] | None) -> str | Mapping[str, str] | None:
    """Returns the statements of a schema, read from the file if a path is given; a mapping with types of columns is returned as it is."""
    if schema is None or isinstance(schema, Mapping):
        return schema
    file = statements_given(schema)
    if not isinstance(file, pathlib.Path):
        return file
    try:
        with system_errors(InputError, f"cannot read {file}"), open(file, encoding="utf-8") as opened:
            return opened.read()
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8: {error.reason}", file=str(file), byte=error.start) from error


def folder_for_rows(db: Path, temp_dir: Path | None) -> str:
    """Returns the folder for temporary files with rows: `temp_dir`, or the folder of the database, or, for a URL, that of the system."""
    if temp_dir is not None:
        return os.fspath(temp_dir)
    return tempfile.gettempdir() if "://" in os.fspath(db) else os.path.dirname(os.path.abspath(os.fspath(db)))


def write(
    db: Path,
    data: Any,
    table: str,
    *,
    if_exists: IfExists = "fail",
    fts: str | Sequence[str] = (),
    primary_key: str | Sequence[str] | None = None,
    index: bool | str | Sequence[str | Sequence[str]] | None = None,
    unique: str | Sequence[str | Sequence[str]] | None = None,
    schema: str | os.PathLike[str] | Mapping[str, str] | None = None,
    columns: str | Sequence[str] | None = None,
    strict: bool = False,
    without_rowid: bool = False,
    on_conflict: OnConflict = "abort",
    first_rowid: int = 1,
    index_label: str | Sequence[str] | None = None,
    decimal: Literal["auto", "text", "real"] = "auto",
    timestamp: Literal["iso", "unix"] = "iso",
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
) -> Report:
    """Writes the rows of `data` to a table of the database `db`, which is created if it does not exist.

    All rows are written, or, if something fails, none: a new database appears only once complete, and an existing one changes in
    one transaction.

    data: anything with `__arrow_c_stream__` or `__arrow_c_array__` (pyarrow, polars, DuckDB), a pandas frame, a NumPy array, or any
        iterable of tuples, dicts, dataclasses, Arrow batches or frames. Rows are read while earlier rows are written, some megabytes ahead.
    if_exists: what to do with an existing table: `fail`; `append` adds the rows; `replace` deletes its rows and writes these
        (its columns, indexes and triggers stay); `upsert` updates rows whose `primary_key` exists, and inserts the others.
    fts: full-text tables (FTS5) of an existing table that index the new rows, too, if no trigger does that.
    primary_key, index, unique, schema, strict, without_rowid: the declaration of a new table; an existing table is not changed. Each index
        is `"name"`, `"area, name DESC"` or `["area", "name"]`. One INTEGER column as the key is another name for the rowid.
    schema: the types of some columns, `{"price": "REAL"}`, or statements that declare the table with its indexes and triggers, or the path of a file
        with such statements. Without it, the types are those of Arrow data, or those of the first rows (32,768 of them, or 4 MiB): INTEGER, REAL,
        TEXT or BLOB; a column with values of several kinds has no type, and keeps each value as it is. A later value of another kind ends the run
        with an error; data that can be read twice, such as a list, is read again with types that fit all values. Frames of pandas in a generator wait
        in `temp_dir`, or in the folder of the database, until the types of all of them are known.
    columns: the names of the columns, for rows that have none; which keys or columns to write, for those that have.
    index: for a pandas frame also True or False: if the index of the frame is written, as by `to_sql`. By default, it is written if it has a name,
        or does not just count from 0 and an existing table, if there is one, has a column for it. With several frames, the index of a frame may
        also go on where that of the frame before ended.
    on_conflict: what to do with a row whose key another row has: `abort` ends the run, `ignore` leaves the later one out,
        `replace` the earlier.
    first_rowid: the rowid of the first row of a new table without an INTEGER PRIMARY KEY.
    overwrite: a whole database of that name is replaced.
    assume_unused: a database is replaced by a rename even if another program might have it open without being noticed; by default, the new pages are
        then written into the old file in one transaction.
    threads: the number of threads; by default one per core. memory: bytes for buffers, besides the rows that are read ahead.
    temp_dir: the folder for data that exceeds the memory; the folder of the database by default. page_size: bytes of a page of a new database.
    busy_timeout: the seconds to wait for a database that another program has locked.
    foreign_keys: True refuses rows whose parents are missing, False does not check them; by default they are checked in new databases only.
    analyze: runs ANALYZE at the end, so that SQLite can choose between indexes.
    decimal: "auto" stores decimals of Arrow as numbers if these hold all digits, otherwise as text; "text" and "real" store all as that type.
        timestamp: timestamps become ISO 8601 text or integers of the time since 1970 ("unix").
    timeout, retries: limits of requests for URLs: for how many seconds a server may send nothing, repeated requests included (120 by default), and how
        often a request that fails for a temporary reason is repeated (20 by default).
    progress: True shows a bar on standard error; a callable gets a `Progress` some times a second.
    """
    arguments = dict(locals())
    check_arguments(write, arguments)
    wants_index = index if isinstance(index, bool) else None
    schema = schema_read(schema)
    columns = None if columns is None else names(columns)

    with used(db) as native:

        def table_columns() -> Sequence[str] | None:
            found = None if overwrite else native.columns_of(os.fspath(db), table)
            return names_in_schema(schema, table) if found is None and isinstance(schema, str) else found

        def known_columns() -> Sequence[str] | None:
            found = table_columns()
            return list(schema) if found is None and isinstance(schema, Mapping) else found

        given = understand(data, columns, known_columns, wants_index, index_label, table_columns=table_columns)
        indexes = [] if isinstance(index, bool) else specs(index)
        if wants_index:
            indexes.append(", ".join(map(quoted, given.index_columns)))
        about = table_args(given.about, table, names(primary_key), indexes, specs(unique), schema, strict, without_rowid, decimal, timestamp)
        settings = settings_of("write", arguments, upsert=names(primary_key) if if_exists == "upsert" else None)
        with Watched(progress) as notify:
            if given.waits:
                spool = native.Spool(folder_for_rows(db, temp_dir), os.fspath(db), about, settings)
                spool.append(given.make())
                text = native.write_spools(os.fspath(db), [(about, spool)], settings, notify)
            else:
                text = native.write(os.fspath(db), given.make, given.again, given.in_order, about, settings, notify)
    return from_json(Report, text)


def write_defaults() -> dict[str, Any]:
    """Returns the default values of the keyword arguments of `write`, by name."""
    parameters = inspect.signature(write).parameters.values()
    return {one.name: one.default for one in parameters if one.kind is one.KEYWORD_ONLY}


def table_args(
    about: int | None,
    table: str,
    primary_key: list[str],
    index: list[str],
    unique: list[str],
    schema: str | Mapping[str, str] | None,
    strict: bool,
    without_rowid: bool,
    decimal: str,
    timestamp: str,
) -> dict[str, Any]:
    """Returns the declaration of the table in the form that the engine takes."""
    if isinstance(schema, str):
        said = {"primary_key": primary_key, "unique": unique, "index": index, "strict": strict, "without_rowid": without_rowid}
        more = next((name for name, value in said.items() if value and name != "primary_key"), None)
        if more is not None:
            raise UsageError(f"{more} can't be given with a schema of statements, which declare the whole table", hint=f"write what {more} says into the statements")
    return {
        "table": table,
        "primary_key": primary_key,
        "index": index,
        "unique": unique,
        "schema": schema if isinstance(schema, str) else None,
        "types": list(schema.items()) if isinstance(schema, Mapping) else [],
        "strict": strict,
        "without_rowid": without_rowid,
        "decimal": decimal,
        "timestamp": timestamp,
        "about": about,
    }
