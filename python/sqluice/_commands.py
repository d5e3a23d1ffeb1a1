"""Files, made-up rows, indexes, copies, merges, checks and archives."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Literal

from . import _sqluice
from ._arguments import check_arguments
from ._files import Files, Readable, given_files
from ._locks import used
from ._progress import Callback, Watched
from ._report import CheckReport, CopyReport, MadeIndexes, MergeReport, PackReport, ProfileReport, Report, UnpackReport, from_json
from ._write import MEMORY, IfExists, OnConflict, Path, names, schema_given, specs, write_options

Format = Literal["csv", "tsv", "ndjson", "json", "parquet", "arrow"]
InputFormat = Literal[Format, "avro", "sqlite"]
Layout = Literal["auto", "sqlar", "kv"]


def load(
    db: Path,
    files: Path | Readable | Iterable[Path | Readable],
    *,
    table: str | None = None,
    name_from: Literal["file", "path"] = "file",
    format: InputFormat | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    escape: str | None = None,
    comment: str | None = None,
    header: bool | None = None,
    skip_lines: int | None = None,
    null: str | Sequence[str] = (),
    empty_as_text: bool = False,
    pad: bool = False,
    strict_quotes: bool = False,
    encoding: str | None = None,
    records: str | None = None,
    schema: str | os.PathLike[str] | None = None,
    types: Mapping[str, str] | None = None,
    date: Mapping[str, str] | None = None,
    boolean: str | Sequence[str] | Mapping[str, tuple[str, str]] = (),
    decimal_comma: str | Sequence[str] = (),
    thousands: Mapping[str, str] | None = None,
    columns: str | Sequence[str] | None = None,
    add_columns: bool = False,
    limit: int | None = None,
    strict: bool = False,
    lossy: bool = False,
    decimal: Literal["auto", "text", "real"] = "auto",
    timestamp: Literal["iso", "unix"] = "iso",
    reject: Path | None = None,
    overwrite_reject: bool = False,
    max_rejects: int | None = None,
    skip_bad_files: bool = False,
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
    assume_unused: bool = False,
    timeout: float | None = None,
    retries: int | None = None,
    foreign_keys: bool | None = None,
    analyze: bool = False,
    progress: bool | Callback = False,
) -> Report:
    """Loads CSV, TSV, JSON, NDJSON, Parquet, Arrow and Avro files, and tables of databases, into a database, as `sqluice load` does: a table for each, or
    all into `table`. Compression, encoding, delimiters and types are recognised.

    files: paths, and objects with a method `read`, such as `io.BytesIO`; `table` names the table of one that has no name.
    delimiter: one character or several, "whitespace" for runs of blanks, "none" for one column. quote, escape, comment: "" for none.
    skip_lines: 0 keeps lines before the table that are recognised as no part of it. pad: fields that are missing at the end of a
    record are NULL. strict_quotes: a quote inside an unquoted field makes a bad row.
    schema: statements that declare the tables, or the path of a file with them; types: those of some columns. lossy: what SQLite's
    conversions may lose, they lose.
    date: formats of columns with dates, such as {"placed": "%d.%m.%Y"}, which become ISO 8601 text. boolean: columns of booleans, which become
    1 and 0, or the words of each: {"paid": ("ja", "nein")}. decimal_comma, thousands: columns of numbers such as 3,14, and what stands
    between groups of three digits: {"price": "."}. What does not match is a bad row.
    reject: where rows go that can't be stored, a new file unless `overwrite_reject` is set; without it the first ends the load. skip_bad_files: files that can't be loaded are
    left out, with a warning, and listed in `Report.skipped`. name_from="path": tables are named after folder and file. records: the
    keys that lead to the array of records in a JSON file that is one object, such as "features" or "data.items". The rest is as for
    `write`.
    """
    listed = given_files(files)
    check_arguments(load, locals())
    upserts = if_exists == "upsert"
    sql, schema_file = schema_given(schema)
    args = {
        "table": table,
        "name_from": name_from,
        "format": format,
        "delimiter": delimiter,
        "quote": quote,
        "escape": escape,
        "comment": comment,
        "header": header,
        "skip_lines": skip_lines,
        "null": names(null),
        "empty_as_text": empty_as_text,
        "pad": pad,
        "strict_quotes": strict_quotes,
        "encoding": encoding,
        "records": records,
        "schema": sql,
        "schema_file": schema_file,
        "types": list((types or {}).items()),
        "date": list((date or {}).items()),
        "boolean": list(boolean.items()) if isinstance(boolean, Mapping) else [(name, None) for name in names(boolean)],
        "decimal_comma": names(decimal_comma),
        "thousands": list((thousands or {}).items()),
        "columns": None if columns is None else names(columns),
        "add_columns": add_columns,
        "limit": limit,
        "strict": strict,
        "lossy": lossy,
        "decimal": decimal,
        "timestamp": timestamp,
        "reject": None if reject is None else os.fspath(reject),
        "overwrite_reject": overwrite_reject,
        "max_rejects": max_rejects,
        "skip_bad_files": skip_bad_files,
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
        assume_unused=assume_unused,
        timeout=timeout,
        retries=retries,
        foreign_keys=foreign_keys,
        analyze=analyze,
        on_conflict=on_conflict,
        if_exists=if_exists,
        upsert=names(primary_key) if upserts else [],
    )
    with (
        Files(listed, table, encoding, temp_dir) as paths,
        ExitStack() as inputs,
        used(db, busy_timeout),
        Watched(progress) as notify,
    ):
        # They may be databases.
        for path in paths:
            inputs.enter_context(used(path, busy_timeout))
        report = from_json(Report, _sqluice.load(os.fspath(db), args | {"files": paths}, options, notify))
    for warning in (warning for read in report.inputs for warning in read.warnings):
        warnings.warn(warning, stacklevel=2)
    for skipped in report.skipped:
        warnings.warn(f"skipped {skipped.name}: {skipped.why}", stacklevel=2)
    return report


def generate(
    db: Path | None,
    schema: str | os.PathLike[str] | None = None,
    *,
    rows: int | Mapping[str, int] | None = None,
    preset: str | None = None,
    scale: float | None = None,
    like: Path | None = None,
    rows_scale: float | None = None,
    seed: int = 1,
    if_exists: IfExists = "fail",
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
    """Makes a test database, as `sqluice generate` does: `schema` is statements, with comments such as `-- gen: int(1, 100)`, or the path
    of a file with them; `preset` is a built-in one: `user`, `integers`, `kv`, `shop`, `events`, or `tpch`, whose size is its `scale`: 1 is
    8.7 million rows. `rows` is for every table, of a preset for its main one, which the others follow; or for each by its name.
    `like` is a database that the new one is to be like: it is described first, as by `profile`. `rows_scale` multiplies the row counts
    that the schema states, or those of `like`. With `db=None`, the rows are made and discarded.

    if_exists: what to do with existing tables, as for `write`; made-up rows have no keys to `upsert` by, and tables of TPC-H must be new.
    """
    check_arguments(generate, locals())
    sql, schema_file = schema_given(schema)
    counts: list[tuple[str | None, int]] = []
    if isinstance(rows, Mapping):
        counts = [(name, int(count)) for name, count in rows.items()]
    elif rows is not None:
        counts = [(None, int(rows))]
    args = {
        "schema": sql,
        "schema_file": schema_file,
        "preset": preset,
        "scale": None if scale is None else float(scale),
        "rows": counts,
        "like": None if like is None else os.fspath(like),
        "rows_scale": None if rows_scale is None else float(rows_scale),
        "seed": seed,
    }
    options = write_options(
        threads=threads,
        memory=memory,
        temp_dir=temp_dir,
        page_size=page_size,
        overwrite=overwrite,
        busy_timeout=busy_timeout,
        assume_unused=assume_unused,
        timeout=timeout,
        retries=retries,
        foreign_keys=foreign_keys,
        analyze=analyze,
        if_exists=if_exists,
    )
    with used(db, busy_timeout), Watched(progress) as notify:
        return from_json(Report, _sqluice.generate(None if db is None else os.fspath(db), args, options, notify))


def profile(
    db: Path,
    *,
    keep_common: int = 20,
    no_values: bool = False,
    tables: str | Sequence[str] = (),
    exclude_tables: str | Sequence[str] = (),
    threads: int | None = None,
    busy_timeout: float = 5.0,
    timeout: float | None = None,
    retries: int | None = None,
    busy_limit: float | None = None,
    progress: bool | Callback = False,
) -> ProfileReport:
    """Describes a database without its rows, as `sqluice profile` does. The `text` of the report is a schema with comments, which
    `generate` takes: it makes a database with as many rows, NULLs and distinct values, and with like distributions.

    keep_common: in how many rows a value must occur to be shown; values of columns that look personal never are. no_values: shows none.
    tables, exclude_tables: tables and views. busy_limit: seconds that reading may keep others from committing.
    """
    check_arguments(profile, locals())
    args = {
        "keep_common": keep_common,
        "no_values": no_values,
        "tables": names(tables),
        "exclude_tables": names(exclude_tables),
        "threads": threads,
        "busy_timeout": float(busy_timeout),
        "timeout": None if timeout is None else float(timeout),
        "retries": retries,
        "busy_limit": None if busy_limit is None else float(busy_limit),
    }
    with used(db, busy_timeout), Watched(progress) as notify:
        return from_json(ProfileReport, _sqluice.profile(os.fspath(db), args, notify))


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
    """Makes indexes of an existing database, by the engine's own sort: `CREATE INDEX` statements, all in one transaction."""
    check_arguments(index, locals())
    options = write_options(threads=threads, memory=memory, temp_dir=temp_dir, busy_timeout=busy_timeout)
    with used(db, busy_timeout), Watched(progress) as notify:
        return from_json(MadeIndexes, _sqluice.index(os.fspath(db), names(statements), options, notify))


