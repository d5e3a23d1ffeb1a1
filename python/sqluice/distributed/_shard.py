"""Writes the rows of a task as shards: a database for each partition that has rows, and a second one for rows out of key order."""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from .. import _write
from .._errors import TargetError
from .._report import Report
from .._rows import RowidOrder
from . import _files, _places
from ._order import InOrder
from ._partition import Partition, split

TASK_ROWID_BITS = 33
"""In a second round, a table without a key has rowids that consist of the number of the task and, in this number of lower bits, the number of
the row, like monotonically_increasing_id of Spark."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A database that a task has written. The task returns it to the driver, which commits it."""

    name: str
    """The name of its file in the staging folder."""
    task: int
    """The number of the task: rows of the result are in the order of the tasks."""
    partition: int
    """The number of the partition of a set; 0 without one."""
    rows: int
    bytes: int
    checksum: str | None
    columns: tuple[tuple[str, str], ...]
    """Names of the columns, and the types that they are declared with."""
    pages: int | None = None
    """The number of pages that its rows take in the result; None without a second round."""
    run: int = 0
    """0 for the batches in the order of the key, 1 for all batches from the first one out of order."""
    notes: tuple[str, ...] = ()
    """The notes of the report about its rows, in the terms of the job's parameters."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The declaration of the table and the options of writing, which all shards share."""

    table: str
    primary_key: tuple[str, ...]
    index: tuple[str, ...]
    unique: tuple[str, ...]
    types: tuple[tuple[str, str], ...]
    strict: bool
    without_rowid: bool
    on_conflict: _write.OnConflict
    threads: int | None
    memory: int
    second_round: bool
    joined: bool
    """True if the shards are merged into one database; False for a set."""

    @property
    def rowid_key(self) -> str | None:
        """The column of the key, if it is the rowid: the key has only one column, which is INTEGER or has no declared type yet."""
        if len(self.primary_key) != 1 or self.without_rowid:
            return None
        [key] = self.primary_key
        given = {name.lower(): declared.upper() for name, declared in self.types}
        return key if given.get(key.lower(), "INTEGER") == "INTEGER" else None

    def first_rowid(self, task: int) -> int:
        """Returns the rowid of the first row of a task. In a second round without a key, the rowids of tasks are disjoint, so that leaves can be
        copied unchanged."""
        return (task << TASK_ROWID_BITS) + 1 if self.second_round and not self.primary_key else 1

    def write(
        self, file: str, rows: Any, types: tuple[tuple[str, str], ...] = (), *, task: int = 0, overwrite: bool = False
    ) -> Report:
        """Writes the rows of a task to a new database. `types`: types for columns to which the layout gives none."""
        given = dict(types) | dict(self.types)
        return _write.write(
            file,
            rows,
            self.table,
            primary_key=self.primary_key or None,
            index=self.index or None,
            unique=self.unique or None,
            schema=given or None,
            strict=self.strict,
            without_rowid=self.without_rowid,
            on_conflict=self.on_conflict,
            first_rowid=self.first_rowid(task),
            overwrite=overwrite,
            threads=self.threads,
            memory=self.memory,
        )


def write_shards(layout: Layout, folder: str, task: int, batches: Iterable[Any], partition: Partition | None) -> list[Shard]:
    """Writes the rows of one attempt of a task. Returns an empty list if there are no rows."""
    if not _files.is_url(folder) and not os.path.isdir(_files.local(folder)):
        raise TargetError(
            f"the job is over, or this machine can't reach its staging folder: {folder} does not exist",
            hint="name a staging folder that all workers can reach: staging=...",
        )
    attempt = uuid.uuid4().hex[:12]
    filled = _alike(batch for batch in batches if batch.num_rows > 0)
    if partition is None:
        return _written(layout, folder, f"{task:06}-{attempt}-0", (task, 0), filled)
    shards = []
    with ExitStack() as spools:
        for place, rows in _by_partition(filled, partition, spools):
            shards += _written(layout, folder, f"{task:06}-{attempt}-{place}", (task, place), rows)
    return shards


def _alike(batches: Iterable[Any]) -> Iterator[Any]:
    """Yields the batches with their columns in the order of the first batch."""
    names: list[str] | None = None
    for batch in batches:
        own = batch.schema.names
        if names is None:
            names = own
        is_other_order = own != names and len(set(own)) == len(own) and sorted(own) == sorted(names)
        yield batch.select(names) if is_other_order else batch


def _written(layout: Layout, folder: str, name: str, where: tuple[int, int], batches: Iterator[Any]) -> list[Shard]:
    """Writes the rows of a partition: one shard, and a second one for the rows from the first batch out of order."""
    key = layout.rowid_key if layout.joined else None
    if key is None:
        return _write_one(layout, folder, f"{name}-0.db", (*where, 0), batches)
    first = InOrder(batches, key)
    shards = _write_one(layout, folder, f"{name}-0.db", (*where, 0), first, in_order=True)
    return shards + _write_one(layout, folder, f"{name}-1.db", (*where, 1), first.rest())


def _write_one(
    layout: Layout, folder: str, name: str, where: tuple[int, int, int], batches: Iterator[Any], *, in_order: bool = False
) -> list[Shard]:
    first = next(batches, None)
    if first is None:
        return []
    task, partition, run = where
    rows = itertools.chain([first], batches)
    with _files.made_locally(_files.join(folder, name)) as file:
        report = layout.write(file, RowidOrder(rows) if in_order else rows, task=task)
        pages = _places.count(file, layout.table, layout.threads, layout.memory) if layout.second_round else None
    [table] = report.tables
    columns = tuple((column.name, column.type) for column in table.columns)
    notes = tuple(note.replace("schema={", "types={") for note in report.notes)
    return [Shard(name, task, partition, report.rows, report.bytes, report.checksum, columns, pages, run, notes)]


def _by_partition(batches: Iterator[Any], partition: Partition, spools: ExitStack) -> Iterator[tuple[int, Iterator[Any]]]:
    """Yields each partition with its rows, which wait on the disk until the last batch is split."""
    from tempfile import TemporaryFile

    import pyarrow

    files: dict[int, Any] = {}
    writers: dict[int, Any] = {}
    for batch in batches:
        for place, rows in split(batch, partition):
            if place not in writers:
                files[place] = spools.enter_context(TemporaryFile(prefix="sqluice-"))
                writers[place] = pyarrow.ipc.new_stream(files[place], rows.schema)
            writers[place].write(rows)
    for place, writer in sorted(writers.items()):
        writer.close()
        files[place].seek(0)
        yield place, iter(pyarrow.ipc.open_stream(files[place]))
