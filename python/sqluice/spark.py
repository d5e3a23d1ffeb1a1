"""[Spark](https://spark.apache.org/docs/latest/api/python/): the data source `sqluice`, which reads and writes tables of SQLite.

    >>> sqluice.spark.register(spark)                                                                           # doctest: +SKIP
    >>> frame.write.format("sqluice").mode("append").option("path", "out.db").option("table", "t").option("primaryKey", "id").save()  # doctest: +SKIP
    >>> frame = spark.read.format("sqluice").option("path", "in.db").option("table", "t").load()                # doctest: +SKIP

Options, lists with commas: `path`, `table`, `primaryKey`, `index` (several with semicolons), `unique`, `outputMode` (`one` or `set`), `staging`,
`onConflict`, `columns` and `parts` for reading. Mode `append` adds to a database that exists and makes a new set, `overwrite` replaces both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ._errors import UsageError
from .distributed import Job, Part, Parts, Shard

try:
    from pyspark import TaskContext
    from pyspark.sql import SparkSession
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

__all__ = ["SqluiceDataSource", "register"]

_PARTS = 16
"""Parts that a table is read in by default."""


def register(spark: SparkSession) -> None:
    """Makes the data source known to a session."""
    spark.dataSource.register(SqluiceDataSource)


class SqluiceDataSource(DataSource):
    """Tables of SQLite databases that all workers see."""

    @classmethod
    def name(cls) -> str:
        """What `format` takes."""
        return "sqluice"

    def _option(self, name: str) -> str:
        value = self.options.get(name)
        if not value:
            raise UsageError(f"the option {name} is missing", hint=f'.option("{name}", ...)')
        return value

    def _parts(self) -> Parts:
        return Parts(self._option("path"), self._option("table"), _listed(self.options.get("columns")) or None)

    def schema(self) -> StructType:
        """The columns of the table."""
        return from_arrow_schema(self._parts().schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """What reads the table."""
        return _Reader(self._parts(), int(self.options.get("parts", _PARTS)), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """What writes the table."""
        mode = self.options.get("outputMode", "one")
        job = Job(
            self._option("path"),
            self._option("table"),
            mode=mode,  # type: ignore[arg-type]
            if_exists="replace" if overwrite else "append" if mode == "one" else "fail",
            primary_key=_listed(self.options.get("primaryKey")),
            index=_listed(self.options.get("index"), ";"),
            unique=_listed(self.options.get("unique"), ";"),
            on_conflict=self.options.get("onConflict", "abort"),  # type: ignore[arg-type]
            staging=self.options.get("staging"),
        )
        # This process ends before the job: its parent lives as long as the session.
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
        wanted = to_arrow_schema(self._schema)
        for batch in partition.part.reader():
            yield batch.cast(wanted)


@dataclass
class _Message(WriterCommitMessage):
    shards: list[Shard]


class _Writer(DataSourceArrowWriter):
    def __init__(self, job: Job, schema: StructType) -> None:
        self._job = job
        # A table of no rows has these columns, too.
        self._columns = to_arrow_schema(schema)

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        context = TaskContext.get()
        assert context is not None
        return _Message(self._job.write(iterator, context.partitionId()))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        shards = [shard for message in messages if isinstance(message, _Message) for shard in message.shards]
        self._job.commit(shards, schema=self._columns)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._job.abort()
