"""What was done."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from dataclasses import dataclass
from typing import Any, TypeVar

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
    road: str
    """How its entries got there: `sorted`, `insert` or `sqlite`."""
    entries: int
    root_page: int
    leaf_pages: int
    interior_pages: int
    overflow_pages: int


@dataclass(frozen=True, slots=True)
class TableReport:
    """What happened to a table."""

    name: str
    action: str
    """What was done to it: `make`, `append`, `replace` or `upsert`."""
    rows: int
    rejected: int
    ignored: int
    road: str
    """How its rows got there: `pages`, `sorted`, `insert` or `sqlite`."""
    root_page: int
    leaf_pages: int
    interior_pages: int
    overflow_pages: int
    indexes: tuple[IndexReport, ...]


@dataclass(frozen=True, slots=True)
class Existing:
    """What became of a database that was there before."""

    journal_mode_before: str
    journal_mode_after: str
    pages_before: int
    pages_written: int


@dataclass(frozen=True, slots=True)
class Report:
    """What was written."""

    target: str | None
    rows: int
    rejected: int
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

    def __repr__(self) -> str:
        rate = f"{self.rows / self.seconds:,.0f} rows/s" if self.seconds else "at once"
        kind = "" if self.existing is None else " into what was there"
        return (
            f"<Report: {_grouped(self.rows, 'row')} to {self.target}{kind}, {self.bytes:,} bytes, "
            f"{self.seconds:.3f} s, {rate}>"
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
    there: tuple[str, ...]
    """Those that were there already, and whose statements say IF NOT EXISTS."""

    def __repr__(self) -> str:
        entries = sum(index.entries for index in self.indexes)
        names = ", ".join(index.name for index in self.indexes) or "nothing"
        return f"<MadeIndexes: {names} in {self.target}, {entries:,} entries, {self.seconds:.3f} s>"


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

    def __bool__(self) -> bool:
        return self.sound

    def __repr__(self) -> str:
        found = "sound" if self.sound else f"{_grouped(self.problem_count + len(self.sqlite_problems), 'problem')}"
        return f"<CheckReport: {found}, {_grouped(self.rows, 'row')}, {self.bytes:,} bytes, {self.seconds:.3f} s>"


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was left out although nobody asked for that."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class PackReport(Report):
    """What was packed."""

    files: int = 0
    folders: int = 0
    links: int = 0
    file_bytes: int = 0
    skipped: tuple[Skipped, ...] = ()

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


def of_json(kind: type[T], text: str) -> T:
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
