"""The reports that functions return: dataclasses with the names of the JSON of the same reports."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

T = TypeVar("T")


def _grouped(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of a run, such as `write` or `sync`, and its duration."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class IndexReport:
    """An index that was written with the rows of its table, or created."""

    name: str
    write_path: str
    """The way its entries are written: `sorted`, `insert` or `sqlite`."""
    entries: int
    root_page: int
    leaf_pages: int
    interior_pages: int
    overflow_pages: int


@dataclass(frozen=True, slots=True)
class FullTextReport:
    """The report of a full-text index. The numbers are 0 if SQLite built the index."""

    name: str
    table: str
    """The table whose rows are indexed."""
    write_path: str
    """`sorted` if the terms were sorted on all cores, `sqlite` if SQLite built the index."""
    rows: int
    tokens: int
    terms: int
    leaf_pages: int
    bytes: int
    work: str = "create"
    """The work that was done: `create`, `optimize` or `rebuild`."""
    merged_segments: int = 0
    """The number of segments that `fts_optimize` has merged; 0 if the index had only one segment."""


@dataclass(frozen=True, slots=True)
class MissedType:
    """The reason why a column is TEXT although nearly all of its values are numbers."""

    type: str
    """The type of the column without the values that are no numbers: `INTEGER` or `REAL`. `types={column: type}` declares it."""
    value: str
    """The first value that is no number, as text."""
    file: str | None
    line: int | None
    values: int
    """The number of values that were counted."""
    others: int
    """The number of these values that are no numbers."""
    quoted: bool = False
    """True if the values that are no numbers are NULL markers in quotes, such as `"NA"`, which `null=[...]` does not read."""
    read_by: tuple[tuple[str, ...], ...] = ()
    """The parameters that would read these values as numbers, each with its value: `("thousands", "price=,")`."""
    signs: str | None = None
    """The signs in a value that keep the column from being read as numbers, such as `a currency`, if no parameter reads all values of the column."""


@dataclass(frozen=True, slots=True)
class NullMarkers:
    """Texts that other programs write for NULL, and that a column keeps."""

    tokens: tuple[str, ...]
    """The most frequent of these texts, such as `NA`."""
    readable: bool
    """True if `null=[...]` would turn these texts into NULL. False for formats with typed values, such as JSON: there only a null without
    quotes is NULL."""
    type: str | None
    """The number type of the column without these texts, if all other values are numbers."""
    value: str
    """The first of these texts."""
    file: str | None
    line: int | None
    nulls: int
    """The number of values that are such a text."""
    values: int
    """The number of values, these texts included."""


@dataclass(frozen=True, slots=True)
class ChangedText:
    """A text that a declared numeric type converts to a number, such as `007` to 7."""

    value: str
    becomes: str
    file: str | None
    line: int | None


@dataclass(frozen=True, slots=True)
class ColumnReport:
    """A column of a table."""

    name: str
    type: str
    conversion: str | None
    """The requested conversion of the column's text, such as `date %d.%m.%Y`; None if no conversion was requested."""
    nulls: NullMarkers | None
    missed: MissedType | None
    changed: ChangedText | None


@dataclass(frozen=True, slots=True)
class TableReport:
    """A table that got rows: the way they were written, and their counts."""

    name: str
    action: str
    """`make` for a new table; `append`, `replace` or `upsert` for an existing one."""
    rows: int
    rejected: int
    rejected_lines: int
    """The number of lines that the rejected rows take in the input: a row takes several if a quoted field has line breaks."""
    padded: int
    """Rows that were loaded although fields are missing at their end, which are NULL."""
    filtered: int
    """The number of records that `where` has left out."""
    filtered_null: int
    """The number of these records for which the condition was NULL, neither true nor false."""
    ignored: int
    """Rows that were left out because another row has the same key, or because a trigger skipped them."""
    updated: int | None
    """The number of `rows` that changed an existing row; None: not counted, in a large database or with triggers."""
    replaced: int | None
    """The number of rows that a later row with the same key has replaced; None: not counted, in a large database or with triggers."""
    write_path: str
    """The way its rows are written: `pages`, `sorted`, `insert` or `sqlite`."""
    root_page: int
    leaf_pages: int
    interior_pages: int
    overflow_pages: int
    columns: tuple[ColumnReport, ...]
    indexes: tuple[IndexReport, ...]


