"""What data is: how its rows and the names of their columns are found.

```text
__arrow_c_stream__, __arrow_c_array__    pyarrow, polars, DuckDB: record batches, which the engine reads itself
pandas.DataFrame                         columns, some rows at a time
numpy.ndarray                            the same: fields of a structured array, columns of one with two dimensions
an iterable of tuples and the like       one by one; the first say what they are
an iterable of dicts, dataclasses        the same; the names of the columns are their keys, their fields
an iterable of Arrow batches, frames     one after another
```
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager
from typing import Any

from ._errors import InputError, UsageError, library_errors

# Rows that say what the others are.
_HEAD_ROWS = 10_000

# Rows of a chunk of columns, a slice of a frame.
_CHUNK_ROWS = 32 << 10

Given = tuple[str, list[str], Any] | tuple[Any, Any]


class RowidOrder:
    """Rows that can be had once, and are known to ascend by their rowid."""

    def __init__(self, rows: Iterator[Any]) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[Any]:
        return self._rows


@dataclasses.dataclass(slots=True)
class Data:
    """Rows for the engine."""

    make: Callable[[], Given]
    """Gives them."""
    again: bool
    """Whether it can do so more than once."""
    about: int | None = None
    """How many there are."""
    index_columns: list[str] = dataclasses.field(default_factory=list)
    """The columns that a frame's index became."""
    in_order: bool = False
    """Whether they are known to ascend by their rowid."""


def understand(
    data: Any,
    columns: Sequence[str] | None,
    known_columns: Callable[[], Sequence[str] | None],
    frame_index: bool | None,
    index_label: str | Sequence[str] | None,
) -> Data:
    """Returns the rows of `data` for the engine; `known_columns` asks the table for its columns."""
    found = _understood(data, columns, known_columns, frame_index, index_label)
    make = found.make
    found.make = lambda: _with_text_as_names(make())
    return found


def _with_text_as_names(given: Given) -> Given:
    """Refuses names of columns that SQLite can't have."""
    for name in given[1] if len(given) == 3 else ():
        _refuse_name(name, name)
    return given


def _refuse_name(name: str, column: str) -> None:
    """Refuses a name that SQLite can't have: the name of a column, or of a field within the column."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InputError(f"the name {name!r} of a column has half of a surrogate pair, and is no Unicode text") from None
    if "\0" in name:
        what = "a column" if name == column else f"a field of column {column}"
        raise InputError(f"the name {name!r} of {what} has a NUL character, which no name in SQLite can have", hint="rename it", column=column)


def _understood(
    data: Any,
    columns: Sequence[str] | None,
    known_columns: Callable[[], Sequence[str] | None],
    frame_index: bool | None,
    index_label: str | Sequence[str] | None,
) -> Data:
    _refuse_twice(columns)
    if _is_frame(data):
        return _of_frame(data, columns, frame_index, index_label)
    if frame_index is not None or index_label is not None:
        raise UsageError("only a pandas frame has an index that can be written", hint="leave index_label out, and name columns in index=")
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        if columns is not None:
            raise UsageError("Arrow data says itself what its columns are", hint="select or rename them there, and leave columns= out")
        if _is_of_pyarrow(data) and hasattr(data, "read_next_batch"):
            # Each batch says whether its buffers are long enough; a stream of the C interface does not.
            return Data(lambda: (data.schema.empty_table(), _batches(data)), False)
        about = next((n for n in (getattr(data, "num_rows", None), getattr(data, "height", None)) if isinstance(n, int)), None)
        if about and hasattr(data, "iter_slices"):
            # Asked for all of a frame that is in several chunks, polars copies it into one; of a slice it copies no more than that.
            return Data(lambda: _of_rows(data.iter_slices(_CHUNK_ROWS), None, known_columns), True, about)
        return Data(lambda: (data, None), hasattr(data, "__len__") or about is not None, about)
    if _is_array(data):
        return _of_array(data, columns, known_columns)
    if isinstance(data, (str, bytes, Mapping)) or not isinstance(data, Iterable):
        hint = "give a list of dicts, or a frame" if isinstance(data, Mapping) else "give rows: tuples, dicts, objects, a frame"
        raise UsageError(f"a {type(data).__name__} is no sequence of rows", hint=hint)
    again = isinstance(data, Sized) and not isinstance(data, Iterator)
    about = len(data) if isinstance(data, Sized) else None

    def make() -> Given:
        return _of_rows(data, columns, known_columns)

    return Data(make, again, about, in_order=isinstance(data, RowidOrder))


def _refuse_twice(columns: Sequence[str] | None) -> None:
    """To SQLite, names are the same that differ in the case of ASCII letters only."""
    seen: set[bytes] = set()
    for name in columns or ():
        folded = name.encode("utf-8", "surrogatepass").lower()
        if folded in seen:
            raise UsageError(f"columns= names two columns {name!r}", hint="give each a name of its own")
        seen.add(folded)


def _batches(reader: Any) -> Iterator[Any]:
    """Yields the batches of a reader of pyarrow. A failure of pyarrow is one of the input, as that of a stream of the C interface is."""
    batches = iter(reader)
    while True:
        with library_errors("cannot read the Arrow data"):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def exported(data: Any, method: str) -> Any:
    """Returns what a method of Arrow's PyCapsule interface returns."""
    with library_errors("cannot read the Arrow data"):
        return getattr(data, method)()


