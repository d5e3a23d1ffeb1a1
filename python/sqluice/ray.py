"""[Ray Data](https://docs.ray.io/en/latest/data/data.html): datasets into SQLite, and out of it.

    >>> ds.write_datasink(SQLiteDatasink("out.db", "t", primary_key="id", index=["area"]))     # doctest: +SKIP
    >>> ds = ray.data.read_datasource(SQLiteDatasource("in.db", "t", columns=["id", "area"]))  # doctest: +SKIP

Each write task builds a database of its rows; when all are done, the driver merges them. `ds.sort("id")` gives each task rows whose keys
no other has: they are then joined page by page. With `second_round=True` tasks copy these pages to the one file, side by side, and the
driver adds only interior pages and indexes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


class SQLiteDatasink(Datasink):  # type: ignore[misc,type-arg,unused-ignore]
    """Writes a dataset to a table of a database, or of a set of databases. The parameters are those of `sqluice.distributed.Job`.

    committed: what was made, once the dataset is written.
    """

    def __init__(self, path: Path, table: str, **options: Any) -> None:
        self._job = Job(path, table, **options)
        self._schema: Any = None
        self.committed: Committed | None = None

    def on_write_start(self, schema: Any = None) -> None:
        """Looks at the target; in the driver."""
        self._schema = schema
        self._job.begin()

    def write(self, blocks: Iterable[Any], ctx: TaskContext) -> list[Shard]:
        """Writes the rows of a task."""
        tables = (BlockAccessor.for_block(block).to_arrow() for block in blocks)
        return self._job.write(tables, ctx.task_idx)

    def on_write_complete(self, write_result: WriteResult[list[Shard]]) -> None:
        """Commits the shards that Ray has seen; in the driver."""
        shards = [shard for shards in write_result.write_returns for shard in shards]
        placed = ray.get([_place.remote(self._job, place) for place in self._job.plan(shards)])
        schema = self._schema if hasattr(self._schema, "empty_table") else None
        self.committed = self._job.commit(shards, schema, placed)

    def on_write_failed(self, error: Exception) -> None:
        """Removes the shards; in the driver."""
        self._job.abort()

    def get_name(self) -> str:
        """What Ray calls it."""
        return "SQLite"


@ray.remote(max_retries=-1)
def _place(job: Job, place: Place) -> Placed:
    return job.place(place)


class SQLiteDatasource(Datasource):  # type: ignore[misc,unused-ignore]
    """Reads a table of a database that all workers see, each task some of its pages. All tasks read the same state of it."""

    def __init__(self, path: Path, table: str, columns: str | Sequence[str] | None = None) -> None:
        super().__init__()
        self._parts = Parts(path, table, columns)

    def estimate_inmemory_data_size(self) -> int | None:
        """About as many bytes as the file has."""
        return self._parts.bytes

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None
    ) -> list[ReadTask]:
        """A task for each part."""
        parts = self._parts.cut(parallelism)
        about = BlockMetadata(num_rows=None, size_bytes=self._parts.bytes // len(parts), input_files=None, exec_stats=None)
        return [ReadTask(_Reading(part), about, schema=self._parts.schema) for part in parts]

    def get_name(self) -> str:
        """What Ray calls it."""
        return "SQLite"


class _Reading:
    def __init__(self, part: Part) -> None:
        self._part = part

    def __call__(self) -> Iterable[Any]:
        return self._part.tables()