@dataclass(frozen=True, slots=True)
class Existing:
    """An existing database that the rows went into."""

    journal_mode_before: str
    journal_mode_after: str
    pages_before: int
    pages_written: int
    full_text_behind: tuple[str, ...] = ()
    """Full-text tables that did not get the new rows, as no trigger adds them."""


@dataclass(frozen=True, slots=True)
class ReplacedTable:
    """A table of a database that was replaced."""

    name: str
    rows: int | None
    """The number of rows; None: the table is virtual, or could not be read."""
    estimated: bool
    """True if the number of rows is an estimate."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """The content of a database before it was replaced."""

    tables: tuple[ReplacedTable, ...]
    rows: int
    """The number of rows of all tables whose number of rows is known."""
    estimated: bool
    """True if the number of rows of a table is an estimate."""
    bytes: int
    unread: str | None
    """The reason why a part of the old database could not be read; None if all of it was read."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """The method by which a new file replaced a database file."""

    method: Literal["rename", "transaction"]
    """`rename`: the new file was renamed over the old one. `transaction`: the new pages were written into the old file, because another program might
    have it open without being noticed."""
    why: str | None = None
    """The reason why a transaction was used; None for a rename."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that could not be loaded, or a row of an archive that could not be restored, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file in a folder or an archive that was not loaded, such as a hidden file. If the file itself is named, it is loaded."""

    name: str
    """The path of the file. A path that ends in a slash is a folder, and all files in it are left out."""
    why: str
    """The reason, such as `hidden`, `a database` or `no known extension`."""


@dataclass(frozen=True, slots=True)
class Preamble:
    """Lines before the table in a CSV file, which were skipped."""

    lines: int
    first: str
    """The first of these lines that has text, shortened."""


@dataclass(frozen=True, slots=True)
class Csv:
    """The properties with which a CSV file was read."""

    delimiter: str
    """The delimiter in words: `comma`, `tab`, ..."""
    quote: str | None
    escape: str | None
    comment: str | None
    header: bool
    header_is_close: bool
    """True if the evidence for and against a header was nearly even, so that the guess may be wrong."""
    skipped_lines: int
    preamble: Preamble | None
    """The skipped lines that were recognised as no part of the table; None if there are none."""
    comments: int
    """Lines of the sample that were recognised as comments."""
    footer: int | None
    """The line of a record at the end of the file that looks like a footer, but is read as a record."""


@dataclass(frozen=True, slots=True)
class Input:
    """The properties with which a file was read, recognised or given."""

    name: str
    table: str
    format: str
    compression: str | None
    """gzip, zstd, bzip2 or xz."""
    encoding: str | None
    """The encoding of text that is not UTF-8; None for UTF-8."""
    csv: Csv | None
    padded: int
    """Rows that were loaded although fields are missing at their end, which are NULL."""
    notes: tuple[str, ...] = ()
    """Notes about reading that may surprise the caller, such as skipped lines."""
    warnings: tuple[str, ...] = ()
    """Warnings about values that may have been read wrongly, with the place of the first, and the parameter that reads them in another way."""
    dialect: str | None = None
    """The database whose SQL a dump has: SQLite, MySQL (also for MariaDB) or PostgreSQL."""
    sheet: str | None = None
    """The sheet of a workbook."""