def copy(
    source: Path,
    target: Path,
    *,
    compact: bool = False,
    page_size: int | None = None,
    tables: str | Sequence[str] = (),
    exclude_tables: str | Sequence[str] = (),
    no_indexes: bool = False,
    no_verify: bool = False,
    force: bool = False,
    journal_mode: Literal["delete", "wal"] | None = None,
    auto_vacuum: Literal["none", "full", "incremental"] | None = None,
    user_version: int | None = None,
    application_id: int | None = None,
    interior_first: bool = False,
    purpose: Literal["http", "datasette", "turso", "d1", "mobile"] | None = None,
    mask: str | os.PathLike[str] | None = None,
    key_file: Path | None = None,
    strict_mask: bool = False,
    overwrite: bool = False,
    threads: int | None = None,
    memory: int = MEMORY,
    temp_dir: Path | None = None,
    busy_timeout: float = 5.0,
    assume_unused: bool = False,
    timeout: float | None = None,
    retries: int | None = None,
    busy_limit: float | None = None,
    progress: bool | Callback = False,
) -> CopyReport:
    """Copies a database, or some of its tables, to a new file without free pages, as `sqluice copy` does. With the source itself as the
    target, the copy replaces it, as VACUUM does. assume_unused: by a rename even if others could have it open unseen; otherwise
    the pages are written into it in one transaction then.

    compact: packs all pages anew, so that no deleted bytes are copied. tables, exclude_tables: tables and views, with their indexes and
    triggers. no_indexes: leaves indexes out that make nothing unique. no_verify: compares no index with its table, and no value with its
    column; pages and records are always verified. force: copies although views, triggers or foreign keys need what is
    left out. journal_mode, auto_vacuum, user_version, application_id, page_size: those of the source, except that a new file has the journal
    mode "delete". interior_first: places all interior pages after the first page, for readers that fetch ranges;
    reads the source twice, not possible with auto_vacuum. purpose: chooses settings, which the report lists; "datasette" writes a file for
    its option inspect-file beside the copy, "d1" a folder of SQL files within the limits of Cloudflare D1. busy_limit: seconds that
    the copy may keep others from committing, which it does in all journal modes but WAL.

    mask: statements whose comments say which columns get other values, such as `email -- gen: email()`, or the path of a file that has them.
    key_file: the secret key, at least 16 bytes: the same key gives the same values; without it, a random key is made and forgotten.
    strict_mask: refuses to copy a column without a mask that looks personal, which the report lists otherwise.
    """
    check_arguments(copy, locals())
    mask_sql, mask_file = schema_given(mask)
    args = {
        "compact": compact,
        "page_size": page_size,
        "tables": names(tables),
        "exclude_tables": names(exclude_tables),
        "no_indexes": no_indexes,
        "no_verify": no_verify,
        "force": force,
        "journal_mode": journal_mode,
        "auto_vacuum": auto_vacuum,
        "user_version": user_version,
        "application_id": application_id,
        "interior_first": interior_first,
        "purpose": purpose,
        "mask": mask_sql,
        "mask_file": mask_file,
        "key_file": None if key_file is None else os.fspath(key_file),
        "strict_mask": strict_mask,
        "busy_limit": None if busy_limit is None else float(busy_limit),
    }
    options = write_options(
        threads=threads,
        memory=memory,
        temp_dir=temp_dir,
        overwrite=overwrite,
        busy_timeout=busy_timeout,
        assume_unused=assume_unused,
        timeout=timeout,
        retries=retries,
    )
    with used(source, busy_timeout), used(target, busy_timeout), Watched(progress) as notify:
        return from_json(CopyReport, _sqluice.copy(os.fspath(source), os.fspath(target), args, options, notify))


