"""What was done."""

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
    """What some of the time went into."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What happened to an index."""

    name: str
    write_path: str
    """How its entries are written: `sorted`, `insert` or `sqlite`."""
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
    """The segments that `fts_optimize` has merged; 0 if there was one already."""


@dataclass(frozen=True, slots=True)
class MissedType:
    """Why a column is TEXT although nearly all of its values are numbers."""

    type: str
    """The type that it just missed: `INTEGER` or `REAL`. `types={column: type}` makes it so."""
    value: str
    """The first value that decided."""
    file: str | None
    line: int | None
    values: int
    """Values that were counted: those that decided on the types first."""
    others: int
    """Those among them that are no numbers."""
    quoted: bool = False
    """Whether the others are NULL markers in quotes, such as `"NA"`, which `null=[...]` does not read."""
    read_by: tuple[tuple[str, ...], ...] = ()
    """The parameters that read the others as numbers, each with its value: `("thousands", "price=,")`."""
    signs: str | None = None
    """The signs of a value that no parameter reads together with the rest of the column: `a currency`."""


@dataclass(frozen=True, slots=True)
class NullMarkers:
    """Texts that other programs write for NULL, and that a column keeps."""

    tokens: tuple[str, ...]
    """The most frequent of these texts, such as `NA`."""
    readable: bool
    """Whether `null=[...]` reads these texts as NULL. JSON has a NULL of its own."""
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
    """Text that a declared type makes a number of."""

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
    """How its text is converted, if that was asked for: `date %d.%m.%Y`."""
    nulls: NullMarkers | None
    missed: MissedType | None
    changed: ChangedText | None


@dataclass(frozen=True, slots=True)
class TableReport:
    """What happened to a table."""

    name: str
    action: str
    """What was done to it: `make`, `append`, `replace` or `upsert`."""
    rows: int
    rejected: int
    rejected_lines: int
    """The lines of these rows in the input: a quoted field may have several."""
    padded: int
    """Rows that were loaded although fields are missing at their end, which are NULL."""
    filtered: int
    """Records that `where` has left out."""
    filtered_null: int
    """Of these, the records for which it was NULL, neither true nor false."""
    ignored: int
    """Rows that were left out: another row has the same key, or a trigger says so."""
    updated: int | None
    """Of `rows`, those that changed an existing row; None: not counted, in a large database or with triggers."""
    replaced: int | None
    """Rows whose place a later row with the same key has taken; None: as above."""
    write_path: str
    """How its rows are written: `pages`, `sorted`, `insert` or `sqlite`."""
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
    full_text: tuple[str, ...] = ()
    """Full-text tables that got the terms of the new rows without their triggers."""
    full_text_behind: tuple[str, ...] = ()
    """Full-text tables that did not get the new rows, as no trigger adds them."""