@dataclass(frozen=True, slots=True)
class Report:
    """The report of a run that wrote rows."""

    target: str | None
    rows: int
    rejected: int
    rejected_lines: int
    """The number of lines that the rejected rows take in the input: a row takes several if a quoted field has line breaks."""
    ignored: int
    """Rows that were left out because another row has the same key, or because a trigger skipped them."""
    pages: int
    page_bytes: int
    bytes: int
    output: str
    existing: Existing | None
    threads: int
    seconds: float
    phases: tuple[Phase, ...]
    tables: tuple[TableReport, ...]
    checksum: str | None = None
    """The checksum of all pages, in hexadecimal; None if the file existed before."""
    full_text: tuple[str, ...] = ()
    """Full-text tables whose indexes got the terms of all new rows at once, and not row by row, and those that `fts` names."""
    notes: tuple[str, ...] = ()
    """Notes that may surprise the caller, such as columns that got another name."""
    inputs: tuple[Input, ...] = ()
    """The files of a load, and how each was read."""
    skipped: tuple[Skipped, ...] = ()
    """The files that could not be loaded (`skip_bad_files=True`)."""
    left_out: tuple[LeftOut, ...] = ()
    """The files of folders and archives that were not named, and are not loaded: hidden files, databases, pictures."""
    replaced: Replaced | None = None
    """The tables of the database that was replaced (`overwrite=True`)."""
    replacement: Replacement | None = None
    """The method by which the result took the place of an existing database."""
    removed: tuple[str, ...] = ()
    """Temporary files of killed runs, which were removed."""

    def __repr__(self) -> str:
        rate = f"{self.rows / self.seconds:,.0f} rows/s" if self.seconds else "at once"
        kind = "" if self.existing is None else " (existing)"
        notes = "".join(f"; {note}" for note in self.notes)
        if self.ignored:
            notes = f", {self.ignored:,} ignored{notes}"
        return (
            f"<Report: {_grouped(self.rows, 'row')} to {self.target}{kind}, {self.bytes:,} bytes, "
            f"{self.seconds:.3f} s, {rate}{notes}>"
        )


@dataclass(frozen=True, slots=True)
class MadeIndexes:
    """The report of `index`."""

    target: str
    journal_mode_before: str
    journal_mode_after: str
    pages_before: int
    pages: int
    page_bytes: int
    threads: int
    seconds: float
    phases: tuple[Phase, ...]
    indexes: tuple[IndexReport, ...]
    existing: tuple[str, ...]
    """Indexes that were not created because they existed, and their statements say IF NOT EXISTS."""
    full_text: tuple[FullTextReport, ...] = ()
    """Full-text indexes that were created, made again or optimized."""

    def __repr__(self) -> str:
        entries = sum(index.entries for index in self.indexes)
        names = [index.name for index in self.indexes] + [made.name for made in self.full_text]
        return f"<MadeIndexes: {', '.join(names) or 'nothing'} in {self.target}, {entries:,} entries, {self.seconds:.3f} s>"


@dataclass(frozen=True, slots=True)
class CopiedTable:
    """A table that was copied."""

    name: str
    rows: int
    leaf_pages: int
    relocated_leaves: int
    """Leaf pages that were copied as they are."""
    overflow_pages: int
    sorted: bool
    """True if its rows, which have no rowids, were out of order and were sorted."""
    root_page: int | None = None
    """The root of its B-tree; None: SQLite wrote the copy."""


@dataclass(frozen=True, slots=True)
class CopiedIndex:
    """An index that was copied."""

    name: str
    table: str
    entries: int
    leaf_pages: int
    relocated_leaves: int
    """Leaf pages that were copied as they are."""
    sorted: bool
    """True if its entries were out of order and were sorted."""
    unverified: str | None = None
    """The reason why the order of its entries was not verified; None if it was."""
    root_page: int | None = None
    """The root of its B-tree; None: SQLite wrote the copy."""


@dataclass(frozen=True, slots=True)
class ChosenSetting:
    """A setting that `purpose=` has chosen for a copy."""

    name: str
    value: str
    why: str


@dataclass(frozen=True, slots=True)
class MaskedColumn:
    """A column that was masked."""

    table: str
    column: str
    mask: str
    keeps_different: bool
    """True if the mask keeps different values different."""
    follows: str | None = None
    """The key that the column refers to, and whose mask it has; None if it has its own."""


@dataclass(frozen=True, slots=True)
class MaskWarning:
    """A column without a mask that looks personal."""

    table: str
    column: str
    what: str
    by: str
    """The evidence: "name", "values" or "keys"."""
    count: int
    """The number of values of this kind; if the name is the evidence, of all values that are not NULL."""


@dataclass(frozen=True, slots=True)
class SecondPlace:
    """A column without a mask that holds values of a masked column."""

    table: str
    column: str
    masked: str
    """The masked column, such as "customers.name"."""
    count: int
    """The number of values that the masked column has, too."""


@dataclass(frozen=True, slots=True)
class MaskRemark:
    """A remark about something that masks do not change, or about a weak mask."""

    about: str
    what: str


