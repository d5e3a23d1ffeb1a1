"""`Parts`: a table that is cut into parts, each of which a task reads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .. import _read
from .._arguments import check_arguments
from .._errors import InputError, library_errors, system_errors
from .._write import Path, names

BLOCK_BYTES = 64 << 20
"""The size in bytes at which `Part.tables` ends an Arrow table and begins another, so that a task needs little memory."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a table. It can be pickled, and sent to a task."""

    db: str
    table: str
    columns: tuple[str, ...] | None
    number: int
    of: int
    basis: str

    def reader(self) -> Any:
        """Returns the rows as a `pyarrow.RecordBatchReader`."""
        import pyarrow

        columns = None if self.columns is None else list(self.columns)
        rows = _read.read(self.db, self.table, columns=columns, part=(self.number, self.of), basis=self.basis, threads=1)
        with library_errors(f"cannot read {self.db}"):
            return pyarrow.RecordBatchReader.from_stream(rows)

    def tables(self) -> Iterator[Any]:
        """Yields the rows as Arrow tables of about 64 MiB; one empty table if the part has no rows."""
        import pyarrow

        reader = self.reader()
        waiting: list[Any] = []
        waiting_bytes, is_first = 0, True
        while True:
            with library_errors(f"cannot read {self.db}"):
                batch = next(reader, None)
            if batch is None:
                break
            waiting.append(batch)
            waiting_bytes += batch.nbytes
            if waiting_bytes >= BLOCK_BYTES:
                yield pyarrow.Table.from_batches(waiting)
                waiting, waiting_bytes, is_first = [], 0, False
        if waiting or is_first:
            yield pyarrow.Table.from_batches(waiting, schema=reader.schema)


class Parts:
    """A table that tasks read in parts. All parts must see the same state of the database: if it changes meanwhile, reading is an error."""

    def __init__(self, db: Path, table: str, columns: str | Sequence[str] | None = None) -> None:
        check_arguments(Parts.__init__, locals())
        self.db, self.table = os.path.abspath(os.fspath(db)), table
        self.columns = None if columns is None else tuple(names(columns))
        listed = None if self.columns is None else list(self.columns)
        self.basis = _read.read(self.db, table, columns=listed).basis()
        self.schema = Part(self.db, table, self.columns, 0, 1, self.basis).reader().schema
        """The Arrow schema of the columns."""
        with system_errors(InputError, f"cannot read {self.db}"):
            self.bytes = os.path.getsize(self.db)

    def cut(self, count: int) -> list[Part]:
        """Cuts the table into `count` parts, one after another. Parts of a small table may have no rows."""
        check_arguments(Parts.cut, locals())
        count = max(count, 1)
        return [Part(self.db, self.table, self.columns, number, count, self.basis) for number in range(count)]
