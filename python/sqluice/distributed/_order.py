"""Batches of a task, as long as they are in the order of their key.

Rows that ascend by their rowid are written as they arrive; others are sorted first, which takes several times as long. A task gets its rows once,
so they are looked at as they pass: the batches in order become one shard, and what follows the first that is not, another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._errors import UsageError

_ROWID_MAX = 2**63 - 1


class InOrder:
    """The batches before the first one whose keys do not ascend, from its first row and from the batch before it."""

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
            # Two shards may have different columns, and batches of one may not.
            raise UsageError("a batch has other columns than the first")
        self._fields = fields
        last = _last_ascending(batch, self._key, self._last)
        if last is None:
            self._first_of_rest = batch
            raise StopIteration
        self._last = last
        return batch

    def rest(self) -> Iterator[Any]:
        """All others; to be taken when there are no more in order."""
        if self._first_of_rest is None:
            return
        yield self._with_keys(self._first_of_rest)
        for batch in self._batches:
            yield self._with_keys(batch)

    def _with_keys(self, batch: Any) -> Any:
        """A batch in which a row without a key has the one after the largest before it, as SQLite gives it. The rows in order count, which
        another database has."""
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
            # After the largest SQLite tries random ones: that stays its own affair.
            if key is None and self._last < _ROWID_MAX:
                keys[row] = self._last + 1
            self._last = max(self._last, keys[row] or self._last)
        at = batch.schema.get_field_index(self._key)
        return batch.set_column(at, batch.schema.field(at), pyarrow.array(keys, column.type))


def _last_ascending(batch: Any, key: str, last: int | None) -> int | None:
    """The last key of a batch, if its keys are integers that ascend from after `last`."""
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