@dataclass(frozen=True, slots=True)
class CopiedLiteral:
    """An object of the schema that is copied with literal values in its text."""

    object: str
    places: tuple[str, ...]
    """The clause, line and column of each value, such as "DEFAULT at 2:13"."""


@dataclass(frozen=True, slots=True)
class StrippedText:
    """An object of the schema whose literals are not copied."""

    object: str
    literals: int
    left_out: bool
    """`True` if the whole object is left out."""


@dataclass(frozen=True, slots=True)
class MaskReport:
    """The masked columns of a copy, and findings about columns without a mask."""

    random_key: bool
    columns: tuple[MaskedColumn, ...]
    warnings: tuple[MaskWarning, ...]
    second_places: tuple[SecondPlace, ...]
    remarks: tuple[MaskRemark, ...]
    weak: tuple[MaskRemark, ...]
    """Masks that hide little, and why."""
    literals: tuple[CopiedLiteral, ...]
    comments: tuple[str, ...]
    """Objects of the schema whose text lost its comments."""
    stripped: tuple[StrippedText, ...]
    """Objects that lost literals, or are left out because of them."""
    rebuilt: tuple[str, ...]
    """Full-text tables that were built again from the masked rows."""
    dropped: tuple[str, ...]
    """Tables of statistics that were left out because they contain values of columns."""


@dataclass(frozen=True, slots=True)
class LeftOutRows:
    """The numbers of rows of a table that a copy has left out, by reason."""

    table: str
    rows: int
    filtered: int
    """Rows for which the condition was not true."""
    filtered_null: int
    """The number of these rows for which the condition was NULL."""
    not_sampled: int
    """Rows that are not in the sample."""
    children: int
    """Rows that were left out because they refer to left-out rows."""


@dataclass(frozen=True, slots=True)
class BrokenReference:
    """A reference to rows that a copy has left out."""

    table: str
    columns: tuple[str, ...]
    parent: str
    how: str
    """`declared` by the schema, `given`, or `found` by name and values."""
    orphans: int
    """Kept rows that refer to left-out rows."""
    left_out: int
    """Rows that were left out because they refer to left-out rows."""
    broken_before: int
    """Kept rows that refer to no row of the source."""


@dataclass(frozen=True, slots=True)
class SelectedRows:
    """The rows that conditions and samples have left out of a copy."""

    tables: tuple[LeftOutRows, ...]
    references: tuple[BrokenReference, ...] = ()
    sees_old_values: bool = False
    """True if the copy is masked, so that conditions and samples used values that are not in the copy."""


@dataclass(frozen=True, slots=True)
class CopyReport:
    """The report of `copy`."""

    source: str
    target: str
    source_bytes: int
    bytes: int
    pages: int
    page_bytes: int
    output: str
    """The way pages were written: `direct` past the page cache, `buffered` through it, or by `sqlite`."""
    source_journal_mode: str
    rows: int
    relocated_leaves: int
    """Leaf pages that were copied as they are, of all tables and indexes."""
    rewritten_leaves: int
    threads: int
    seconds: float
    phases: tuple[Phase, ...]
    tables: tuple[CopiedTable, ...]
    indexes: tuple[CopiedIndex, ...]
    others: int
    """Views, triggers and virtual tables that were copied."""
    left_out: tuple[str, ...]
    """Objects that were left out, such as `index orders_by_date`."""
    broken: tuple[str, ...]
    """Views, triggers and foreign keys that do not work in the copy because an object that they need was left out (`force=True`)."""
    checksum: str | None = None
    """The checksum of all pages, in hexadecimal; None: SQLite wrote them."""
    replaced: Replaced | None = None
    """The tables of the database that was replaced (`overwrite=True`)."""
    replacement: Replacement | None = None
    """The method by which the result took the place of an existing database."""
    removed: tuple[str, ...] = ()
    """Temporary files of killed runs, which were removed."""
    purpose: str | None = None
    chosen: tuple[ChosenSetting, ...] = ()
    """The settings that follow from the purpose."""
    files: tuple[str, ...] = ()
    """Files that were written besides the copy; for the purpose "d1", all files in its folder."""
    selected: SelectedRows | None = None
    """Rows that were left out (`where=...`, `sample=...`)."""
    mask: MaskReport | None = None
    """The report about masks (`mask=...`)."""

    def __repr__(self) -> str:
        return (
            f"<CopyReport: {_grouped(self.rows, 'row')} to {self.target}, {self.source_bytes:,} to {self.bytes:,} bytes, "
            f"{self.seconds:.3f} s>"
        )


