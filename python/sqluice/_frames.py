"""One or several frames of pandas as the rows of one table: their columns, some rows at a time.

The columns are those of the first frame, and the rows of the frames follow each other. A column gets the type that the values of all
frames allow.

```text
index     written by default, unless the index of each frame counts from 0, or goes on where the index of the frame before ends;
          nor if it has no name, and the table exists without a column for it
columns   have the same names in all frames; in any order, unless a name is repeated
types     frames in a sequence are read again if a later frame needs another type; frames of other iterables wait on the disk until all are known
```
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ._errors import InputError, UsageError, library_errors

# The most rows of a chunk, which is a slice of a frame.
CHUNK_ROWS = 32 << 10

Chunk = Any
"""A list with the values of each column, or data of Arrow. The values of a column are a list or a buffer; those of timestamps are a tuple with one
list."""


def is_frame(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "pandas" and type(data).__name__ == "DataFrame"


def is_arrow(data: Any) -> bool:
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")


@dataclasses.dataclass(frozen=True, slots=True)
class Index:
    """The arguments of the caller about the index of frames, and the facts that decide about the index if these are not given."""

    wanted: bool | None
    """True if the index is written, False if not; None: it is written if `label` is given, or else unless it only counts rows,
    or an existing table has no column for it."""
    label: str | Sequence[str] | None
    """The names of the columns that the index becomes; None: the names of its levels."""
    rows_before: int
    """The number of rows of frames that were given to the table before."""
    table_columns: Callable[[], Sequence[str] | None]
    """Returns the columns of the existing table, or None if the table is made for the frames."""

    def is_default(self) -> bool:
        return self.wanted is None and self.label is None

    def refuse(self) -> None:
        """Refuses arguments about the index of a frame, for data that has none."""
        if not self.is_default():
            raise UsageError("only a pandas frame has an index that can be written", hint="leave index_label out, and name columns in index=")


class Frames:
    """The columns that one frame, or all of several, must have, and the conversion of frames to chunks of these columns."""

    def __init__(self, first: Any, known: Sequence[Any], columns: Sequence[str] | None, index: Index) -> None:
        """`known` are all frames, or the frames up to the first that has rows if the others are not known yet."""
        self._columns, self._index = columns, index
        first = self._selected(first)
        wanted = index.wanted
        if wanted is None:
            wanted = index.label is not None or not (self._count_on(known) or self._has_no_place(first))
        self.index_labels: list[str] = _index_labels(first, index.label) if wanted and is_frame(first) else []
        self._names = column_names(first)
        self._units = self._units_of(known)
        self.names = self.index_labels + self._names

    def _count_on(self, frames: Iterable[Any]) -> bool:
        """Returns True if the index of each frame only counts its rows."""
        rows = self._index.rows_before
        for frame in filter(is_frame, frames):
            if not _counts(frame.index, rows):
                return False
            rows += len(frame)
        return True

    def _has_no_place(self, frame: Any) -> bool:
        """Returns True if the index has no name, and the table exists and has no column for such an index."""
        if not is_frame(frame) or set(frame.index.names) != {None}:
            return False
        existing = self._index.table_columns()
        return existing is not None and not {label.lower() for label in _index_labels(frame, None)} <= {name.lower() for name in existing}

    def _selected(self, frame: Any) -> Any:
        if self._columns is None or not is_frame(frame):
            return frame
        missing = next((name for name in self._columns if name not in frame.columns), None)
        if missing is not None:
            named = ", ".join(map(_column_name, frame.columns[:20]))
            raise UsageError(f"columns= names {missing!r}, which the frame does not have", hint=f"choose some of: {named}")
        return frame[list(self._columns)]

    def _units_of(self, frames: Iterable[Any]) -> dict[str, str]:
        """Returns the finest unit of each column of durations. They are stored as integers in this unit."""
        units: dict[str, str] = {}
        for frame in filter(is_frame, frames):
            for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
                unit = _unit(dtype)
                if unit is not None:
                    units[_column_name(name)] = max(unit, units.get(_column_name(name), unit), key=_UNITS.index)
        return units

    def chunks(self, frames: Iterable[Any]) -> Iterator[Chunk]:
        """Yields the rows of all frames."""
        rows = self._index.rows_before
        for number, frame in enumerate(frames, 1):
            if is_frame(frame):
                says_more = self._index.is_default() and not self.index_labels and not _counts(frame.index, rows)
                if says_more and not self._has_no_place(frame):
                    message = f"frame {number} has an index that does not just count its rows, but those of the frames before did, and were left out"
                    raise UsageError(message, hint="index=True writes the index of all frames, index=False of none")
                rows += len(frame)
                yield from self._slices(frame, number)
            elif is_arrow(frame) and column_names(frame) is not None:
                yield self._ordered(frame, number)
            else:
                raise InputError(f"item {number} must be a frame like the first one, not a {type(frame).__name__}")

    def _slices(self, frame: Any, number: int) -> Iterator[Chunk]:
        frame = self._ordered(self._selected(frame), number)
        levels = len(self.index_labels)
        if levels not in (0, frame.index.nlevels):
            raise UsageError(f"the index of frame {number} has {frame.index.nlevels} levels, but that of the first frame has {levels}")
        parts: list[Any] = [frame.index.get_level_values(level) for level in range(levels)]
        parts += [frame.iloc[:, position] for position in range(len(self._names))]
        columns = []
        for name, values in zip(self.names, parts, strict=True):
            with column_errors(name):
                columns.append(arrow_of(values) or self._in_unit(name, values, number))
        for start, end in itertools.pairwise(_cuts(columns, len(frame))):
            chunk = []
            for name, values in zip(self.names, columns, strict=True):
                with column_errors(name):
                    chunk.append(_of_arrow(values, start, end) if hasattr(values, "num_chunks") else _of_series(values[start:end]))
            yield chunk

    def _in_unit(self, name: str, values: Any, number: int) -> Any:
        """Returns the values; durations are converted to the unit of their column."""
        unit = _unit(values.dtype)
        if unit is None:
            return values
        known = self._units.setdefault(name, unit)
        if _UNITS.index(unit) > _UNITS.index(known):
            message = f"column {name}: the durations of frame {number} have the unit {unit}, but those before have {known}"
            raise InputError(message, hint=f"frame[{name!r}].astype('timedelta64[{known}]') converts them", column=name)
        return values if unit == known else values.astype(f"timedelta64[{known}]")

    def _ordered(self, frame: Any, number: int) -> Any:
        """Returns a frame with its columns in the order of the first frame; raises a usage error if it has other columns."""
        names = column_names(frame)
        if names == self._names:
            return frame
        missing = next((name for name in self._names if name not in names), None)
        more = next((name for name in names if name not in self._names), None)
        if missing is not None or more is not None or len(set(names)) < len(names):
            what = f"{missing} is missing" if missing is not None else f"{more} is new" if more is not None else "a name is repeated"
            message = f"frame {number} has other columns than the first: {what}"
            raise UsageError(message, hint="give all frames the same columns, such as by reindex(columns=...)", column=missing or more)
        if is_frame(frame):
            return frame.iloc[:, [names.index(name) for name in self._names]]
        return frame.select(self._names)


def column_names(frame: Any) -> Any:
    """Returns the names of the columns of a frame, or of data of Arrow; None if the data has no attribute with names."""
    if is_frame(frame):
        return [_column_name(name) for name in frame.columns]
    names = getattr(getattr(frame, "schema", None), "names", None)
    names = names() if callable(names) else names
    return list(names) if names is not None and hasattr(frame, "select") else None


def _counts(index: Any, start: int) -> bool:
    """Returns True if an index says no more than the number of the row: it has no name, and counts from 0 or from `start`."""
    if index.nlevels > 1 or index.name is not None:
        return False
    if not len(index):
        return True
    if getattr(index.dtype, "kind", "") not in "iu" or index[0] not in (0, start):
        return False
    if type(index).__name__ == "RangeIndex":
        return len(index) == 1 or index.step == 1
    import numpy

    return bool(numpy.array_equal(index.to_numpy(), numpy.arange(index[0], index[0] + len(index))))


_UNITS = ("s", "ms", "us", "ns")


def _unit(dtype: Any) -> str | None:
    """Returns the unit of a NumPy type of durations; None for any other type."""
    import numpy

    return str(numpy.datetime_data(dtype)[0]) if getattr(dtype, "kind", "") == "m" and isinstance(dtype, numpy.dtype) else None


def column_errors(name: str) -> AbstractContextManager[None]:
    return library_errors(f"column {name}: the values can't be read", column=name)


def arrow_of(values: Any) -> Any:
    """Returns a column of a frame as Arrow data if pandas stores the column in this form, otherwise None. As objects of Python, the values would
    change."""
    dtype = values.dtype
    if type(dtype).__name__ == "CategoricalDtype" and _is_arrow(dtype.categories.dtype):
        values = values.astype(dtype.categories.dtype)
    elif not _is_arrow(dtype):
        return None
    array = values.array.__arrow_array__()
    if hasattr(array, "num_chunks"):
        return array
    import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]

    return pyarrow.chunked_array([array])


def _is_arrow(dtype: Any) -> bool:
    return hasattr(dtype, "pyarrow_dtype") or (type(dtype).__name__ == "StringDtype" and getattr(dtype, "storage", "") == "pyarrow")


def _cuts(columns: list[Any], rows: int) -> list[int]:
    """Returns the rows at which a frame is cut into slices. A slice has at most CHUNK_ROWS rows, and lies within one chunk of each Arrow column."""
    cuts = {rows, *range(0, rows, CHUNK_ROWS)}
    for values in columns:
        if hasattr(values, "num_chunks"):
            cuts.update(itertools.accumulate(len(chunk) for chunk in values.chunks))
    return sorted(cuts)


def _of_arrow(values: Any, start: int, end: int) -> Any:
    """Returns the values from `start` to `end`, which all lie in one chunk, as Arrow data."""
    (chunk,) = (chunk for chunk in values.slice(start, end - start).chunks if len(chunk))
    return chunk


def _column_name(name: Any) -> str:
    return ".".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _index_labels(frame: Any, index_label: str | Sequence[str] | None) -> list[str]:
    """Returns the names of the columns of an index, which are those that `to_sql` gives them."""
    levels = frame.index.nlevels
    if index_label is not None:
        labels = [index_label] if isinstance(index_label, str) else list(index_label)
        if len(labels) != levels:
            raise UsageError(f"index_label has {len(labels)} names, and the index has {levels} levels")
        return labels
    if levels == 1 and frame.index.name is None and "index" not in frame.columns:
        return ["index"]
    return [f"level_{level}" if name is None else str(name) for level, name in enumerate(frame.index.names)]


def _of_series(values: Any) -> Any:
    """Returns values of a column of a frame as a list or a buffer."""
    import numpy

    dtype = values.dtype
    zone = getattr(dtype, "tz", None)
    if zone is not None:
        # Timestamps with a zone are stored in UTC and end in +00:00, like those of Arrow.
        naive = values.dt.tz_convert("UTC").dt.tz_localize(None) if hasattr(values, "dt") else values.tz_convert("UTC").tz_localize(None)
        return ([text + "+00:00" if isinstance(text, str) else text for text in _moments(naive.to_numpy())],)
    if isinstance(dtype, numpy.dtype):
        return of_numpy(values.to_numpy())
    if type(dtype).__name__ == "CategoricalDtype":
        return values.astype(object).tolist()
    return values.to_numpy(dtype=object, na_value=None).tolist()


def of_numpy(values: Any) -> Any:
    """Returns values of a column of NumPy as a list, or as a buffer of int64 or float64."""
    import numpy

    kind, size = values.dtype.kind, values.dtype.itemsize
    if values.ndim == 1:
        if kind in "bi" or (kind == "u" and size < 8):
            return numpy.ascontiguousarray(values, dtype="int64")
        if kind == "f" and size <= 8:
            return numpy.ascontiguousarray(values, dtype="float64")
        if kind == "M":
            return (_moments(values),)
        if kind == "m":
            missing = numpy.isnat(values)
            ints = values.view("int64").tolist()
            return [None if gone else value for value, gone in zip(ints, missing.tolist(), strict=True)] if missing.any() else ints
    return values.tolist()


def _moments(values: Any) -> list[Any]:
    """Returns timestamps as ISO 8601 text. A fraction of a second has 3, 6 or 9 digits, as few as it needs, like those of Arrow."""
    import numpy

    unit = numpy.datetime_data(values.dtype)[0]
    if unit in ("Y", "M", "W", "D"):
        texts = numpy.datetime_as_string(values.astype("datetime64[D]")).tolist()
    else:
        texts = numpy.datetime_as_string(values, unit="ns").tolist()
        texts = [_shortened(text) for text in texts]
    found: list[Any] = [None if text == "NaT" else text for text in texts]
    if unit in _LONG_UNITS:
        years = values.astype("datetime64[Y]").astype("int64") + 1970
        for row in numpy.flatnonzero(((years < 0) | (years > 9999)) & ~numpy.isnat(values)):
            # The engine refuses this value, and names its row and column.
            found[row] = values[row]
    return found


# Units of NumPy whose 64 bits reach beyond the years that have four digits.
_LONG_UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us")


def _shortened(text: str) -> str:
    while text.endswith("000") and "." in text:
        text = text[:-3]
    text = text.removesuffix(".")
    return text if text == "NaT" else text.replace("T", " ")
