"""The functions that have the names of commands, and do the same work: `load`, `generate`, `profile`, `index`, `copy`, `merge`, `check`, `recover`, `pack`,
`unpack`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from . import _sqluice
from ._arguments import check_arguments
from ._files import Files, Readable, given_files
from ._open_files import used
from ._progress import Callback, Watched
from ._report import CheckReport, CopyReport, MadeIndexes, MergeReport, PackReport, ProfileReport, RecoverReport, Report, UnpackReport, from_json
from ._settings import settings_of
from ._write import MEMORY, IfExists, OnConflict, Path, names, specs, statements_given

Format = Literal["csv", "tsv", "ndjson", "json", "parquet", "arrow"]
InputFormat = Literal[Format, "avro", "xlsx", "xlsb", "ods", "xls", "sqlite", "sql"]
OutputFormat = Literal[Format, "sql"]
Layout = Literal["auto", "sqlar", "kv"]


def load(
    db: Path,
    files: Path | Readable | Iterable[Path | Readable],
    *,
    table: str | Sequence[str] | None = None,
    name_from: Literal["file", "path"] = "file",
    format: InputFormat | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    escape: str | None = None,
    comment: str | None = None,
    line_end: Literal["any", "crlf"] | None = None,
    header: bool | None = None,
    skip_lines: int | None = None,
    null: str | Sequence[str] = (),
    trim: bool = False,
    keep_empty_rows: bool = False,
    empty_as_text: bool = False,
    pad: bool = False,
    strict_quotes: bool = False,
    lenient_json: bool = False,
    encoding: str | None = None,
    records: str | None = None,
    sheet: str | Sequence[str] = (),
    range: str | None = None,
    formulas: Literal["value", "null"] = "value",
    schema: str | os.PathLike[str] | None = None,
    types: Mapping[str, str] | None = None,
    date: Mapping[str, str] | None = None,
    boolean: str | Sequence[str] | Mapping[str, tuple[str, str]] = (),
    decimal_comma: str | Sequence[str] = (),
    thousands: Mapping[str, str] | None = None,
    accounting: str | Sequence[str] = (),
    percent: str | Sequence[str] = (),
    columns: str | Sequence[str] | None = None,
    where: str | Sequence[str] | Mapping[str, str] | None = None,
    set: Mapping[str, str] | None = None,
    exclude_columns: str | Sequence[str] | None = None,
    rename: Mapping[str, str] | None = None,
    select: str | None = None,
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
    database: str | None = None,
    commit_anyway: bool = False,
    schema_name: str | None = None,
    query: str | None = None,
    connections: int | None = None,
    row_security: bool = False,
    lock: bool = False,
    if_exists: IfExists = "fail",
    fts: str | Sequence[str] = (),
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
    """Loads CSV, TSV, JSON, NDJSON, Parquet, Arrow and Avro files, sheets of workbooks (XLSX, XLSB, ODS, XLS), tables of databases, and SQL dumps
    into a database, as `sqluice load` does: each file into a table of its own, or all files into `table`. A dump declares its own tables; `table`
    selects one or several of them, with their indexes and triggers. Compression, encoding, delimiters and types are recognised.

    files: paths, and objects with a method `read`, such as `io.BytesIO`; `table` names the table of one that has no name. Of a folder or a ZIP or tar
    archive, each file is loaded whose extension is that of a format; hidden files, databases, dumps and others are listed in `Report.left_out`.
    "data.zip/a.csv" and "data.zip/*.csv" name members of an archive.
    format: the format of all files, if their names and first bytes do not show it. add_columns: adds columns that the table lacks.
    header: True if the first record names the columns, False if it is a row. null: unquoted texts that are read as NULL. empty_as_text: an unquoted
    empty field is empty text, not NULL. encoding: the encoding of the files, such as "windows-1252". columns: the columns to load, in this order.
    limit: the largest number of records to read for each table.
    delimiter: one character or several, "whitespace" for runs of blanks, "none" for one column. quote, escape, comment: "" for none.
    line_end: "crlf" if LF and CR by themselves are text.
    skip_lines: the number of lines to skip; 0 also keeps lines before the table that would be recognised as no part of it. pad: fields that are
    missing at the end of a record are NULL. strict_quotes: a quote inside an unquoted field makes a bad row, and so does a quoted field whose lines
    could be rows, which is only a warning by default. trim: blanks around unquoted values are removed.
    keep_empty_rows: rows of empty fields at the end of a file are loaded; without it they are left out, unless the table exists or is declared
    with several columns.
    lenient_json: NaN in JSON is NULL, Infinity a float, and half of a surrogate pair U+FFFD; without it such a record is bad.
    schema: statements that declare the tables, or the path of a file with them; types: the types of some columns. lossy: accepts values that SQLite
    would round or overflow; by default they make bad rows.
    date: formats of columns with dates, such as {"placed": "%d.%m.%Y"}, which become ISO 8601 text. boolean: columns of booleans, which become
    1 and 0, or the words of each: {"paid": ("ja", "nein")}. decimal_comma, thousands: columns of numbers such as 3,14, and what stands
    between groups of three digits: {"price": "."}. accounting: columns of amounts such as $5.00, 5.00 USD, (5.00) and 5.00-. percent: columns
    such as 12.5%, which becomes 0.125. A value that does not match makes a bad row.
    where: an SQL expression that is true for the records to load, such as "price > 0", or several; for a server, a condition in its SQL for each
    table, such as {"orders": "total > 10"}. set: columns to add or replace by SQL expressions, such as {"email": "lower(trim(email))"}; an expression
    can use the columns of earlier ones. exclude_columns, rename: columns to leave out, and new names of columns, after all expressions. select: the
    columns and expressions to load instead, such as "id, lower(email) AS email". `source_file` is the name of the file, and `source_line` the line of
    the record. An expression that fails for a record makes a bad row.
    reject: the CSV file for bad rows, which must not exist unless `overwrite_reject` is set; without `reject`, the first bad row ends the load.
    max_rejects: the largest number of bad rows. skip_bad_files: files that can't be loaded are left out, with a warning, and listed in
    `Report.skipped`. database: the database to load, if a dump has several. commit_anyway: a dump that ends in ROLLBACK or within a transaction, or
    lacks its last line, is loaded as if it were complete; without it such a dump is refused. name_from="path": tables are named after folder and
    file. records: the keys that lead to the array of records in a JSON file that is one object, such as "features" or "data.items". sheet: the sheets
    of a workbook to load, by their names or numbers; without it all that are not hidden. range: the cells of a sheet, such as "A3:F200", "A3:F" or
    "Orders!A3:F". formulas="null": formulas whose value is not stored are NULL, not bad rows. Of a server, such as
    "postgres://ann@db.example.org/shop" or "mysql://...", all tables are loaded in one snapshot. schema_name: the schema of PostgreSQL whose tables
    are loaded. query: a query whose rows make `table`. connections: the largest number of connections that read rows. row_security: loads the rows
    that row security lets through; by default, a table whose rows it filters is an error. lock: locks all tables of MySQL while several connections
    begin, so that they see one snapshot. The other parameters are those of `write`.
    """
    listed = given_files(files)
    check_arguments(load, locals())
    upserts = if_exists == "upsert"
    settings = settings_of(
        "load",
        locals(),
        where=conditions(where),
        schema=statements_given(schema),
        index=specs(index),
        unique=specs(unique),
        primary_key=[] if upserts else names(primary_key),
        upsert=names(primary_key) if upserts else None,
    )
    with (
        Files(listed, table, encoding, temp_dir) as paths,
        # A file to load may be a database, too.
        used(db, inputs=paths) as native,
        Watched(progress) as notify,
    ):
        report = from_json(Report, native.load(os.fspath(db), paths, settings, notify))
    for warning in (warning for read in report.inputs for warning in read.warnings):
        warnings.warn(warning, stacklevel=2)
    for skipped in report.skipped:
        warnings.warn(f"skipped {skipped.name}: {skipped.why}", stacklevel=2)
    return report


def conditions(where: str | Sequence[str] | Mapping[str, str] | None) -> str | Sequence[str] | None:
    """Returns SQL expressions unchanged; conditions for tables of a server, which are a mapping, become texts of the form "table=condition"."""
    if not isinstance(where, Mapping):
        return where
    return [f"{table}={condition}" for table, condition in where.items()]


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
    """Makes a test database, as `sqluice generate` does: `schema` is statements, with comments such as `-- gen: int(1, 100)`, or the path of a file
    with them; `preset` is a built-in one: `user`, `integers`, `kv`, `shop`, `events`, or `tpch`, whose size is its `scale`: 1 is 8.7 million rows.
    `rows` is the row count of every table, or of the main table of a preset, which determines those of its other tables; or a mapping from tables to
    row counts. The same `seed` makes the same rows. `like` is a database whose statistics the new one gets: it is described first, as by `profile`.
    `rows_scale` multiplies the row counts that the schema states, or those of `like`. With `db=None`, the rows are made and discarded. The other
    parameters are those of `write`.

    if_exists: what to do with existing tables, as for `write`; generated rows have no keys by which `upsert` could find existing rows, and tables of
    TPC-H must be new.
    """
    check_arguments(generate, locals())
    settings = settings_of("generate", locals(), upsert=[] if if_exists == "upsert" else None)
    with used(db) as native, Watched(progress) as notify:
        return from_json(Report, native.generate(None if db is None else os.fspath(db), statements_given(schema), settings, notify))


def profile(
    db: Path,
    *,
    keep_common: int = 20,
    no_values: bool = False,
    strip_literals: bool = False,
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
    `generate` takes: from it, `generate` makes a database with the same numbers of rows, NULLs and distinct values, and with similar distributions.

    keep_common: in how many rows a value must occur to be shown; values of columns that look personal are never shown. no_values: shows no values.
    strip_literals: removes literals from the schema; CHECKs, and indexes that are not unique, are left out if they have literals.
    tables, exclude_tables: the only tables and views to describe, or those to leave out. busy_limit: the seconds for which reading may keep other
    programs from committing.
    """
    check_arguments(profile, locals())
    settings = settings_of("profile", locals())
    with used(db) as native, Watched(progress) as notify:
        return from_json(ProfileReport, native.profile(os.fspath(db), settings, notify))