def merge(
    target: Path,
    sources: Path | Iterable[Path],
    *,
    on_conflict: OnConflict = "abort",
    keep_rowids: bool = False,
    renumber: str | Sequence[str] = (),
    rewrite_references: bool = False,
    reference: str | Sequence[str] = (),
    no_reference: str | Sequence[str] = (),
    orphans: Literal["refuse", "keep"] = "refuse",
    add_columns: bool = False,
    source_column: str | None = None,
    exclude_tables: str | Sequence[str] = (),
    no_verify: bool = False,
    compact: bool = False,
    analyze: bool = False,
    overwrite: bool = False,
    threads: int | None = None,
    memory: int = MEMORY,
    temp_dir: Path | None = None,
    busy_timeout: float = 5.0,
    assume_unused: bool = False,
    timeout: float | None = None,
    retries: int | None = None,
    busy_limit: float | None = None,
    progress: bool | Callback = False,
) -> MergeReport:
    """Merges databases into one, as `sqluice merge` does: tables that are declared alike become one table, with the rows of one database
    after another, and other objects are copied. A target that exists is the first of the databases: it keeps its rows and gets those of
    the sources, unless `overwrite` is set.

    sources: paths, also patterns such as "shard*.db". on_conflict: what to do with a row whose key a row of another database has already.
    keep_rowids: keeps rowids also in tables that do not show them. renumber: tables whose INTEGER PRIMARY KEY gets new numbers where
    databases share some; rewrite_references: lets foreign keys follow these. reference: columns that refer to a key without REFERENCES,
    such as "visits.place_id=places.id"; no_reference: columns that do not although they look so, such as "visits.place_id": with
    renumber, each such column must be in one of the two. orphans: rows that refer to a row which on_conflict leaves out are an error,
    unless this is "keep". add_columns: adds columns that a table lacks in some
    databases. source_column: a column that is added to every table, with the name of the database. no_verify: compares no index
    with its table, and no value with its column; pages and records are always verified. compact: packs all pages anew.
    analyze: makes statistics, which are dropped otherwise. busy_limit: seconds that the merge may keep others from committing to a
    source, which it does in all journal modes but WAL. assume_unused: a target is replaced by a rename even if others could have it open
    unseen; otherwise the pages are written into it in one transaction then.
    """
    check_arguments(merge, locals())
    args = {
        "keep_rowids": keep_rowids,
        "renumber": names(renumber),
        "rewrite_references": rewrite_references,
        "reference": names(reference),
        "no_reference": names(no_reference),
        "orphans": orphans,
        "add_columns": add_columns,
        "source_column": source_column,
        "exclude_tables": names(exclude_tables),
        "no_verify": no_verify,
        "compact": compact,
        "busy_limit": None if busy_limit is None else float(busy_limit),
    }
    options = write_options(
        threads=threads,
        memory=memory,
        temp_dir=temp_dir,
        overwrite=overwrite,
        busy_timeout=busy_timeout,
        assume_unused=assume_unused,
        timeout=timeout,
        retries=retries,
        analyze=analyze,
        on_conflict=on_conflict,
    )
    given = [sources] if isinstance(sources, str | os.PathLike) else sources
    paths = _sqluice.expand([os.fspath(source) for source in given], None if timeout is None else float(timeout), retries)
    with ExitStack() as databases, Watched(progress) as notify:
        for path in [os.fspath(target), *paths]:
            databases.enter_context(used(path, busy_timeout))
        return from_json(MergeReport, _sqluice.merge(os.fspath(target), paths, args, options, notify))


