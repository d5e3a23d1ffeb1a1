"""Which database of a set a row goes to."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .._arguments import check_arguments
from .._errors import InputError, UsageError, library_errors


@dataclass(frozen=True, slots=True)
class Hash:
    """By a hash of a column: equal values go to the same of `count` databases. Integers, text and what Arrow prints as text."""

    column: str
    count: int

    def __post_init__(self) -> None:
        check_arguments(Hash.__init__, {"column": self.column, "count": self.count})
        if self.count < 1:
            raise UsageError("a set is partitioned into at least one database")

    def about(self) -> dict[str, Any]:
        """As the manifest has it."""
        return {"by": "hash", "column": self.column, "count": self.count}

    def places(self, column: Any) -> Any:
        """The number of the partition of each value."""
        import numpy
        import pyarrow

        if pyarrow.types.is_integer(column.type):
            values = column.fill_null(0).cast(pyarrow.int64()).to_numpy(zero_copy_only=False).astype(numpy.uint64)
            # splitmix64
            mixed = values + numpy.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
            return ((mixed ^ (mixed >> numpy.uint64(31))) % numpy.uint64(self.count)).astype(numpy.int64)
        text = column.cast(pyarrow.string()).fill_null("").dictionary_encode()
        of_value = [zlib.crc32(value.encode()) % self.count for value in text.dictionary.to_pylist()]
        return numpy.array(of_value, dtype=numpy.int64)[text.indices.to_numpy(zero_copy_only=False)]


@dataclass(frozen=True, slots=True)
class Range:
    """By ranges of a column: the first database has what is below `bounds[0]`, and NULL; the last what is `bounds[-1]` and above."""

    column: str
    bounds: Sequence[Any]

    def __post_init__(self) -> None:
        check_arguments(Range.__init__, {"column": self.column, "bounds": self.bounds})
        try:
            ascend = list(self.bounds) == sorted(set(self.bounds))
        except TypeError as error:
            raise UsageError(f"bounds can't be compared with each other: {error}") from error
        if not self.bounds or not ascend:
            raise UsageError("the bounds of ranges must ascend, and be at least one")

    @property
    def count(self) -> int:
        """How many databases there may be."""
        return len(self.bounds) + 1

    def about(self) -> dict[str, Any]:
        """As the manifest has it."""
        return {"by": "range", "column": self.column, "bounds": list(self.bounds)}

    def places(self, column: Any) -> Any:
        """The number of the partition of each value."""
        import numpy
        import pyarrow
        import pyarrow.compute

        places = numpy.zeros(len(column), dtype=numpy.int64)
        for bound in self.bounds:
            at_least = pyarrow.compute.greater_equal(column, pyarrow.scalar(bound))
            places += at_least.fill_null(False).to_numpy(zero_copy_only=False).astype(numpy.int64)
        return places


Partition = Hash | Range


def split(batch: Any, partition: Partition) -> Iterator[tuple[int, Any]]:
    """The rows of a batch or table by their partitions, in their order."""
    import numpy

    if partition.column not in batch.schema.names:
        raise InputError(f"no column {partition.column} to partition by: {', '.join(batch.schema.names)}")
    column = batch.column(partition.column)
    with library_errors(f"column {partition.column} can't be partitioned", column=partition.column):
        places = partition.places(column.combine_chunks() if hasattr(column, "combine_chunks") else column)
    for place in numpy.unique(places):
        yield int(place), batch.take(numpy.flatnonzero(places == place))
