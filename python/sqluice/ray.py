"""[Ray Data](https://docs.ray.io/en/latest/data/data.html): datasets into SQLite, and out of it.

    >>> ds.write_datasink(SQLiteDatasink("out.db", "t", primary_key="id", index=["area"]))     # doctest: +SKIP
    >>> ds = ray.data.read_datasource(SQLiteDatasource("in.db", "t", columns=["id", "area"]))  # doctest: +SKIP

Each write task builds a database of its rows. When all are written, the driver merges them. After `ds.sort("id")`, no key is in two tasks, and
the databases are joined page by page. With `second_round=True`, tasks then copy these pages into one file, in parallel, and the
driver adds only interior pages and indexes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._errors import UsageError
from ._write import Path
from .distributed import Job, Part, Parts, Place, Placed, Shard
from .distributed._job import Committed

try:
    import ray
    from ray.data import Datasink, Datasource, ReadTask
    from ray.data.block import BlockAccessor, BlockMetadata
except ImportError as error:
    raise UsageError(f"sqluice.ray needs Ray Data: {error}", hint='install it: pip install "ray[data]"') from None

if TYPE_CHECKING:
    from ray.data._internal.execution.interfaces import TaskContext
    from ray.data.datasource import WriteResult

__all__ = ["SQLiteDatasink", "SQLiteDatasource"]


@dataclass(frozen=True, slots=True)
class _Written:
    """The result of a task, which goes to the driver."""

    shards: list[Shard]
    columns: Any
    """The Arrow schema of its blocks, for a table without rows; None if the task had no blocks."""


class SQLiteDatasink(Datasink):  # type: ignore[misc,type-arg,unused-ignore]
    """Writes a dataset to a table of a database, or of a set of databases. The parameters are those of `sqluice.distributed.Job`.

    committed: the result of the job, once the dataset is written; None before.
    """

    def __init__(self, db: Path, table: str, **options: Any) -> None:
        self._job = Job(db, table, **options)
        self._schema: Any = None
        self._has_begun = False
        self.committed: Committed | None = None

    def on_write_start(self, schema: Any = None) -> None:
        """Begins the job. Ray calls this in the driver."""
        self._schema = schema
        self._job.begin()
        self._has_begun = True

    def write(self, blocks: Iterable[Any], ctx: TaskContext) -> _Written:
        """Writes the rows of a task. Ray calls this in the task."""
        columns = None

        def tables() -> Iterator[Any]:
            nonlocal columns
            for block in blocks:
                table = BlockAccessor.for_block(block).to_arrow()
                if columns is None and table.num_columns > 0:
                    columns = table.schema
                yield table

        shards = self._job.write(tables(), ctx.task_idx)
        return _Written(shards, columns)

    def on_write_complete(self, write_result: WriteResult[_Written]) -> None:
        """Commits the shards that tasks have returned. Ray calls this in the driver."""
        if not self._has_begun:
            # A dataset without blocks starts no task.
            self._job.begin()
        returned = [written for written in write_result.write_returns if written is not None]
        shards = [shard for written in returned for shard in written.shards]
        placed = ray.get([_place.remote(self._job, place) for place in self._job.plan(shards)])
        # The columns of an empty table are those of the dataset, or of a task. Blocks of pandas have a schema class of Ray, which is no Arrow schema.
        known = [written.columns for written in returned if written.columns is not None]
        schema = self._schema if hasattr(self._schema, "empty_table") and len(self._schema) else next(iter(known), None)
        self.committed = self._job.commit(shards, schema, placed)

    def on_write_failed(self, error: Exception) -> None:
        """Removes the shards. Ray calls this in the driver."""
        self._job.abort()

    def get_name(self) -> str:
        """Returns the name by which Ray shows this sink."""
        return "SQLite"


@ray.remote(max_retries=-1)
def _place(job: Job, place: Place) -> Placed:
    return job.place(place)


class SQLiteDatasource(Datasource):  # type: ignore[misc,unused-ignore]
    """Reads a table of a database that all workers can reach. Each task reads some of its pages, and all tasks see the same state of the database."""

    def __init__(self, db: Path, table: str, columns: str | Sequence[str] | None = None) -> None:
        super().__init__()
        self._parts = Parts(db, table, columns)

    def estimate_inmemory_data_size(self) -> int | None:
        """Returns the size of the file, as an estimate of the memory."""
        return self._parts.bytes

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None
    ) -> list[ReadTask]:
        """Returns a task for each part of the table."""
        parts = self._parts.cut(parallelism)
        about = BlockMetadata(num_rows=None, size_bytes=self._parts.bytes // len(parts), input_files=None, exec_stats=None)
        return [ReadTask(_Reading(part), about, schema=self._parts.schema) for part in parts]

    def get_name(self) -> str:
        """Returns the name by which Ray shows this source."""
        return "SQLite"


class _Reading:
    def __init__(self, part: Part) -> None:
        self._part = part

    def __call__(self) -> Iterable[Any]:
        return self._part.tables()
