"""Splits the batches of a task where their keys stop ascending.

Rows that ascend by their rowid are written as they arrive; other rows are sorted first, which takes several times as long. A task can read its rows
only once, so the keys are checked while the batches pass: the batches in order become one shard, and all batches from the first one out of order
another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._errors import UsageError

_ROWID_MAX = 2**63 - 1


class InOrder:
    """Yields batches until one whose keys do not ascend, within the batch or from the batch before; `rest` yields that batch and all others."""

    def __init__(self, batches: Iterator[Any], key: str) -> None:
        self._batches, self._key = batches, key
        self._last: int | None = None
        self._first_of_rest: Any = None
        self._fields: list[tuple[str, Any]] = []

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._first_of_rest is not None:
            raise StopIteration
        batch = next(self._batches)
        fields = [(field.name, field.type) for field in batch.schema]
        if self._last is not None and fields != self._fields:
            # The batches of a shard must have the same columns; only shards may differ.
            raise UsageError("a batch has other columns than the first")
        self._fields = fields
        last = _last_ascending(batch, self._key, self._last)
        if last is None:
            self._first_of_rest = batch
            raise StopIteration
        self._last = last
        return batch

    def rest(self) -> Iterator[Any]:
        """Yields the remaining batches. Called when the iteration over this object has ended."""
        if self._first_of_rest is None:
            return
        yield self._with_keys(self._first_of_rest)
        for batch in self._batches:
            yield self._with_keys(batch)

    def _with_keys(self, batch: Any) -> Any:
        """Returns a batch whose NULL keys are replaced by the largest key so far plus 1, as SQLite would number them. SQLite itself can't: the rows in
        order are in another database."""
        import pyarrow
        import pyarrow.compute

        if self._last is None:
            return batch
        column = batch.column(self._key)
        if column.null_count == 0:
            self._last = max(self._last, pyarrow.compute.max(column).as_py())
            return batch
        keys = column.to_pylist()
        for row, key in enumerate(keys):
            # If the largest possible rowid is taken, SQLite tries random rowids, so the NULL is left to SQLite.
            if key is None and self._last < _ROWID_MAX:
                keys[row] = self._last + 1
            self._last = max(self._last, keys[row] or self._last)
        at = batch.schema.get_field_index(self._key)
        return batch.set_column(at, batch.schema.field(at), pyarrow.array(keys, column.type))


def _last_ascending(batch: Any, key: str, last: int | None) -> int | None:
    """Returns the last key of a batch if its keys are ascending integers, all larger than `last`; otherwise None."""
    import pyarrow
    import pyarrow.compute

    if batch.schema.names.count(key) != 1:
        return None
    column = batch.column(key)
    if not pyarrow.types.is_integer(column.type) or column.null_count > 0:
        return None
    for keys in column.chunks if isinstance(column, pyarrow.ChunkedArray) else [column]:
        if len(keys) == 0:
            continue
        if last is not None and keys[0].as_py() <= last:
            return None
        ascends = pyarrow.compute.all(pyarrow.compute.less(keys.slice(0, len(keys) - 1), keys.slice(1)), min_count=0)
        if not ascends.as_py():
            return None
        last = keys[-1].as_py()
    return last
