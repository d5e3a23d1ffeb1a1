"""Recognises the kind of the data that a caller gives, and finds its rows and the names of its columns.

```text
__arrow_c_stream__, __arrow_c_array__    pyarrow, polars, DuckDB: record batches, which the engine reads itself
pandas.DataFrame                         columns, some rows at a time: see `_frames`
numpy.ndarray                            columns, some rows at a time: fields of a structured array, or columns of an array of one or two dimensions
an iterable of tuples and the like       rows, one by one; the first rows give the types
an iterable of dicts, dataclasses        rows, one by one; the names of the columns are the keys or the fields
an iterable of Arrow batches             one after another, all of one schema
an iterable of frames of pandas          one after another, with the types that all of them allow; also of Arrow data with several schemas
```
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

from ._errors import InputError, UsageError, library_errors
from ._frames import CHUNK_ROWS, Frames, Index, column_errors, column_names, is_arrow, is_frame, of_numpy

# The number of dicts whose keys become the columns.
_HEAD_ROWS = 10_000

Given = tuple[str, list[str], Any] | tuple[Any, Any]


class RowidOrder:
    """An iterator of rows that are known to ascend by their rowid."""

    def __init__(self, rows: Iterator[Any]) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[Any]:
        return self._rows


@dataclasses.dataclass(slots=True)
class Data:
    """The rows that a caller has given, in the form that the engine takes."""

    make: Callable[[], Given]
    """A function that returns the rows."""
    again: bool
    """True if `make` can be called more than once, because the rows can be read again."""
    about: int | None = None
    """The number of rows, if it is known."""
    index_columns: list[str] = dataclasses.field(default_factory=list)
    """The names of the columns that the index of a frame became."""
    in_order: bool = False
    """True if the rows are known to ascend by their rowid."""
    waits: bool = False
    """True if all rows must be stored on the disk before the first is written, because a later row may need another type of column."""


def understand(
    data: Any,
    columns: Sequence[str] | None,
    known_columns: Callable[[], Sequence[str] | None],
    frame_index: bool | None = None,
    index_label: str | Sequence[str] | None = None,
    *,
    rows_before: int = 0,
    table_columns: Callable[[], Sequence[str] | None] = lambda: None,
) -> Data:
    """Returns the rows of `data` for the engine.

    known_columns: returns the names of the columns for rows that have none.
    rows_before: the rows of frames that were given before.
    table_columns: returns the columns of the table, or None if it is made for the data.
    """
    _refuse_twice(columns)
    found = _understood(data, columns, known_columns, Index(frame_index, index_label, rows_before, table_columns))
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


def _understood(data: Any, columns: Sequence[str] | None, known_columns: Callable[[], Sequence[str] | None], index: Index) -> Data:
    if is_frame(data):
        return _of_frames(data, lambda: iter([data]), [data], columns, index, True)
    if is_arrow(data):
        index.refuse()
        _refuse_columns_of_arrow(columns)
        if _is_of_pyarrow(data) and hasattr(data, "read_next_batch"):
            # pyarrow can check the lengths of the buffers of each batch; a stream of the C interface does not give them.
            return Data(lambda: (data.schema.empty_table(), _batches(data)), False)
        about = _length(data)
        if about and hasattr(data, "iter_slices"):
            # polars copies a frame with several chunks into one chunk before it gives it away; slice by slice, the copy is small.
            return Data(lambda: _one_by_one(data.iter_slices(CHUNK_ROWS)), True, about)
        return Data(lambda: (data, None), hasattr(data, "__len__") or about is not None, about)
    if _is_array(data):
        index.refuse()
        return _of_array(data, columns, known_columns)
    if isinstance(data, (str, bytes, Mapping)) or not isinstance(data, Iterable):
        hint = "give a list of dicts, or a frame" if isinstance(data, Mapping) else "give rows: tuples, dicts, objects, a frame"
        raise UsageError(f"data must be rows or a frame, not a {type(data).__name__}", hint=hint)
    again = isinstance(data, Sized) and not isinstance(data, Iterator)
    rows = _each(data)
    head = list(itertools.islice(rows, 1))
    first = head[0] if head else None
    while is_frame(first) and is_frame(head[-1]) and not len(head[-1]) and (more := list(itertools.islice(rows, 1))):
        head += more  # An empty frame does not show if its index only counts rows.

    def items() -> Iterator[Any]:
        return _each(data) if again else itertools.chain(head, rows)

    if is_frame(first):
        return _of_frames(first, items, data if again else head, columns, index, again)
    index.refuse()
    if is_arrow(first):
        _refuse_columns_of_arrow(columns)
        if again and column_names(first) is not None and not _are_alike(data):
            return _of_frames(first, items, data, columns, index, True)
        return Data(lambda: _one_by_one(items()), again, _length_of_all(data) if again else None, in_order=isinstance(data, RowidOrder))
    about = len(data) if isinstance(data, Sized) else None
    return Data(lambda: _of_rows(data, items(), columns, known_columns), again, about, in_order=isinstance(data, RowidOrder))


def _each(rows: Iterable[Any]) -> Iterator[Any]:
    """Yields the items of an iterable. If it is one of pandas, polars or pyarrow, its exceptions become input errors, such as those of `read_csv`."""
    iterator = iter(rows)
    if type(rows).__module__.partition(".")[0] not in ("pandas", "polars", "pyarrow"):
        return iterator
    return _of_library(iterator)


def _of_library(iterator: Iterator[Any]) -> Iterator[Any]:
    while True:
        with library_errors("cannot read the frames"):
            try:
                item = next(iterator)
            except StopIteration:
                return
        yield item


def _refuse_columns_of_arrow(columns: Sequence[str] | None) -> None:
    if columns is not None:
        raise UsageError("columns= can't be given for Arrow data, which has its own names of columns", hint="select or rename columns in the data, and leave columns= out")


def _one_by_one(data: Iterator[Any]) -> Given:
    return next(data), data


def _of_frames(first: Any, items: Callable[[], Iterator[Any]], known: Any, columns: Sequence[str] | None, index: Index, again: bool) -> Data:
    """Returns the rows of frames, one after another. `known` are the first frames, or all frames if they can be read again."""
    frames = Frames(first, known, columns, index)
    about = _length_of_all(known) if again else None
    return Data(lambda: ("columns", frames.names, frames.chunks(items())), again, about, frames.index_labels, waits=not again)


def _length(data: Any) -> int | None:
    """Returns the number of rows of a table or frame; None if it has no attribute for that."""
    return next((n for n in (getattr(data, "num_rows", None), getattr(data, "height", None)) if isinstance(n, int)), None)


def _length_of_all(frames: Iterable[Any]) -> int | None:
    lengths = [len(frame) if is_frame(frame) else _length(frame) for frame in frames]
    return None if None in lengths else sum(length for length in lengths if length is not None)


def _are_alike(frames: Iterable[Any]) -> bool:
    """Returns True if all frames are of the same library and have the same schema."""
    schemas = [(type(frame).__module__.partition(".")[0], getattr(frame, "schema", None)) for frame in frames]
    return all(schema == schemas[0] for schema in schemas)


def _refuse_twice(columns: Sequence[str] | None) -> None:
    """Refuses two columns whose names are equal or differ only in the case of ASCII letters, which is the same name for SQLite."""
    seen: set[bytes] = set()
    for name in columns or ():
        folded = name.encode("utf-8", "surrogatepass").lower()
        if folded in seen:
            raise UsageError(f"columns= names two columns {name!r}", hint="give each a name of its own")
        seen.add(folded)


def _batches(reader: Any) -> Iterator[Any]:
    """Yields the batches of a reader of pyarrow. Exceptions of pyarrow become input errors."""
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

    In the C interface, a name ends at its first NUL, and polars aborts the process at one. For Python objects, polars would give their addresses, and
    Arrow has no integers of 128 bits.
    """
    schema = getattr(data, "schema", None)
    if type(data).__module__.partition(".")[0] == "polars":
        for name, dtype in schema.items() if isinstance(schema, Mapping) else ():
            _refuse_names(name, dtype, name)
            _refuse_type(name, dtype)
    elif _is_of_pyarrow(data):
        # An array has a type, but no name.
        for field in (data.type,) if schema is None and hasattr(data, "type") else schema or ():
            name = getattr(field, "name", "")
            _refuse_names(name, getattr(field, "type", field), name)