def refuse_columns(data: Any) -> None:
    """Refuses columns of polars and pyarrow that Arrow's C interface can't hand over.

    A name ends at its first NUL there, and polars ends the process. Of Python objects polars shows the addresses, and Arrow has no
    integers of 128 bits.
    """
    schema = getattr(data, "schema", None)
    if type(data).__module__.partition(".")[0] == "polars":
        for name, dtype in schema.items() if isinstance(schema, Mapping) else ():
            _refuse_names(name, dtype, name)
            _refuse_type(name, dtype)
    elif _is_of_pyarrow(data):
        # An array is a column whose name its table has.
        for field in (data.type,) if schema is None and hasattr(data, "type") else schema or ():
            name = getattr(field, "name", "")
            _refuse_names(name, getattr(field, "type", field), name)


def _refuse_names(name: str, dtype: Any, column: str) -> None:
    """Refuses the name of a column, or of a field within its type."""
    _refuse_name(name, column)
    for field in _fields_within(dtype):
        _refuse_names(getattr(field, "name", ""), getattr(field, "dtype", getattr(field, "type", field)), column)


def _fields_within(dtype: Any) -> Iterable[Any]:
    """The fields of a nested type of polars or pyarrow, or the types of its values if these have no names."""
    fields = getattr(dtype, "fields", None)
    if isinstance(fields, Iterable):
        return fields
    if count := getattr(dtype, "num_fields", None):
        return [dtype.field(index) for index in range(count)]
    if isinstance(dtype, type):
        return []
    inner = [getattr(dtype, attribute, None) for attribute in ("inner", "key", "value", "value_type")]
    storage = dtype.ext_storage() if hasattr(dtype, "ext_storage") else None
    return [one for one in (*inner, storage) if one is not None]


def _refuse_type(name: str, dtype: Any) -> None:
    """Refuses a type of polars that Arrow does not have."""
    kinds = _kinds(dtype)
    if "Object" in kinds:
        message = f"column {name}: polars does not give away the Python objects of a column of type {dtype}"
        raise InputError(message, hint=f"frame.with_columns(polars.Series({name!r}, map(str, frame[{name!r}])))", column=name)
    if kinds & {"Int128", "UInt128"}:
        message = f"column {name}: it is of type {dtype}, and SQLite's integers have 64 bits"
        short = re.sub(r"(?<!['\w])(?!None\b)(?=[A-Z])", "polars.", str(dtype)).replace("Int128", "Int64")
        hint = f"frame.with_columns(polars.col({name!r}).cast({short})); polars.String in the place of the integers keeps all digits"
        raise InputError(message, hint=hint, column=name)


def refuse_short_buffers(data: Any) -> None:
    """Refuses data of pyarrow whose buffers are shorter than its lengths: Arrow's C interface does not say how long they are."""
    validate = getattr(data, "validate", None) if _is_of_pyarrow(data) else None
    if validate is None:
        return
    try:
        validate()
    except ValueError as error:
        hint = "the program that made it has a fault: validate(full=True) says more"
        raise InputError(f"the Arrow data contradicts itself: {error}", hint=hint) from error