@dataclass(frozen=True, slots=True)
class MergedSource:
    """A database that was merged."""

    path: str
    bytes: int
    journal_mode: str


@dataclass(frozen=True, slots=True)
class Renumbered:
    """A source of a merge whose rows got new rowids."""

    source: str
    added: int
    """The number that was added to each rowid."""


@dataclass(frozen=True, slots=True)
class MergedTable:
    """A table of the result of a merge."""

    name: str
    rows: int
    sources: int
    """The number of databases that have the table."""
    method: str
    """The way its rows were merged: `copied`, `concatenated`, `interleaved`, `renumbered` or `inserted`."""
    left_out: int
    """The number of rows that were left out because another row has the same key."""
    leaf_pages: int
    relocated_leaves: int
    """Leaf pages that were copied as they are."""
    new_keys: bool = False
    """True if the new rowids are visible as an INTEGER PRIMARY KEY."""
    renumbered: tuple[Renumbered, ...] = ()
    """The sources whose rows have new rowids."""
    following: tuple[str, ...] = ()
    """The columns whose values were changed along with the new numbers of another table."""
    notes: tuple[str, ...] = ()
    """Differences between the declarations of databases that change no value (`add_columns=True`)."""
    why: str | None = None
    """The reason why SQLite inserted its rows; None if another method was used."""


@dataclass(frozen=True, slots=True)
class OrphanedRows:
    """Rows that refer to a row that a merge left out because another row has the same key."""

    table: str
    columns: tuple[str, ...]
    """The referring columns."""
    parent: str
    """The table that they refer to."""
    rows: int


@dataclass(frozen=True, slots=True)
class MergedIndex:
    """An index of the result of a merge."""

    name: str
    table: str
    entries: int
    sorted: bool
    """True if its entries were sorted, because a source had them out of order, or in another order."""


@dataclass(frozen=True, slots=True)
class MergeReport:
    """The report of `merge`."""

    target: str
    sources: tuple[MergedSource, ...]
    """The databases, in order; the first is the target, if it existed and kept its rows."""
    bytes: int
    pages: int
    page_bytes: int
    output: str
    """The way pages were written: `direct` past the page cache, `buffered` through it, or by `sqlite`."""
    rows: int
    left_out_rows: int
    """The number of rows that were left out because another row has the same key."""
    relocated_leaves: int
    """Leaf pages that were copied as they are, of all tables and indexes."""
    rewritten_leaves: int
    threads: int
    seconds: float
    phases: tuple[Phase, ...]
    tables: tuple[MergedTable, ...]
    indexes: tuple[MergedIndex, ...]
    others: int
    """The number of views and triggers."""
    virtual_tables: tuple[str, ...]
    """Virtual tables that SQLite made and filled."""
    left_out: tuple[str, ...]
    """Objects that were left out, such as `table log` or `statistics (sqlite_stat1)`."""
    orphans: tuple[OrphanedRows, ...] = ()
    """Rows that were kept without the rows that they refer to (`orphans="keep"`)."""
    checksum: str | None = None
    """The checksum of all pages, in hexadecimal; None: SQLite wrote some of them."""
    replaced: Replaced | None = None
    """The tables of the database that was replaced (`overwrite=True`)."""
    replacement: Replacement | None = None
    """The method by which the result took the place of an existing database."""
    removed: tuple[str, ...] = ()
    """Temporary files of killed runs, which were removed."""
    before: Replaced | None = None
    """The content of the target before the merge, if it existed and kept its rows."""

    def __repr__(self) -> str:
        left_out = f", {_grouped(self.left_out_rows, 'row')} left out" if self.left_out_rows else ""
        return (
            f"<MergeReport: {_grouped(self.rows, 'row')} of {_grouped(len(self.sources), 'database')} to {self.target}, "
            f"{self.bytes:,} bytes{left_out}, {self.seconds:.3f} s>"
        )