@dataclass(frozen=True, slots=True)
class ReplacedTable:
    """A table of a database that was replaced."""

    name: str
    rows: int | None
    """None: it is virtual, or could not be read."""
    estimated: bool
    """The number of rows is an estimate."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a database held that was replaced."""

    tables: tuple[ReplacedTable, ...]
    rows: int
    """Of all tables whose rows are known."""
    estimated: bool
    """The rows of some tables are estimated."""
    bytes: int
    unread: str | None
    """Why not all of it could be read."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """The method by which a new file replaced a database file."""

    method: Literal["rename", "transaction"]
    """`transaction`: its pages were written into the old file, because others could have that open unseen."""
    why: str | None = None
    """The reason for a transaction."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was left out without being asked for."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file of a folder or an archive that is not loaded unless it is named."""

    name: str
    """That of a folder, with all that is below it, ends in a slash."""
    why: str
    """Such as `hidden`, `a database` or `no known extension`."""


@dataclass(frozen=True, slots=True)
class Preamble:
    """Lines before a table."""

    lines: int
    first: str
    """The first of them that has text, shortened."""


@dataclass(frozen=True, slots=True)
class Csv:
    """How a CSV file was read."""

    delimiter: str
    """In words: `comma`, `tab`, ..."""
    quote: str | None
    escape: str | None
    comment: str | None
    header: bool
    header_is_close: bool
    """What speaks for and against a header is nearly even."""
    skipped_lines: int
    preamble: Preamble | None
    """The lines among those skipped that were recognised as no part of the table."""
    comments: int
    """Lines of the sample that were recognised as comments."""
    footer: int | None
    """The line of the record at the end of the file that looks like a footer; it is read as a record all the same."""


@dataclass(frozen=True, slots=True)
class Input:
    """How a file was read, as was recognised or given."""

    name: str
    table: str
    format: str
    compression: str | None
    """gzip, zstd, bzip2 or xz."""
    encoding: str | None
    """Of text that is not UTF-8."""
    csv: Csv | None
    padded: int
    """Rows that were loaded although fields are missing at their end, which are NULL."""
    notes: tuple[str, ...] = ()
    """What the caller might expect otherwise."""
    warnings: tuple[str, ...] = ()
    """Values that may not be what they seem, with the place of the first, and the parameter that reads them in another way."""
    dialect: str | None = None
    """The database whose SQL a dump has: SQLite, MySQL (also for MariaDB) or PostgreSQL."""
    sheet: str | None = None
    """The sheet of a workbook."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was written."""

    target: str | None
    rows: int
    rejected: int
    rejected_lines: int
    """The lines of these rows in the input: a quoted field may have several."""
    ignored: int
    """Rows that were left out: another row has the same key, or a trigger says so."""
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
    """Of all pages, in hexadecimal; of a new file only."""
    notes: tuple[str, ...] = ()
    """What the caller might expect otherwise, such as columns that got another name."""
    inputs: tuple[Input, ...] = ()
    """The files of a load, and how each was read."""
    skipped: tuple[Skipped, ...] = ()
    """What was left out: files that could not be loaded."""
    left_out: tuple[LeftOut, ...] = ()
    """The files of folders and archives that were not named, and are not loaded: hidden files, databases, pictures."""
    replaced: Replaced | None = None
    """What the database held that was replaced (`overwrite=True`)."""
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
    """Indexes that were made."""

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
    """Indexes that existed before, and whose statements say IF NOT EXISTS."""
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
    """Its rows, which have no rowids, were out of order and were sorted."""
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
    """Its entries were out of order and were sorted."""
    unverified: str | None = None
    """Why the order of its entries was not verified; None: it was."""
    root_page: int | None = None
    """The root of its B-tree; None: SQLite wrote the copy."""


@dataclass(frozen=True, slots=True)
class ChosenSetting:
    """A setting that a copy for a purpose has."""

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
    """Whether different values stay different."""
    follows: str | None = None
    """The column that it refers to and is masked like."""


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
    """Something that masks do not change."""

    about: str
    what: str


@dataclass(frozen=True, slots=True)
class CopiedLiteral:
    """Values in the text of an object of the schema, which is copied."""

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
    """What was masked, and what was not."""

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
    """Full-text tables that were made again."""
    dropped: tuple[str, ...]
    """Tables of statistics that were left out because they have values."""