def check(
    db: Path, *, full: bool = False, threads: int | None = None, progress: bool | Callback = False
) -> CheckReport:
    """Looks whether a database is sound; `full`: SQLite's own `integrity_check` looks, too. What is wrong is in the report."""
    check_arguments(check, locals())
    with used(db), Watched(progress) as notify:
        return from_json(CheckReport, _sqluice.check(os.fspath(db), full, threads, notify))


def pack(
    db: Path,
    folder: Path,
    *,
    layout: Layout = "sqlar",
    compress: bool = False,
    include: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    if_exists: IfExists = "fail",
    overwrite: bool = False,
    threads: int | None = None,
    memory: int = MEMORY,
    temp_dir: Path | None = None,
    page_size: int | None = None,
    busy_timeout: float = 5.0,
    assume_unused: bool = False,
    progress: bool | Callback = False,
) -> PackReport:
    """Packs a folder into a database: an SQLite Archive (`sqlar`), or keys and blobs (`kv`).

    if_exists: what to do with an existing table of files: `fail`; `append` adds the files, and replaces those with the same names; `replace`
    removes all others. Files can't be `upsert`ed.
    """
    check_arguments(pack, locals())
    options = write_options(
        threads=threads,
        memory=memory,
        temp_dir=temp_dir,
        page_size=page_size,
        overwrite=overwrite,
        busy_timeout=busy_timeout,
        assume_unused=assume_unused,
        if_exists=if_exists,
    )
    with used(db, busy_timeout), Watched(progress) as notify:
        text = _sqluice.pack(
            os.fspath(db), os.fspath(folder), layout, compress, names(include), names(exclude), options, notify
        )
    return from_json(PackReport, text)


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
    check_arguments(unpack, locals())
    with used(db), Watched(progress) as notify:
        text = _sqluice.unpack(
            os.fspath(db), os.fspath(folder), layout, names(include), names(exclude), overwrite, tree, threads, notify
        )
    return from_json(UnpackReport, text)