def index(
    db: Path,
    statements: str | Sequence[str] = (),
    *,
    fts: str | Sequence[str] = (),
    fts_name: str | None = None,
    tokenize: str | None = None,
    prefix: str | None = None,
    fts_option: str | Sequence[str] = (),
    fts_content: Literal["external", "own"] = "external",
    triggers: bool = False,
    fts_optimize: str | Sequence[str] = (),
    fts_rebuild: str | Sequence[str] = (),
    threads: int | None = None,
    memory: int = MEMORY,
    temp_dir: Path | None = None,
    busy_timeout: float = 5.0,
    progress: bool | Callback = False,
) -> MadeIndexes:
    """Creates indexes of an existing database, by `CREATE INDEX` statements, and full-text indexes, on all cores and in one
    transaction.

    fts: full-text indexes (FTS5) over columns, such as `"products(name, description)"`; fts_name: the name of the full-text table, if only one is
    created, instead of `products_fts`; tokenize, prefix, fts_option: options of FTS5, such as `"porter"`, `"2 3"` and `"detail=none"`; fts_content:
    `"own"` copies the text into the full-text table; triggers: creates triggers that keep the index up to date. fts_optimize: full-text tables whose
    segments are merged into one; fts_rebuild: full-text tables whose index is made again from the texts.
    """
    check_arguments(index, locals())
    settings = settings_of("index", locals())
    with used(db) as native, Watched(progress) as notify:
        return from_json(MadeIndexes, native.index(os.fspath(db), names(statements), settings, notify))


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
    where: Mapping[str, str] | None = None,
    sample: Mapping[str, str | int] | None = None,
    seed: int = 1,
    sample_children: bool = False,
    orphans: Literal["refuse", "keep"] = "refuse",
    mask: str | os.PathLike[str] | None = None,
    key_file: Path | None = None,
    strict_mask: bool = False,
    allow: str | Sequence[str] = (),
    reference: str | Sequence[str] = (),
    no_reference: str | Sequence[str] = (),
    strip_literals: bool = False,
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
    """Copies a database, or some of its tables, to a new file without free pages, as `sqluice copy` does. With the source itself as the target, the
    copy replaces the source, as VACUUM does. assume_unused: replaces it by a rename even if another program might have it open without being
    noticed; by default, the new pages are in this case written into the source in one transaction.

    compact: packs all pages anew, so that no deleted bytes are copied. tables, exclude_tables: tables and views, with their indexes and triggers.
    no_indexes: leaves out indexes that are not unique. no_verify: does not compare indexes with their tables, nor values with the types of their
    columns; pages and records are always verified. force: copies although views, triggers or foreign keys need what is left out. journal_mode,
    auto_vacuum, user_version, application_id, page_size: properties of the copy; by default those of the source, except that a new file has the
    journal mode "delete". interior_first: places all interior pages after the first page, for readers that fetch ranges; reads the source twice, not
    possible with auto_vacuum. purpose: chooses settings, which the report lists; "datasette" writes a file for its option inspect-file beside the
    copy, "d1" a folder of SQL files within the limits of Cloudflare D1. busy_limit: the seconds for which the copy may keep other programs from
    committing; after that it ends with an error. In WAL mode, it keeps nobody waiting.

    where: for each table, an SQL expression that is true for the rows to copy, such as {"orders": "placed >= '2024-01-01'"}; with a mask, it sees the
    old values. sample: for each table, the share of its rows to copy, "1%", or their number, 1000: a hash of the seed and of the primary key chooses
    them, or of the rowid in a table without one, so that the same seed and keys give the same sample. sample_children: leaves out rows that refer to
    left-out rows. orphans: "refuse" makes such rows an error, "keep" copies them. A column that seems to refer to a table by its name and its values
    counts as a reference, unless no_reference names it; reference declares one.

    mask: statements whose comments say which columns get other values, such as `email -- gen: email()`, or the path of a file that has them.
    key_file: the secret key, at least 16 bytes: the same key gives the same values; without it, a random key is made and forgotten.
    strict_mask: refuses to copy a column without a mask that looks personal, or that holds values of a masked column; by default, the report lists
    such columns. allow: columns that a strict copy accepts, such as "orders.note". reference: columns that refer to a masked key without
    REFERENCES, such as "visits.place_id=places.id", and get its mask; no_reference: columns that seem to refer to a masked key but do not,
    such as "visits.place_id". A column that seems to refer to a masked key is an error until one of these names it. strip_literals: removes
    literals from DEFAULTs, views and triggers, and leaves CHECKs and indexes with literals out, unless an index is unique.
    """
    check_arguments(copy, locals())
    settings = settings_of("copy", locals(), mask=statements_given(mask))
    with used(source, target) as native, Watched(progress) as notify:
        return from_json(CopyReport, native.copy(os.fspath(source), os.fspath(target), settings, notify))


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
    """Merges databases into one, as `sqluice merge` does: tables with the same declaration become one table, with the rows of one database
    after another, and other objects are copied. A target that exists is the first of the databases: it keeps its rows and gets those of
    the sources, unless `overwrite` is set.

    sources: paths, also patterns such as "shard*.db". on_conflict: what to do with a row whose key a row of another database has already.
    keep_rowids: keeps rowids also in tables without a column for them. renumber: tables whose INTEGER PRIMARY KEY gets new numbers if databases share
    values; rewrite_references: changes foreign keys along with these. reference: columns that refer to a key without REFERENCES, such as
    "visits.place_id=places.id"; no_reference: columns that look as if they refer to a key, but do not, such as "visits.place_id". With renumber, each
    column that looks so must be named in one of the two. orphans: "keep" keeps rows that refer to a row which on_conflict leaves out; by default they
    are an error. add_columns: adds columns that a table lacks in some databases. exclude_tables: tables that are left out. source_column: a column
    that is added to every table, with the name of the database. no_verify: does not compare indexes with their tables, nor values with the types of
    their columns; pages and records are always verified. compact: packs all pages anew.
    analyze: runs ANALYZE at the end; by default the result has no statistics. busy_limit: the seconds for which the merge may keep other programs
    from committing to a source; after that it ends with an error. In WAL mode, it keeps nobody waiting. assume_unused: replaces the target by a
    rename even if another program might have it open without being noticed; by default, the new pages are then written into it in one transaction.
    """
    check_arguments(merge, locals())
    settings = settings_of("merge", locals())
    listed = [sources] if isinstance(sources, str | os.PathLike) else sources
    paths = _sqluice.expand([os.fspath(source) for source in listed], settings)
    with used(target, *paths) as native, Watched(progress) as notify:
        return from_json(MergeReport, native.merge(os.fspath(target), paths, settings, notify))


