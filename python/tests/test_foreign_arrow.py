"""Invalid or unusual Arrow data of other libraries is refused with its column, or stored as pyarrow reads it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import sqluice
from effort import tries
from test_frames import need
from twin import query

# The number of random arrays of a test.
ARRAYS = tries(30, 300, 10_000)


def not_utf8(pa: Any, values: list[bytes | None]) -> Any:
    """Returns a text column with these bytes, which may not be valid UTF-8."""
    return pa.array(values, pa.binary()).view(pa.string())


def test_text_that_is_not_utf8_is_an_error_with_its_row_and_column(db: Path) -> None:
    pa = need("pyarrow")
    texts = not_utf8(pa, [b"a", None, b"b\xff"])
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), texts)
    columns = {
        "text": texts,
        "list": lists,
        "struct": pa.StructArray.from_arrays([texts], ["s"]),
        "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), texts),
        "run": pa.Array.from_buffers(pa.run_end_encoded(pa.int32(), pa.string()), 3, [None], children=[pa.array([1, 2, 3], pa.int32()), texts]),
        "view": pa.array([b"a", None, b"a long text that has a view and \xff"], pa.binary_view()).view(pa.string_view()),
        "large": pa.array([b"a", None, b"\xff"], pa.large_binary()).view(pa.large_string()),
    }
    for name, column in columns.items():
        with pytest.raises(sqluice.InputError, match=f"column {name}: byte [0-9]+ of a text, 0xff .*is not UTF-8.*row 3") as raised:
            sqluice.write(db, pa.table({"n": [1, 2, 3], name: column}), "t", overwrite=True)
        assert raised.value.row == 3
        assert not db.exists()
        with pytest.raises(sqluice.InputError, match="not UTF-8"), sqluice.Writer(db) as writer:
            writer.append(pa.table({name: column}), "t")


def test_text_of_a_pandas_column_that_is_not_utf8_is_an_error(db: Path) -> None:
    pa, pandas = need("pyarrow"), need("pandas")
    column = pandas.Series(pandas.arrays.ArrowExtensionArray(not_utf8(pa, [b"a", b"\xff"])))
    with pytest.raises(sqluice.InputError, match="column text: .*not UTF-8"):
        sqluice.write(db, pandas.DataFrame({"n": [1, 2], "text": column}), "t")


def test_bytes_that_belong_to_no_row_may_be_invalid_utf8(db: Path) -> None:
    pa = need("pyarrow")
    bitmap = pa.py_buffer(bytes([0b101]))
    offsets = pa.py_buffer(b"".join(n.to_bytes(4, "little") for n in (1, 2, 4, 5)))
    text = pa.Array.from_buffers(pa.string(), 3, [bitmap, offsets, pa.py_buffer(b"\xffa\xfe\xfdb\xff")])
    of_null = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), not_utf8(pa, [b"x", b"\xff", b"y"]), mask=pa.array([False, True, False]))
    keys = pa.Array.from_buffers(pa.int8(), 3, [bitmap, pa.py_buffer(b"\x00\x77\x01")])
    dictionary = pa.DictionaryArray.from_arrays(keys, not_utf8(pa, [b"p", b"q", b"\xff"]), safe=False)
    table = pa.table({"text": text, "list": of_null, "dictionary": dictionary})
    expected = [("a", '["x"]', "p"), (None, None, None), ("b", '["y"]', "q")]
    sqluice.write(db, table, "t")
    assert query(db, "SELECT * FROM t") == expected
    with sqluice.Writer(db, overwrite=True) as writer:
        writer.append(table, "t")
    assert query(db, "SELECT * FROM t") == expected


def words(bits: int, *numbers: int) -> bytes:
    return b"".join(number.to_bytes(bits // 8, "little", signed=True) for number in numbers)


def contradictions(pa: Any) -> dict[str, Any]:
    """Returns arrays of 3 values, the second of which is invalid."""
    make = pa.Array.from_buffers
    ints, texts = pa.array([1, 2, 3, 4]), pa.array(["a", "b", "c"])
    view = words(32, 1) + b"a" + b"\0" * 11
    far = words(32, 20) + b"beyo" + words(32, 0, 90)
    return {
        "text": make(pa.string(), 3, [None, pa.py_buffer(words(32, 0, 3, 1, 4)), pa.py_buffer(b"abcd")]),
        "list": make(pa.list_(pa.int64()), 3, [None, pa.py_buffer(words(32, 0, 3, 1, 4))], children=[ints]),
        "list view": make(pa.list_view(pa.int64()), 3, [None, pa.py_buffer(words(32, 0, 2, 1)), pa.py_buffer(words(32, 1, 9, 1))], children=[ints]),
        "key": pa.DictionaryArray.from_arrays(pa.array([0, 7, 1], pa.int8()), texts, safe=False),
        "view": make(pa.string_view(), 3, [None, pa.py_buffer(view + far + view), pa.py_buffer(b"x" * 50)]),
        "union": pa.UnionArray.from_dense(pa.array([0, 0, 0], pa.int8()), pa.array([0, 9, 1], pa.int32()), [ints]),
    }


def test_buffers_that_contradict_each_other_are_an_error_with_row_and_column(db: Path) -> None:
    pa = need("pyarrow")
    for name, column in contradictions(pa).items():
        within = pa.StructArray.from_arrays([column], ["inner"])
        for data in (pa.table({"n": [1, 2, 3], name: column}), pa.table({"n": [1, 2, 3], name: within})):
            with pytest.raises(sqluice.InputError, match="contradicts itself") as raised:
                sqluice.write(db, data, "t")
            assert not db.exists()
            # An error that pyarrow itself finds has no row.
            assert raised.value.row == (None if raised.value.__cause__ else 2), name


def test_an_error_names_the_batch_and_the_row(db: Path) -> None:
    pa = need("pyarrow")
    good = pa.record_batch({"a": pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), pa.array(["x"]))})
    bad = pa.record_batch({"a": pa.DictionaryArray.from_arrays(pa.array([0, 5], pa.int8()), pa.array(["x"]), safe=False)})
    for data in (pa.Table.from_batches([good, bad]), [good, bad], pa.RecordBatchReader.from_batches(good.schema, [good, bad])):
        with pytest.raises(sqluice.InputError, match="column a: its key is 5.* 1 values .row 4, row 2 of batch 2.") as raised:
            sqluice.write(db, data, "t")
        assert raised.value.row == 4


def test_a_reader_without_batches_makes_an_empty_table(db: Path) -> None:
    pa = need("pyarrow")
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    sqluice.write(db, pa.RecordBatchReader.from_batches(schema, []), "t")
    assert query(db, "SELECT name, type FROM pragma_table_info('t')") == [("a", "INTEGER"), ("b", "TEXT")]


def plain(value: Any) -> Any:
    """Converts a value of pyarrow to the types of JSON."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list) else value


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, (dict, list)):
        return bool(json.loads(found) == plain(expected))
    return bool(found == expected)