@dataclass(frozen=True, slots=True)
class LeftOutRows:
    """The rows of a table that a copy has left out."""

    table: str
    rows: int
    filtered: int
    """Rows for which the condition was not true."""
    filtered_null: int
    """The part of these rows for which the condition was NULL."""
    not_sampled: int
    """Rows that are not in the sample."""
    children: int
    """Rows that refer to left-out rows."""


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
    """The copy is masked, and its conditions saw the values of the source."""


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What was copied."""

    source: str
    target: str
    source_bytes: int
    bytes: int
    pages: int
    page_bytes: int
    output: str
    """How pages were written: `direct`, `buffered`, or by `sqlite`."""
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
    """What does not work in the copy because of what was left out (`force=True`)."""
    checksum: str | None = None
    """Of all pages, in hexadecimal; None: SQLite wrote them."""
    replaced: Replaced | None = None
    """What the database held that was replaced (`overwrite=True`)."""
    replacement: Replacement | None = None
    """The method by which the result took the place of an existing database."""
    removed: tuple[str, ...] = ()
    """Temporary files of killed runs, which were removed."""
    purpose: str | None = None
    chosen: tuple[ChosenSetting, ...] = ()
    """The settings that follow from the purpose."""
    files: tuple[str, ...] = ()
    """Files that were written besides the copy; of "d1", all that are in its folder."""
    selected: SelectedRows | None = None
    """Rows that were left out (`where=...`, `sample=...`)."""
    mask: MaskReport | None = None
    """What was masked, and what was not (`mask=...`)."""

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
    """New rowids of the rows of a source."""

    source: str
    added: int
    """The number that was added to each."""


@dataclass(frozen=True, slots=True)
class MergedTable:
    """A table of the result of a merge."""

    name: str
    rows: int
    sources: int
    """The number of databases that have it."""
    method: str
    """How its rows were merged: `copied`, `concatenated`, `interleaved`, `renumbered` or `inserted`."""
    left_out: int
    """Rows that were left out because others have their keys."""
    leaf_pages: int
    relocated_leaves: int
    """Leaf pages that were copied as they are."""
    new_keys: bool = False
    """A column shows the new rowids: an INTEGER PRIMARY KEY."""
    renumbered: tuple[Renumbered, ...] = ()
    """The sources whose rows have new rowids."""
    following: tuple[str, ...] = ()
    """The columns whose values follow new numbers."""
    notes: tuple[str, ...] = ()
    """Differences between the declarations of databases that change no value (`add_columns=True`)."""
    why: str | None = None
    """Why SQLite inserted its rows."""


@dataclass(frozen=True, slots=True)
class OrphanedRows:
    """Rows that refer to rows of their database which a merge left out, because others have their keys."""

    table: str
    columns: tuple[str, ...]
    """The columns that refer."""
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
    """Its entries were out of order in a source, or in another order, and were sorted."""


@dataclass(frozen=True, slots=True)
class MergeReport:
    """What was merged."""

    target: str
    sources: tuple[MergedSource, ...]
    """The databases, in order; the first is the target, if it existed and was added to."""
    bytes: int
    pages: int
    page_bytes: int
    output: str
    """How pages were written: `direct`, `buffered`, or by `sqlite`."""
    rows: int
    left_out_rows: int
    """Rows that were left out because others have their keys."""
    relocated_leaves: int
    """Leaf pages that were copied as they are, of all tables and indexes."""
    rewritten_leaves: int
    threads: int
    seconds: float
    phases: tuple[Phase, ...]
    tables: tuple[MergedTable, ...]
    indexes: tuple[MergedIndex, ...]
    others: int
    """Views and triggers."""
    virtual_tables: tuple[str, ...]
    """Virtual tables that SQLite made and filled."""
    left_out: tuple[str, ...]
    """Objects that were left out, such as `table log` or `statistics (sqlite_stat1)`."""
    orphans: tuple[OrphanedRows, ...] = ()
    """Rows that were kept without the rows that they refer to (`orphans="keep"`)."""
    checksum: str | None = None
    """Of all pages, in hexadecimal; None: SQLite wrote some of them."""
    replaced: Replaced | None = None
    """What the database held that was replaced (`overwrite=True`)."""
    replacement: Replacement | None = None
    """The method by which the result took the place of an existing database."""
    removed: tuple[str, ...] = ()
    """Temporary files of killed runs, which were removed."""
    before: Replaced | None = None
    """What the target held before, if it existed and was added to."""

    def __repr__(self) -> str:
        left_out = f", {_grouped(self.left_out_rows, 'row')} left out" if self.left_out_rows else ""
        return (
            f"<MergeReport: {_grouped(self.rows, 'row')} of {_grouped(len(self.sources), 'database')} to {self.target}, "
            f"{self.bytes:,} bytes{left_out}, {self.seconds:.3f} s>"
        )


@dataclass(frozen=True, slots=True)
class Unverified:
    """Something that a check did not look at."""

    what: str
    """The kind: `partial_index`, `expression_index`, `check_constraint`, `foreign_key`, `full_text`, `r_tree`, `virtual_table`, `collation`
    or `integrity_check`."""
    name: str
    """The table or index; what SQLite said, where its own check did not run."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check found."""

    sound: bool
    checksum: str | None
    pages: int
    bytes: int
    rows: int
    problems: tuple[str, ...]
    """The first hundred."""
    problem_count: int
    sqlite_problems: tuple[str, ...]
    """What SQLite's own check says."""
    seconds: float
    remarks: tuple[str, ...] = ()
    """What the file format does not allow and SQLite accepts."""
    unverified: tuple[Unverified, ...] = ()
    """What was not verified."""

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
class SavedTable:
    """The rows that were saved of a table in a damaged database."""

    name: str
    rows: int
    by_gap: int
    """Rows on pages that no tree names, and whose rowids lie in a gap of the table."""
    by_shape: int
    """Rows that only the number and kinds of their columns join to the table."""
    conflicts: int
    """Rows whose key another row has; they are in the table conflicts_NAME."""
    repeated: int
    """Rows that were found twice with the same values, and are kept once."""
    rejected: int
    """Rows that break a constraint; they are in the table rejected_NAME."""
    orphans: int
    """Foreign keys of saved rows that refer to no row. They are counted if damage was found, when the rows are written."""
    lost_rows: int
    """Rows that are lost on existing pages."""
    lost_page_count: int
    lost_pages: tuple[LostPage, ...]
    """The first twenty."""