def _refuse_names(name: str, dtype: Any, column: str) -> None:
    """Refuses the name of a column, or of a field within its type."""
    _refuse_name(name, column)
    for field in _fields_within(dtype):
        _refuse_names(getattr(field, "name", ""), getattr(field, "dtype", getattr(field, "type", field)), column)


def _fields_within(dtype: Any) -> Iterable[Any]:
    """Returns the fields of a nested type of polars or pyarrow, or the types of its values if they have no names."""
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
        message = f"column {name}: polars can't export a column of type {dtype}, which holds Python objects"
        raise InputError(message, hint=f"frame.with_columns(polars.Series({name!r}, map(str, frame[{name!r}])))", column=name)
    if kinds & {"Int128", "UInt128"}:
        message = f"column {name}: its type is {dtype}, but SQLite's integers have only 64 bits"
        short = re.sub(r"(?<!['\w])(?!None\b)(?=[A-Z])", "polars.", str(dtype)).replace("Int128", "Int64")
        hint = f"frame.with_columns(polars.col({name!r}).cast({short})); polars.String instead of Int64 keeps all digits"
        raise InputError(message, hint=hint, column=name)


def refuse_short_buffers(data: Any) -> None:
    """Refuses data of pyarrow whose buffers are shorter than its lengths require: Arrow's C interface, by which the engine reads it, has no lengths
    of buffers."""
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
    """Returns the names of a polars type and of all types within it."""
    kind = dtype if isinstance(dtype, type) else type(dtype)
    inner = (getattr(field, "dtype", field) for field in _fields_within(dtype))
    return {kind.__name__}.union(*map(_kinds, inner))


