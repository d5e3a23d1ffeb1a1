"""`frame.sqluice.write(...)` for frames and lazy frames of polars.

    >>> import polars, sqluice.polars
    >>> polars.DataFrame({"name": ["Oslo", "Rome"]}).sqluice.write("towns.db", "town").rows
    2

`import sqluice` registers these methods, too, if polars was imported before.
"""

from __future__ import annotations

import itertools
from typing import Any

import polars

from ._report import Report
from ._write import Path, write

__all__ = ["DataFrameNamespace", "LazyFrameNamespace"]


@polars.api.register_dataframe_namespace("sqluice")
class DataFrameNamespace:
    """The namespace `frame.sqluice` of a frame."""

    def __init__(self, frame: polars.DataFrame) -> None:
        self._frame = frame

    def write(self, db: Path, table: str, **settings: Any) -> Report:
        """Writes the rows to a table of the database `db`, as `sqluice.write(db, frame, table, ...)` does, with the same settings."""
        return write(db, self._frame, table, **settings)


@polars.api.register_lazyframe_namespace("sqluice")
class LazyFrameNamespace:
    """The namespace `frame.sqluice` of a lazy frame."""

    def __init__(self, frame: polars.LazyFrame) -> None:
        self._frame = frame

    def write(self, db: Path, table: str, **settings: Any) -> Report:
        """Computes the rows and writes them as they come, in bounded memory, to a table of the database `db`, as `sqluice.write` does, with
        the same settings."""
        # The empty frame gives the columns if the lazy frame has no rows.
        empty = polars.DataFrame(schema=self._frame.collect_schema())
        return write(db, itertools.chain([empty], self._frame.collect_batches(maintain_order=True)), table, **settings)