@dataclass(frozen=True, slots=True)
class FoundRows:
    """Rows of no known table that have the same shape."""

    table: str
    """The name of the table that has the rows."""
    rows: int
    columns: int


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
    """False: rows that count by their shape may be deleted rows."""
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
    """What was packed."""

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
    """What was unpacked."""

    folder: str | None
    layout: str
    files: int
    folders: int
    links: int
    file_bytes: int
    refused: int
    """Rows that were not restored."""
    refusals: tuple[Skipped, ...]
    """Why, the first thousand."""
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
    """Columns with a comment."""


@dataclass(frozen=True, slots=True)
class KeptValues:
    """A column whose common values are shown."""

    table: str
    column: str
    values: int
    """How many values."""


@dataclass(frozen=True, slots=True)
class PersonalColumn:
    """A column of which no values are shown because it looks personal."""

    table: str
    column: str
    what: str
    """What it looks like, such as "an e-mail address"."""
    by: str
    """What that rests on: "name" or "values"."""


@dataclass(frozen=True, slots=True)
class ProfileReport:
    """What a database is like."""

    source: str
    text: str
    """A schema with comments, which `generate` takes."""
    rows: int
    tables: tuple[ProfiledTable, ...]
    kept: tuple[KeptValues, ...]
    personal: tuple[PersonalColumn, ...]
    literals: tuple[str, ...]
    """Texts and blobs of the schema itself, which are shown."""
    notes: tuple[str, ...]
    """What could not be described."""
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
    """What was written to a file."""

    table: str | None
    """The table or view; `None`: a query, or a file of SQL statements."""
    path: str
    format: str
    rows: int
    bytes: int
    nulled: tuple[tuple[str, int], ...]
    """Columns with values that became NULL, and how many."""
    notes: tuple[str, ...]
    """What loading the file would change."""
    tables: tuple[DumpedTable, ...] = ()
    """The tables of a file of SQL statements, in the order of `sqlite_schema`."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was exported."""

    source: str
    journal_mode: str
    lets_others_commit: bool
    """Whether others could commit to the database meanwhile."""
    threads: int
    seconds: float
    files: tuple[ExportedFile, ...]
    removed: tuple[str, ...] = ()
    """Temporary files of killed runs, which were removed."""

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(file.rows for file in self.files)

    def __repr__(self) -> str:
        files = self.files[0].path if len(self.files) == 1 else _grouped(len(self.files), "file")
        return f"<ExportReport: {_grouped(self.rows, 'row')} to {files}, {self.seconds:.3f} s>"


def from_json(kind: type[T], text: str) -> T:
    """The report that the engine has written as JSON."""
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