def random_values(pa: Any, kind: Any, count: int, rng: random.Random) -> list[Any]:
    def value(kind: Any) -> Any:
        if rng.random() < 0.2:
            return None
        if pa.types.is_integer(kind):
            return rng.randrange(-100, 100)
        if pa.types.is_floating(kind):
            return rng.randrange(-100, 100) / 4
        if pa.types.is_dictionary(kind):
            return value(kind.value_type)
        if pa.types.is_struct(kind):
            return {field.name: value(field.type) for field in kind}
        if pa.types.is_nested(kind):
            return [value(kind.value_type) for _ in range(kind.list_size if pa.types.is_fixed_size_list(kind) else rng.randrange(3))]
        text = rng.choice(["", "a", "é", "日本", "longer than a view has room for"])
        return text if "string" in str(kind) else text.encode()

    return [value(kind) for _ in range(count)]


def kinds(pa: Any) -> list[Any]:
    simple = [pa.int32(), pa.int64(), pa.float64(), pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.binary_view(), pa.dictionary(pa.int8(), pa.string())]
    nested = [wrap(kind) for kind in simple for wrap in (pa.list_, pa.large_list, pa.list_view, lambda kind: pa.list_(kind, 2), lambda kind: pa.struct([("x", kind)]))]
    return simple + nested + [pa.list_(kind) for kind in nested]


