"""Files, made-up rows, indexes, checks and archives."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Literal

from . import _sqluice
from ._locks import used
from ._progress import Callback, Watched
from ._report import CheckReport, MadeIndexes, PackReport, Report, UnpackReport, of_json
from ._write import MEMORY, IfExists, OnConflict, Path, names, specs, write_options

Format = Literal["csv", "tsv", "ndjson", "json", "parquet", "arrow"]
Layout = Literal["auto", "sqlar", "kv"]


def load(
    db: Path,
    files: Path | Sequence[Path],
    *,
    table: str | None = None,
    format: Format | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    escape: str | None = None,
    comment: str | None = None,
    header: bool | None = None,
    skip_lines: int = 0,
    null: str | Sequence[str] = (),
    empty_as_text: bool = False,
    encoding: str | None = None,
    schema: str | None = None,
    types: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    add_columns: bool = False,
    limit: int | None = None,
    strict: bool = False,
    lossy: bool = False,
    decimal: Literal["auto", "text", "real"] = "auto",
    timestamp: Literal["iso", "unix"] = "iso",
    reject: Path | None = None,
    max_rejects: int | None = None,
    if_exists: IfExists = "fail",
    primary_key: str | Sequence[str] | None = None,
    index: str | Sequence[str | Sequence[str]] | None = None,
    unique: str | Sequence[str | Sequence[str]] | None = None,
    without_rowid: bool = False,
    on_conflict: OnConflict = "abort",
    overwrite: bool = False,
    threads: int | None = None,
    memory: int = MEMORY,
    temp_dir: Path | None = None,
    page_size: int | None = None,
    busy_timeout: float = 5.0,
    foreign_keys: bool | None = None,
    analyze: bool = False,
    progress: bool | Callback = False,
) -> Report:
    """Loads CSV, TSV, JSON, NDJSON, Parquet and Arrow files into a database, as `sqluice load` does: a table for each, or all into
    `table`. Compression, encoding, delimiters and types are recognised.

    schema: statements that declare the tables; types: those of some columns. lossy: what SQLite's conversions may lose, they lose.
    reject: where rows go that can't be stored; without it the first ends the load. The rest is as for `write`.
    """
    given = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    upserts = if_exists == "upsert"
    args = {
        "files": [os.fspath(file) for file in given],
        "table": table,
        "format": format,
        "delimiter": delimiter,
        "quote": quote,
        "escape": escape,
        "comment": comment,
        "header": header,
        "skip_lines": skip_lines,
        "null": names(null),
        "empty_as_text": empty_as_text,
        "encoding": encoding,
        "schema": schema,
        "types": list((types or {}).items()),
        "columns": None if columns is None else list(columns),
        "add_columns": add_columns,
        "limit": limit,
        "strict": strict,
        "lossy": lossy,
        "decimal": decimal,
        "timestamp": timestamp,
        "reject": None if reject is None else os.fspath(reject),
        "max_rejects": max_rejects,
        "primary_key": [] if upserts else names(primary_key),
        "index": specs(index),
        "unique": specs(unique),
        "without_rowid": without_rowid,
    }
    options = write_options(
        threads=threads,
        memory=memory,
        temp_dir=temp_dir,
        page_size=page_size,
        overwrite=overwrite,
        busy_timeout=busy_timeout,
        foreign_keys=foreign_keys,
        analyze=analyze,
        on_conflict=on_conflict,
        if_exists=if_exists,
        upsert=names(primary_key) if upserts else [],
    )
    with used(db, busy_timeout), Watched(progress) as tell:
        return of_json(Report, _sqluice.load(os.fspath(db), args, options, tell))


def generate(
    db: Path | None,
    schema: str | os.PathLike[str] | None = None,
    *,
    rows: int | Mapping[str, int] | None = None,
    preset: str | None = None,
    seed: int = 1,
    append: bool = False,
    overwrite: bool = False,
    threads: int | None = None,
    memory: int = MEMORY,
    temp_dir: Path | None = None,
    page_size: int | None = None,
    busy_timeout: float = 5.0,
    foreign_keys: bool | None = None,
    analyze: bool = False,
    progress: bool | Callback = False,
) -> Report:
    """Makes a test database, as `sqluice generate` does: `schema` is statements, with comments such as `-- gen: int(1, 100)`, or, as a
    `pathlib.Path`, the file that has them; `preset` is a built-in one: `user`, `integers`, `kv`, `shop` or `events`. `rows` is for every table,
    of a preset for its main one, which the others follow; or for each by its name.
    `db` may be None: then all is made, and thrown away.
    """
    counts: list[tuple[str | None, int]] = []
    if isinstance(rows, Mapping):
        counts = [(name, int(count)) for name, count in rows.items()]
    elif rows is not None:
        counts = [(None, int(rows))]
    args = {
        "schema": schema if isinstance(schema, str) else None,
        "schema_file": None if schema is None or isinstance(schema, str) else os.fspath(schema),
        "preset": preset,
        "rows": counts,
        "seed": seed,
    }
    options = write_options(
        threads=threads,
        memory=memory,
        temp_dir=temp_dir,
        page_size=page_size,
        overwrite=overwrite,
        busy_timeout=busy_timeout,
        foreign_keys=foreign_keys,
        analyze=analyze,
        if_exists="append" if append else "fail",
    )
    with used(db, busy_timeout), Watched(progress) as tell:
        return of_json(Report, _sqluice.generate(None if db is None else os.fspath(db), args, options, tell))


def index(
    db: Path,
    statements: str | Sequence[str],
    *,
    threads: int | None = None,
    memory: int = MEMORY,
    temp_dir: Path | None = None,
    busy_timeout: float = 5.0,
    progress: bool | Callback = False,
) -> MadeIndexes:
    """Makes indexes of a database that is there, by the engine's own sort: `CREATE INDEX` statements, all in one transaction."""
    options = write_options(threads=threads, memory=memory, temp_dir=temp_dir, busy_timeout=busy_timeout)
    with used(db, busy_timeout), Watched(progress) as tell:
        return of_json(MadeIndexes, _sqluice.index(os.fspath(db), names(statements), options, tell))


