"""[Spark](https://spark.apache.org/docs/latest/api/python/): the data source `sqluice`, which reads and writes tables of SQLite.

    >>> sqluice.spark.register(spark)                                                                           # doctest: +SKIP
    >>> frame.write.format("sqluice").mode("append").option("path", "out.db").option("table", "t").option("primaryKey", "id").save()  # doctest: +SKIP
    >>> frame = spark.read.format("sqluice").option("path", "in.db").option("table", "t").load()                # doctest: +SKIP

    >>> sqluice.spark.write("out.db", frame, "t", primary_key="id", second_round=True)                          # doctest: +SKIP

`write` takes all parameters of `sqluice.distributed.Job`. Only it allows a second round, which runs tasks: Spark commits
a data source in a process that can't run tasks.

Options (items of lists are separated by commas): `path`, `table`, `primaryKey`, `index` (several with semicolons), `unique`, `outputMode` (`one` or
`set`), `staging`, `onConflict`, `columns` and `parts` for reading. Mode `append` adds the rows to an existing database; a set must be new. Mode
`overwrite` replaces a database or a set.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ._arguments import check_arguments
from ._errors import UsageError
from ._write import Path
from .distributed import Job, Part, Parts, Place, Shard
from .distributed._job import Committed

try:
    from pyspark import TaskContext
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceArrowWriter,
        DataSourceReader,
        InputPartition,
        WriterCommitMessage,
    )
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
    from pyspark.sql.types import StructType
except ImportError as error:
    raise UsageError(f"sqluice.spark needs PySpark 4: {error}", hint="install it: pip install pyspark") from None

__all__ = ["SqluiceDataSource", "register", "write"]

_PARTS = 16
"""The default number of parts in which a table is read."""


def _columns(schema: StructType) -> Any:
    """Returns the Arrow schema of a Spark schema. Timestamps are in UTC, as the engine stores them."""
    return to_arrow_schema(schema, timezone="UTC")


def register(spark: SparkSession) -> None:
    """Registers the data source `sqluice` with a session."""
    spark.dataSource.register(SqluiceDataSource)


def write(db: Path, frame: DataFrame, table: str, **options: Any) -> Committed:
    """Writes a data frame to a table of a database, or of a set of databases. The parameters are those of `sqluice.distributed.Job`."""
    check_arguments(write, locals())
    job = Job(db, table, **options)
    job.begin()
    try:
        shards = [shard for shards in _collected(frame, lambda batches: job.write(batches, _task())) for shard in shards]
        places = job.plan(shards)
        # A range with one number in each partition starts one task for each place.
        numbers = frame.sparkSession.range(len(places), numPartitions=len(places)) if places else None
        of_tasks = _collected(numbers, lambda batches: [job.place(place) for place in _chosen(places, batches)])
    except BaseException:
        job.abort()
        raise
    return job.commit(shards, _columns(frame.schema), [placed for of_task in of_tasks for placed in of_task])


def _task() -> int:
    context = TaskContext.get()
    assert context is not None
    return context.partitionId()


def _chosen(places: list[Place], batches: Iterator[Any]) -> Iterator[Place]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield places[number]


def _collected(frame: DataFrame | None, work: Callable[[Iterator[Any]], Any]) -> list[Any]:
    """Runs a function over the record batches of each task, and returns its results."""
    if frame is None:
        return []

    def in_task(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        yield pyarrow.record_batch({"made": pyarrow.array([pickle.dumps(work(batches))], "binary")})

    return [pickle.loads(row.made) for row in frame.mapInArrow(in_task, "made binary").collect()]


class SqluiceDataSource(DataSource):
    """The data source `sqluice`: tables of SQLite databases that all workers can reach."""

    @classmethod
    def name(cls) -> str:
        """Returns the name of the data source, which `format` takes."""
        return "sqluice"

    def _option(self, name: str) -> str:
        value = self.options.get(name)
        if not value:
            raise UsageError(f"the option {name} is missing", hint=f'.option("{name}", ...)')
        return value

    def _parts(self) -> Parts:
        return Parts(self._option("path"), self._option("table"), _listed(self.options.get("columns")) or None)

    def schema(self) -> StructType:
        """Returns the columns of the table."""
        return from_arrow_schema(self._parts().schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Returns the reader of the table."""
        parts = self.options.get("parts", str(_PARTS))
        if not parts.isdecimal():
            raise UsageError(f"the option parts must be a number, not {parts!r}")
        return _Reader(self._parts(), int(parts), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Begins a job, and returns its writer."""
        mode = self.options.get("outputMode", "one")
        job = Job(
            self._option("path"),
            self._option("table"),
            mode=mode,  # type: ignore[arg-type]
            if_exists="append" if mode == "one" and not overwrite else "fail",
            overwrite=overwrite,
            primary_key=_listed(self.options.get("primaryKey")),
            index=_listed(self.options.get("index"), ";"),
            unique=_listed(self.options.get("unique"), ";"),
            on_conflict=self.options.get("onConflict", "abort"),  # type: ignore[arg-type]
            staging=self.options.get("staging"),
        )
        # This process ends before the job, but its parent lives as long as the session.
        job.begin(os.getppid())
        return _Writer(job, schema)


def _listed(text: str | None, separator: str = ",") -> list[str]:
    return [part.strip() for part in (text or "").split(separator) if part.strip()]


@dataclass
class _Partition(InputPartition):
    part: Part


class _Reader(DataSourceReader):
    def __init__(self, parts: Parts, count: int, schema: StructType) -> None:
        self._parts, self._count, self._schema = parts, count, schema

    def partitions(self) -> list[InputPartition]:
        return [_Partition(part) for part in self._parts.cut(self._count)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, _Partition)
        wanted = _columns(self._schema)
        for batch in partition.part.reader():
            yield batch.cast(wanted)


@dataclass
class _Message(WriterCommitMessage):
    shards: list[Shard]


class _Writer(DataSourceArrowWriter):
    def __init__(self, job: Job, schema: StructType) -> None:
        self._job = job
        # These columns are used if no task has rows.
        self._columns = _columns(schema)

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return _Message(self._job.write(iterator, _task()))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        shards = [shard for message in messages if isinstance(message, _Message) for shard in message.shards]
        self._job.commit(shards, schema=self._columns)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._job.abort()