def with_changed_buffers(pa: Any, array: Any, change: Any) -> Any:
    """Returns the array with copies of its buffers that `change` has changed."""
    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(with_changed_buffers(pa, array.indices, change), with_changed_buffers(pa, array.dictionary, change), safe=False)
    kind = array.type
    buffers, children = array.buffers(), []
    own = len(buffers)
    if pa.types.is_struct(kind):
        own, children = 1, [array.field(index) for index in range(kind.num_fields)]
    elif pa.types.is_nested(kind):
        own, children = {True: 1, False: 2}[pa.types.is_fixed_size_list(kind)], [array.values]
        own = 3 if "view" in str(kind).partition("<")[0] else own
    changed = [None if buffer is None else change(index, bytearray(buffer.to_pybytes()), array) for index, buffer in enumerate(buffers[:own])]
    children = [with_changed_buffers(pa, child, change) for child in children]
    made = [None if buffer is None else pa.py_buffer(bytes(buffer)) for buffer in changed]
    return pa.Array.from_buffers(kind, len(array), made, offset=array.offset, children=children)


def test_random_arrays_with_garbage_under_nulls_are_stored_as_pyarrow_shows_them(db: Path) -> None:
    pa = need("pyarrow")
    rng = random.Random(1)
    every = kinds(pa)
    for lap in range(ARRAYS):
        kind = every[lap % len(every)]
        array = pa.array(random_values(pa, kind, 20, rng), kind)

        def with_garbage(index: int, buffer: bytearray, array: Any) -> bytearray:
            width = {True: 16}.get("view" in str(array.type), None)
            try:
                width = width or array.type.bit_width // 8
            except ValueError:
                return buffer
            if index == 1 and not pa.types.is_nested(array.type):
                for row in range(len(array)):
                    if not array[row].is_valid:
                        place = (array.offset + row) * width
                        buffer[place : place + width] = rng.randbytes(width)
            return buffer

        garbage = with_changed_buffers(pa, array, with_garbage)
        expected = array.to_pylist()
        sqluice.write(db, pa.table({"a": garbage}), "t", overwrite=True)
        found = [value for (value,) in query(db, "SELECT a FROM t ORDER BY rowid")]
        assert len(found) == len(expected)
        assert all(same(one, other) for one, other in zip(found, expected, strict=True)), (kind, found, expected)


def test_randomly_corrupted_arrays_are_refused_or_stored_as_pyarrow_shows_them(db: Path) -> None:
    pa = need("pyarrow")
    rng = random.Random(2)
    every = kinds(pa)
    refused = sound = 0
    for lap in range(ARRAYS):
        kind = every[rng.randrange(len(every))]
        array = pa.array(random_values(pa, kind, 12, rng), kind)

        def corrupt(index: int, buffer: bytearray, array: Any) -> bytearray:
            if buffer and rng.random() < 0.4:
                buffer[rng.randrange(len(buffer))] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
            return buffer

        try:
            corrupted = with_changed_buffers(pa, array, corrupt)
        except pa.ArrowInvalid:
            # pyarrow itself refuses the array.
            continue
        try:
            sqluice.write(db, pa.table({"a": corrupted}), "t", overwrite=True)
        except sqluice.InputError:
            refused += 1
            continue
        try:
            corrupted.validate(full=True)
        except ValueError:
            # pyarrow cannot show the values of an invalid array, so they are not compared.
            continue
        sound += 1
        found = [value for (value,) in query(db, "SELECT a FROM t ORDER BY rowid")]
        assert all(same(one, other) for one, other in zip(found, corrupted.to_pylist(), strict=True)), (kind, found)
    assert refused > ARRAYS / 20 and sound > ARRAYS / 20