def check(
    db: Path, *, full: bool = False, threads: int | None = None, progress: bool | Callback = False
) -> CheckReport:
    """Looks whether a database is sound; `full`: SQLite's own `integrity_check` looks, too. What is wrong is in the report."""
    with used(db), Watched(progress) as tell:
        return of_json(CheckReport, _sqluice.check(os.fspath(db), full, threads, tell))


def pack(
    db: Path,
    folder: Path,
    *,
    layout: Layout = "sqlar",
    compress: bool = False,
    include: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    if_exists: Literal["fail", "append", "replace"] = "fail",
    overwrite: bool = False,
    threads: int | None = None,
    memory: int = MEMORY,
    temp_dir: Path | None = None,
    page_size: int | None = None,
    busy_timeout: float = 5.0,
    progress: bool | Callback = False,
) -> PackReport:
    """Packs a folder into a database: an SQLite Archive (`sqlar`), or keys and blobs (`kv`)."""
    options = write_options(
        threads=threads,
        memory=memory,
        temp_dir=temp_dir,
        page_size=page_size,
        overwrite=overwrite,
        busy_timeout=busy_timeout,
        if_exists=if_exists,
    )
    with used(db, busy_timeout), Watched(progress) as tell:
        text = _sqluice.pack(
            os.fspath(db), os.fspath(folder), layout, compress, names(include), names(exclude), options, tell
        )
    return of_json(PackReport, text)


def unpack(
    db: Path,
    folder: Path,
    *,
    layout: Layout = "auto",
    include: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    overwrite: bool = False,
    tree: bool = False,
    threads: int | None = None,
    progress: bool | Callback = False,
) -> UnpackReport:
    """Makes files of an archive below `folder`. Rows that can't be restored there are in the report, and the rest goes on."""
    with used(db), Watched(progress) as tell:
        text = _sqluice.unpack(
            os.fspath(db), os.fspath(folder), layout, names(include), names(exclude), overwrite, tree, threads, tell
        )
    return of_json(UnpackReport, text)
