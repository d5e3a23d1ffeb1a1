"""[Dask](https://docs.dask.org/en/stable/dataframe.html): data frames into SQLite, and out of it.

    >>> sqluice.dask.write("out.db", frame, "t", primary_key="id", index=["area"])      # doctest: +SKIP
    >>> written = sqluice.dask.write("out.db", frame, "t")                              # doctest: +SKIP
    >>> frame = sqluice.dask.read("out.db", "t", schema=written.schema)                 # doctest: +SKIP

Each partition becomes a database of its rows. When all are written, this process merges them. With `second_round=True`, and if no key is in two
partitions, tasks copy the pages into one file, in parallel, and this process writes only interior pages and indexes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._arguments import check_arguments
from ._errors import UsageError, library_errors, wrong_type
from ._write import Path
from .distributed import Job, Part, Parts, Place, Placed, Shard
from .distributed._job import Committed

try:
    import dask
    import dask.dataframe
except ImportError as error:
    raise UsageError(f"sqluice.dask needs Dask: {error}", hint='install it: pip install "dask[dataframe]"') from None

__all__ = ["read", "write"]


def write(db: Path, frame: Any, table: str, *, write_index: bool = False, **options: Any) -> Committed:
    """Writes a data frame to a table of a database, or of a set of databases.

    write_index: writes the index of the frame as a column. The other parameters are those of `sqluice.distributed.Job`.
    """
    check_arguments(write, locals())
    if not hasattr(frame, "to_delayed") or not hasattr(frame, "_meta"):
        raise wrong_type(f"frame must be a data frame of Dask, not {type(frame).__name__}")
    job = Job(db, table, **options)
    job.begin()
    try:
        written_by_task = dask.delayed(_write, pure=False)
        tasks = [written_by_task(job, number, partition, write_index) for number, partition in enumerate(frame.to_delayed())]
        written: Sequence[list[Shard]] = dask.compute(*tasks)
        shards = [shard for shards in written for shard in shards]
        copy = dask.delayed(_place, pure=False)
        placed: Sequence[Placed] = dask.compute(*[copy(job, place) for place in job.plan(shards)])
    except BaseException:
        job.abort()
        raise
    meta = _arrow(frame._meta, write_index).schema
    return job.commit(shards, meta, placed)


def _write(job: Job, number: int, partition: Any, write_index: bool) -> list[Shard]:
    return job.write([_arrow(partition, write_index)], number)


def _place(job: Job, place: Place) -> Placed:
    return job.place(place)


def _arrow(frame: Any, write_index: bool) -> Any:
    import pyarrow

    with library_errors("the frame can't be Arrow data"):
        table = pyarrow.Table.from_pandas(frame, preserve_index=write_index)
    if all(_is_aligned(chunk) for column in table.columns for chunk in column.chunks):
        return table
    # Buffers that Dask has received may not be aligned; writing them in the stream format aligns them.
    aligned = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(aligned, table.schema) as stream:
        stream.write_table(table)
    return pyarrow.ipc.open_stream(aligned.getvalue()).read_all()


def _is_aligned(array: Any) -> bool:
    return all(buffer is None or buffer.address % 8 == 0 for buffer in array.buffers())


def read(
    db: Path, table: str, *, columns: str | Sequence[str] | None = None, npartitions: int | None = None, schema: Any = None
) -> Any:
    """Returns a table of a database as a data frame. All workers must reach the database; tasks read its partitions, all from the same state.

    npartitions: the number of partitions; by default one for each 64 MiB of the file.
    schema: the types of columns, since SQLite has no booleans and timestamps: the `schema` that `write` has returned, an Arrow schema,
        or a frame with these columns. Columns that it lacks get SQLite's types.
    """
    check_arguments(read, locals())
    parts = Parts(db, table, columns)
    count = npartitions or max(1, parts.bytes // (64 << 20))
    wanted = _with_types(parts.schema, schema)
    return dask.dataframe.from_map(_read, parts.cut(count), schema=wanted, meta=_frame(wanted.empty_table()), label="read-sqluice")


def _with_types(stored: Any, schema: Any) -> Any:
    """Returns the columns of the stored table, with the types of a schema or of a frame."""
    import pyarrow

    if schema is None:
        return stored
    if not isinstance(schema, pyarrow.Schema):
        schema = _arrow(getattr(schema, "_meta", schema), False).schema
    types = {field.name: field.type for field in schema}
    return pyarrow.schema([pyarrow.field(field.name, types.get(field.name, field.type)) for field in stored])


def _read(part: Part, schema: Any) -> Any:
    with library_errors(f"the values of table {part.table} can't be cast to the types of the schema"):
        return _frame(part.reader().read_all().cast(schema))


def _frame(table: Any) -> Any:
    import pandas

    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    return frame