@dataclass(frozen=True, slots=True)
class Unverified:
    """A part of the database that `check` did not verify."""

    what: str
    """The kind: `partial_index`, `expression_index`, `check_constraint`, `foreign_key`, `full_text`, `r_tree`, `virtual_table`, `collation`
    or `integrity_check`."""
    name: str
    """The name of the table or index; for `integrity_check`, the error that SQLite reported instead of running it."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The report of `check`. In a condition it is true if the database is sound."""

    sound: bool
    checksum: str | None
    pages: int
    bytes: int
    rows: int
    problems: tuple[str, ...]
    """The first hundred faults."""
    problem_count: int
    sqlite_problems: tuple[str, ...]
    """The faults that SQLite's `integrity_check` reports (`full=True`); also without it, the reason why SQLite can't read the database."""
    seconds: float
    remarks: tuple[str, ...] = ()
    """Deviations from the file format that SQLite accepts."""
    unverified: tuple[Unverified, ...] = ()
    """Objects and constraints that were not verified."""

    def __bool__(self) -> bool:
        return self.sound

    def __repr__(self) -> str:
        found = "sound" if self.sound else f"{_grouped(self.problem_count + len(self.sqlite_problems), 'problem')}"
        return f"<CheckReport: {found}, {_grouped(self.rows, 'row')}, {self.bytes:,} bytes, {self.seconds:.3f} s>"


@dataclass(frozen=True, slots=True)
class LostPage:
    """A lost page of a table in a damaged database."""

    page: int
    why: str
    after_rowid: int | None = None
    """The rowid before the gap, if it is known."""
    last_rowid: int | None = None
    """The last rowid of the gap, if it is known."""


@dataclass(frozen=True, slots=True)
class RowidRange:
    """Rowids without gaps."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Witness:
    """An index that has columns of lost rows."""

    index: str
    columns: tuple[str, ...]
    rows: int
    """The number of lost rows of which the index has these columns."""
    rowids: tuple[RowidRange, ...]
    """The rowids of these rows, in order: the first twenty ranges without gaps."""


@dataclass(frozen=True, slots=True)
class SavedTable:
    """The rows that were saved of a table in a damaged database."""

    name: str
    rows: int
    by_gap: int
    """Rows on pages that no tree names, and whose rowids lie in a gap of the table."""
    by_shape: int
    """The number of rows that match the table only by the number and kinds of their columns."""
    conflicts: int
    """Rows whose key another row has; they are in the table conflicts_NAME."""
    repeated: int
    """Rows that were found twice with the same values, and are kept once."""
    rejected: int
    """Rows that break a constraint; they are in the table rejected_NAME."""
    orphans: int
    """Foreign keys of saved rows that refer to no row. They are counted if damage was found, when the rows are written."""
    lost_rows: int
    """Rows that are lost although their pages exist."""
    lost_page_count: int
    lost_pages: tuple[LostPage, ...]
    """The first twenty lost pages."""
    indexed_lost_rows: int
    """The number of lost rows of which an index has columns."""
    witnesses: tuple[Witness, ...]
    """The indexes that have columns of lost rows."""


@dataclass(frozen=True, slots=True)
class FoundRows:
    """Rows of no known table that have the same number and kinds of columns, or the columns that indexes have of a table's lost rows."""

    table: str
    """The name of the table that has the rows."""
    rows: int
    columns: int
    of_table: str | None
    """The table whose lost rows these are, if their columns come from indexes."""


@dataclass(frozen=True, slots=True)
class RecoverReport:
    """The tables and rows that were saved of a damaged database."""

    source: str
    target: str
    damaged: bool
    rows: int
    source_bytes: int
    pages: int
    page_bytes: int
    encoding: str
    freelist_whole: bool
    """False if the list of free pages is damaged, so that rows counted `by_shape` may be deleted rows."""
    damaged_pages: int
    tables: tuple[SavedTable, ...]
    lost_and_found: tuple[FoundRows, ...]
    lost_index_pages: int
    """Lost pages of indexes, which were made anew."""
    remarks: tuple[str, ...]
    """Remarks: the use of the -wal or the -journal, and objects that could not be made again."""
    bytes: int
    seconds: float
    phases: tuple[Phase, ...]

    def __repr__(self) -> str:
        found = "damaged" if self.damaged else "no damage"
        return f"<RecoverReport: {found}, {_grouped(self.rows, 'row')} to {self.target}, {self.bytes:,} bytes, {self.seconds:.3f} s>"


