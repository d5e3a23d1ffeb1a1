"""`Hash` and `Range`: the assignment of rows to the databases of a set."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .._arguments import check_arguments
from .._errors import InputError, UsageError, library_errors


@dataclass(frozen=True, slots=True)
class Hash:
    """Assigns rows to `count` databases by a hash of a column: equal values go to the same database. The column has integers, or values that Arrow
    casts to text."""

    column: str
    count: int

    def __post_init__(self) -> None:
        check_arguments(Hash.__init__, {"column": self.column, "count": self.count})
        if self.count < 1:
            raise UsageError(f"count={self.count} is out of range: a set has at least one database")

    def about(self) -> dict[str, Any]:
        """Returns the entry of the manifest for this partition."""
        return {"by": "hash", "column": self.column, "count": self.count}

    def places(self, column: Any) -> Any:
        """Returns the number of the partition of each value, as an array of NumPy."""
        import numpy
        import pyarrow

        if pyarrow.types.is_integer(column.type):
            values = column.fill_null(0).cast(pyarrow.int64()).to_numpy(zero_copy_only=False).astype(numpy.uint64)
            # This is the mixing function of SplitMix64.
            mixed = values + numpy.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
            return ((mixed ^ (mixed >> numpy.uint64(31))) % numpy.uint64(self.count)).astype(numpy.int64)
        text = column.cast(pyarrow.string()).fill_null("").dictionary_encode()
        of_value = [zlib.crc32(value.encode()) % self.count for value in text.dictionary.to_pylist()]
        return numpy.array(of_value, dtype=numpy.int64)[text.indices.to_numpy(zero_copy_only=False)]


@dataclass(frozen=True, slots=True)
class Range:
    """Assigns rows to databases by ranges of a column: the first database gets values below `bounds[0]`, and NULL; the last gets `bounds[-1]` and
    above."""

    column: str
    bounds: Sequence[Any]

    def __post_init__(self) -> None:
        check_arguments(Range.__init__, {"column": self.column, "bounds": self.bounds})
        try:
            ascend = list(self.bounds) == sorted(set(self.bounds))
        except TypeError as error:
            raise UsageError(f"bounds can't be compared with each other: {error}") from error
        if not self.bounds or not ascend:
            raise UsageError("bounds must be a sequence of at least one value, in ascending order")

    @property
    def count(self) -> int:
        """The number of partitions: one more than bounds."""
        return len(self.bounds) + 1

    def about(self) -> dict[str, Any]:
        """Returns the entry of the manifest for this partition."""
        return {"by": "range", "column": self.column, "bounds": list(self.bounds)}

    def places(self, column: Any) -> Any:
        """Returns the number of the partition of each value, as an array of NumPy."""
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
    """Yields each partition that a batch or table has rows for, with these rows in their order."""
    import numpy

    if partition.column not in batch.schema.names:
        raise InputError(f"the rows have no column {partition.column} to partition by: they have {', '.join(batch.schema.names)}")
    column = batch.column(partition.column)
    with library_errors(f"column {partition.column} can't be partitioned", column=partition.column):
        places = partition.places(column.combine_chunks() if hasattr(column, "combine_chunks") else column)
    for place in numpy.unique(places):
        yield int(place), batch.take(numpy.flatnonzero(places == place))