def _is_of_pyarrow(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "pyarrow"


def _kinds(dtype: Any) -> set[str]:
    """The names of the types of polars that a type is made of."""
    kind = dtype if isinstance(dtype, type) else type(dtype)
    inner = (getattr(field, "dtype", field) for field in _fields_within(dtype))
    return {kind.__name__}.union(*map(_kinds, inner))


def names_in_schema(sql: str, table: str) -> list[str] | None:
    """The columns that take values of a table that statements declare."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(sql)
        names = connection.execute("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", (table,)).fetchall()
    except sqlite3.Error:
        # The engine says what is wrong with them, and where.
        return None
    finally:
        connection.close()
    return [name for (name,) in names] or None


def _of_rows(data: Iterable[Any], columns: Sequence[str] | None, known_columns: Callable[[], Sequence[str] | None]) -> Given:
    rows = iter(data)
    head = list(itertools.islice(rows, 1))
    first = head[0] if head else ()
    if hasattr(first, "__arrow_c_stream__") or hasattr(first, "__arrow_c_array__"):
        return first, rows
    if isinstance(first, Mapping):
        if columns is not None:
            return "chosen", list(columns), itertools.chain(head, rows)
        head += itertools.islice(rows, _HEAD_ROWS - 1)
        # A row that is not a mapping is reported later, with its place.
        names = list(dict.fromkeys(key for row in head if isinstance(row, Mapping) for key in row))
        wrong = next((name for name in names if not isinstance(name, str)), None)
        if wrong is not None:
            raise InputError(f"the key {wrong!r} is no str, and can't be the name of a column")
        return "mapping", names, itertools.chain(head, rows)
    fields = _fields(first)
    if fields is not None:
        return "attributes", list(columns or fields), itertools.chain(head, rows)
    if head and (isinstance(first, (str, bytes)) or not isinstance(first, Iterable)):
        raise InputError(f"row 1: a {type(first).__name__} is no row", hint="make it a tuple, a dict or an object", row=1)
    names = list(columns or _names(data, first) or known_columns() or [])
    if not names:
        raise UsageError("nothing says what the columns are called", hint='columns=["id", "name"] does')
    return "sequence", names, itertools.chain(head, rows)


def _fields(row: Any) -> list[str] | None:
    """The names of the attributes of a dataclass or a class of `attrs`."""
    if isinstance(row, type):
        return None
    if dataclasses.is_dataclass(row):
        return [field.name for field in dataclasses.fields(row)]
    attributes = getattr(type(row), "__attrs_attrs__", None)
    return None if attributes is None else [attribute.name for attribute in attributes]


def _names(data: Any, row: Any) -> list[str] | None:
    """The names that a row has for its values, or a cursor for its columns."""
    named = getattr(row, "_fields", None)
    if named is not None:
        return list(named)
    if isinstance(row, sqlite3.Row):
        return list(row.keys())
    description = getattr(data, "description", None)
    return [column[0] for column in description] if description else None


def _is_frame(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "pandas" and type(data).__name__ == "DataFrame"


def _is_array(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "numpy" and hasattr(data, "ndim") and hasattr(data, "dtype")


def _of_frame(
    frame: Any, columns: Sequence[str] | None, frame_index: bool | None, index_label: str | Sequence[str] | None
) -> Data:
    """A frame, with its index as the first columns, if that is wanted.

    By default an index is written that says something: one with a name, or one that does not just count.
    """
    index = frame.index
    if columns is not None:
        missing = next((name for name in columns if name not in frame.columns), None)
        if missing is not None:
            named = ", ".join(map(_column_name, frame.columns[:20]))
            raise UsageError(f"columns= names {missing!r}, which the frame does not have", hint=f"choose some of: {named}")
        frame = frame[list(columns)]
    wanted = frame_index
    if wanted is None:
        wanted = index_label is not None or type(index).__name__ != "RangeIndex" or index.name is not None
    labels: list[str] = []
    parts: list[tuple[str, Any]] = []
    if wanted:
        labels = _index_labels(frame, index_label)
        parts = [(label, index.get_level_values(level)) for level, label in enumerate(labels)]
    for position, name in enumerate(frame.columns):
        parts.append((_column_name(name), frame.iloc[:, position]))
    names = [name for name, _ in parts]
    rows = len(frame)

    def chunks() -> Iterator[list[Any]]:
        columns = []
        for name, values in parts:
            with _column_errors(name):
                columns.append(_arrow_of(values) or values)
        for start, end in itertools.pairwise(_cuts(columns, rows)):
            chunk = []
            for name, values in zip(names, columns, strict=True):
                with _column_errors(name):
                    chunk.append(_of_arrow(values, start, end) if hasattr(values, "num_chunks") else _of_series(values[start:end]))
            yield chunk

    return Data(lambda: ("columns", names, chunks()), True, rows, labels)


def _column_errors(name: str) -> AbstractContextManager[None]:
    return library_errors(f"column {name}: the values can't be read", column=name)


def _arrow_of(values: Any) -> Any:
    """The chunks of a frame's column that is Arrow's, or None: its values would change on the way through Python's objects."""
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
    """Where a frame is cut: so that no slice is too long, or has values of two chunks of a column."""
    cuts = {rows, *range(0, rows, _CHUNK_ROWS)}
    for values in columns:
        if hasattr(values, "num_chunks"):
            cuts.update(itertools.accumulate(len(chunk) for chunk in values.chunks))
    return sorted(cuts)


def _of_arrow(values: Any, start: int, end: int) -> Any:
    """Some values, which are all in one chunk."""
    (chunk,) = (chunk for chunk in values.slice(start, end - start).chunks if len(chunk))
    return chunk


def _column_name(name: Any) -> str:
    return ".".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _index_labels(frame: Any, index_label: str | Sequence[str] | None) -> list[str]:
    """As `to_sql` names them."""
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
    """Some values of a frame's column, as a list or a buffer."""
    import numpy

    dtype = values.dtype
    zone = getattr(dtype, "tz", None)
    if zone is not None:
        # In UTC, and with its zone, as Arrow's.
        naive = values.dt.tz_convert("UTC").dt.tz_localize(None) if hasattr(values, "dt") else values.tz_convert("UTC").tz_localize(None)
        return [text + "+00:00" if isinstance(text, str) else text for text in _moments(naive.to_numpy())]
    if isinstance(dtype, numpy.dtype):
        return _of_numpy(values.to_numpy())
    if type(dtype).__name__ == "CategoricalDtype":
        return values.astype(object).tolist()
    return values.to_numpy(dtype=object, na_value=None).tolist()


def _of_array(array: Any, columns: Sequence[str] | None, known_columns: Callable[[], Sequence[str] | None]) -> Data:
    if array.dtype.names is not None:
        fields = list(array.dtype.names)
        parts = [array[field] for field in fields]
        names = list(columns or fields)
    elif array.ndim == 2:
        parts = [array[:, column] for column in range(array.shape[1])]
        names = list(columns or known_columns() or [])
    elif array.ndim == 1:
        parts = [array]
        names = list(columns or known_columns() or [])
    else:
        raise UsageError(f"an array of {array.ndim} dimensions is no table", hint="one of 2 is, or a structured one")
    if not names:
        raise UsageError("nothing says what the columns are called", hint='columns=["id", "name"] does')
    if len(names) != len(parts):
        raise UsageError(f"the array has {len(parts)} columns, and {len(names)} names are given")
    rows = len(array)

    def chunks() -> Iterator[list[Any]]:
        for start in range(0, rows, _CHUNK_ROWS):
            chunk = []
            for name, part in zip(names, parts, strict=True):
                with _column_errors(name):
                    chunk.append(_of_numpy(part[start : start + _CHUNK_ROWS]))
            yield chunk

    return Data(lambda: ("columns", names, chunks()), True, rows)


def _of_numpy(values: Any) -> Any:
    """Some values of a column, as a list or a buffer of int64 or float64."""
    import numpy

    kind, size = values.dtype.kind, values.dtype.itemsize
    if values.ndim == 1:
        if kind in "bi" or (kind == "u" and size < 8):
            return numpy.ascontiguousarray(values, dtype="int64")
        if kind == "f" and size <= 8:
            return numpy.ascontiguousarray(values, dtype="float64")
        if kind == "M":
            return _moments(values)
        if kind == "m":
            missing = numpy.isnat(values)
            ints = values.view("int64").tolist()
            return [None if gone else value for value, gone in zip(ints, missing.tolist(), strict=True)] if missing.any() else ints
    return values.tolist()


def _moments(values: Any) -> list[Any]:
    """ISO 8601, with as many digits of a second as it needs: 0, 3, 6 or 9, as of Arrow's timestamps."""
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
            # It is refused with its place.
            found[row] = values[row]
    return found


# Units of NumPy whose 64 bits reach beyond the years that have four digits.
_LONG_UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us")


def _shortened(text: str) -> str:
    while text.endswith("000") and "." in text:
        text = text[:-3]
    return text.removesuffix(".")