@dataclass(frozen=True, slots=True)
class PackReport(Report):
    """The report of `pack`."""

    files: int = 0
    folders: int = 0
    links: int = 0
    file_bytes: int = 0

    def __repr__(self) -> str:
        return (
            f"<PackReport: {_grouped(self.files, 'file')} to {self.target}, {self.file_bytes:,} bytes of content, "
            f"{self.seconds:.3f} s>"
        )


@dataclass(frozen=True, slots=True)
class UnpackReport:
    """The report of `unpack`."""

    folder: str | None
    layout: str
    files: int
    folders: int
    links: int
    file_bytes: int
    refused: int
    """Rows that were not restored."""
    refusals: tuple[Skipped, ...]
    """The first thousand of these rows, each with the reason."""
    threads: int
    seconds: float

    def __repr__(self) -> str:
        refused = f", {self.refused:,} refused" if self.refused else ""
        return (
            f"<UnpackReport: {_grouped(self.files, 'file')} to {self.folder}, {self.file_bytes:,} bytes{refused}, "
            f"{self.seconds:.3f} s>"
        )


@dataclass(frozen=True, slots=True)
class ProfiledTable:
    """A table that was described."""

    name: str
    rows: int
    columns: int
    """The number of columns with a comment."""


@dataclass(frozen=True, slots=True)
class KeptValues:
    """A column whose common values are shown."""

    table: str
    column: str
    values: int
    """The number of values that are shown."""


@dataclass(frozen=True, slots=True)
class PersonalColumn:
    """A column of which no values are shown because it looks personal."""

    table: str
    column: str
    what: str
    """The kind of data that it seems to have, such as "an e-mail address"."""
    by: str
    """The evidence: "name" or "values"."""


@dataclass(frozen=True, slots=True)
class ProfileReport:
    """The report of `profile`."""

    source: str
    text: str
    """A schema with comments, which `generate` takes."""
    rows: int
    tables: tuple[ProfiledTable, ...]
    kept: tuple[KeptValues, ...]
    personal: tuple[PersonalColumn, ...]
    literals: tuple[str, ...]
    """Texts and blobs in the schema itself, which `text` shows."""
    notes: tuple[str, ...]
    """Objects that could not be described, and why."""
    bytes: int
    threads: int
    seconds: float


@dataclass(frozen=True, slots=True)
class DumpedTable:
    """The rows of a table in a file of SQL statements."""

    table: str
    rows: int


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file that `export` has written."""

    table: str | None
    """The table or view; `None`: a query, or a file of SQL statements."""
    path: str
    format: str
    rows: int
    bytes: int
    nulled: tuple[tuple[str, int], ...]
    """The columns with values that became NULL, each with the number of these values."""
    notes: tuple[str, ...]
    """Notes about values or types that differ when the file is loaded again."""
    tables: tuple[DumpedTable, ...] = ()
    """The tables of a file of SQL statements, in the order of `sqlite_schema`."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The report of `export`."""

    source: str
    journal_mode: str
    lets_others_commit: bool
    """True if other programs could commit to the database during the export."""
    threads: int
    seconds: float
    files: tuple[ExportedFile, ...]
    removed: tuple[str, ...] = ()
    """Temporary files of killed runs, which were removed."""

    @property
    def rows(self) -> int:
        """The number of rows in all files."""
        return sum(file.rows for file in self.files)

    def __repr__(self) -> str:
        files = self.files[0].path if len(self.files) == 1 else _grouped(len(self.files), "file")
        return f"<ExportReport: {_grouped(self.rows, 'row')} to {files}, {self.seconds:.3f} s>"


def from_json(kind: type[T], text: str) -> T:
    """Returns the report that the engine has written as JSON, as a dataclass of this type."""
    return typing.cast(T, _made(kind, json.loads(text)))


def _made(kind: Any, value: Any) -> Any:
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = typing.get_type_hints(kind)
        names = {field.name for field in dataclasses.fields(kind)}
        return kind(**{name: _made(hints[name], part) for name, part in value.items() if name in names})
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return tuple(_made(inner[0], part) for part in value)
    if origin in (types.UnionType, typing.Union) and value is not None:
        return _made(next(one for one in inner if one is not type(None)), value)
    return value