def names_in_schema(sql: str, table: str) -> list[str] | None:
    """Returns the columns of a table that SQL statements declare, without generated columns; None if the statements fail or lack the table."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(sql)
        names = connection.execute("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", (table,)).fetchall()
    except sqlite3.Error:
        # The engine reports the fault with its place.
        return None
    finally:
        connection.close()
    return [name for (name,) in names] or None


def _of_rows(
    data: Any, rows: Iterator[Any], columns: Sequence[str] | None, known_columns: Callable[[], Sequence[str] | None]
) -> Given:
    head = list(itertools.islice(rows, 1))
    first = head[0] if head else ()
    if isinstance(first, Mapping):
        if columns is not None:
            return "chosen", list(columns), itertools.chain(head, rows)
        head += itertools.islice(rows, _HEAD_ROWS - 1)
        # The engine reports a row that is not a mapping, with its place.
        names = list(dict.fromkeys(key for row in head if isinstance(row, Mapping) for key in row))
        wrong = next((name for name in names if not isinstance(name, str)), None)
        if wrong is not None:
            raise InputError(f"the key {wrong!r} can't be the name of a column: it is not a str")
        return "mapping", names, itertools.chain(head, rows)
    fields = _fields(first)
    if fields is not None:
        return "attributes", list(columns or fields), itertools.chain(head, rows)
    if head and (isinstance(first, (str, bytes)) or not isinstance(first, Iterable)):
        raise InputError(f"row 1: a {type(first).__name__} is no row", hint="make it a tuple, a dict or an object", row=1)
    names = list(columns or _names(data, first) or known_columns() or [])
    if not names:
        raise UsageError("the rows have no names of columns", hint='name the columns: columns=["id", "name"]')
    return "sequence", names, itertools.chain(head, rows)


def _fields(row: Any) -> list[str] | None:
    """Returns the names of the attributes of an object of a dataclass or of `attrs`; None for other objects."""
    if isinstance(row, type):
        return None
    if dataclasses.is_dataclass(row):
        return [field.name for field in dataclasses.fields(row)]
    attributes = getattr(type(row), "__attrs_attrs__", None)
    return None if attributes is None else [attribute.name for attribute in attributes]


def _names(data: Any, row: Any) -> list[str] | None:
    """Returns the names of the values of a named tuple or a `sqlite3.Row`, or of the columns of a cursor; None for other data."""
    named = getattr(row, "_fields", None)
    if named is not None:
        return list(named)
    if isinstance(row, sqlite3.Row):
        return list(row.keys())
    description = getattr(data, "description", None)
    return [column[0] for column in description] if description else None


def _is_array(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "numpy" and hasattr(data, "ndim") and hasattr(data, "dtype")


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
        raise UsageError(f"an array of {array.ndim} dimensions can't be rows of a table", hint="give an array of 1 or 2 dimensions, or a structured array")
    if not names:
        raise UsageError("the rows have no names of columns", hint='name the columns: columns=["id", "name"]')
    if len(names) != len(parts):
        raise UsageError(f"the array has {len(parts)} columns, but {len(names)} names are given")
    rows = len(array)

    def chunks() -> Iterator[list[Any]]:
        for start in range(0, rows, CHUNK_ROWS):
            chunk = []
            for name, part in zip(names, parts, strict=True):
                with column_errors(name):
                    chunk.append(of_numpy(part[start : start + CHUNK_ROWS]))
            yield chunk

    return Data(lambda: ("columns", names, chunks()), True, rows)