def check(
    db: Path, *, full: bool = False, threads: int | None = None, progress: bool | Callback = False
) -> CheckReport:
    """Verifies a database, as `sqluice check` does, and returns a report with the faults. full: also runs SQLite's `integrity_check`."""
    check_arguments(check, locals())
    settings = settings_of("check", locals())
    with used(db) as native, Watched(progress) as notify:
        return from_json(CheckReport, native.check(os.fspath(db), settings, notify))


def recover(
    source: Path,
    target: Path,
    *,
    schema: str | os.PathLike[str] | None = None,
    strict: bool = False,
    deleted: bool = False,
    from_indexes: bool = False,
    ignore_wal: bool = False,
    overwrite: bool = False,
    threads: int | None = None,
    memory: int = MEMORY,
    temp_dir: Path | None = None,
    busy_timeout: float = 5.0,
    progress: bool | Callback = False,
) -> RecoverReport:
    """Saves what is left of a damaged database into a new one, as `sqluice recover` does. The damaged file is only read; its -wal or
    -journal is used as SQLite would use it.

    schema: statements that declare the tables of a database whose schema is lost, or the path of a file with them. strict: puts rows that match a
    table only by the number and kinds of their columns into lost_and_found. deleted: saves the rows of freed pages, too. from_indexes: saves
    the columns that indexes still have of lost rows, in lost_and_found. ignore_wal: uses neither the -wal nor the -journal beside the database. `damaged` in the report is False if no damage was found.
    """
    check_arguments(recover, locals())
    settings = settings_of("recover", locals(), schema=statements_given(schema))
    with used(source, target) as native, Watched(progress) as notify:
        return from_json(RecoverReport, native.recover(os.fspath(source), os.fspath(target), settings, notify))


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
    timeout: float | None = None,
    retries: int | None = None,
    foreign_keys: bool | None = None,
    analyze: bool = False,
    progress: bool | Callback = False,
) -> PackReport:
    """Packs a folder into a database: the `layout` is an SQLite Archive (`sqlar`), or keys and blobs (`kv`).

    compress: deflates files if that makes them smaller. include, exclude: patterns of the names that are packed, such as "*.rs", and of those that
    are left out.
    if_exists: what to do with an existing table of files: `fail`; `append` adds the files, and replaces those with the same names; `replace`
    removes all existing files first. Files can't be `upsert`ed. The other parameters are those of `write`.
    """
    check_arguments(pack, locals())
    settings = settings_of(
        "pack",
        locals(),
        kv=layout == "kv",
        compress="deflate" if compress else "none",
        upsert=[] if if_exists == "upsert" else None,
    )
    with used(db) as native, Watched(progress) as notify:
        text = native.pack(os.fspath(db), os.fspath(folder), settings, notify)
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
    """Restores the files of an archive below `folder`. The report lists rows that can't be restored; all others are.

    layout: the table to read, `sqlar` or `kv`; "auto" reads the one that the database has. include, exclude: patterns of the names that are restored,
    and of those that are left out. overwrite: existing files are replaced. tree: distributes files over subfolders with at most 100 entries, by their
    keys.
    """
    check_arguments(unpack, locals())
    settings = settings_of("unpack", locals(), kv=None if layout == "auto" else layout == "kv")
    with used(db) as native, Watched(progress) as notify:
        text = native.unpack(os.fspath(db), os.fspath(folder), settings, notify)
    return from_json(UnpackReport, text)
