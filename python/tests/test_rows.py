"""Rows of Python objects: the database has what `executemany` of sqlite3 stores."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import itertools
import math
import sqlite3
import uuid
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import sqluice
from hypothesis import given
from hypothesis import strategies as st
from twin import declared, query, sound, stored, twin

ints = st.integers(-(2**63), 2**63 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
values = st.one_of(st.none(), ints, st.booleans(), st.floats(), texts, st.binary(max_size=40))
kinds = st.sampled_from([ints, st.floats(), texts, st.binary(max_size=40), st.booleans(), st.none(), values])


@st.composite
def tables(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    columns = [st.one_of(kind, st.none()) for kind in draw(st.lists(kinds, min_size=1, max_size=6))]
    return draw(st.lists(st.tuples(*columns), min_size=1, max_size=50))


@given(rows=tables())
def test_write_stores_what_executemany_stores(db: Path, rows: list[tuple[Any, ...]]) -> None:
    names = [f"c{number}" for number in range(len(rows[0]))]
    sqluice.write(db, rows, "t", columns=names, overwrite=True)
    assert stored(db) == twin(db, rows)
    assert sound(db)


@given(rows=tables(), types=st.lists(st.sampled_from(["INTEGER", "TEXT", "BLOB", "NUMERIC", ""]), min_size=6, max_size=6))
def test_values_in_columns_of_declared_types_are_converted_as_by_executemany(
    db: Path, rows: list[tuple[Any, ...]], types: list[str]
) -> None:
    # Versions of SQLite convert floats to different text, so the floats are replaced by text of Python.
    rows = [tuple(str(value) if isinstance(value, float) else value for value in row) for row in rows]
    rows = [tuple(f"x{value}" if isinstance(value, str) else value for value in row) for row in rows]
    schema = {f"c{number}": declared for number, declared in zip(range(len(rows[0])), types, strict=False)}
    sqluice.write(db, rows, "t", columns=list(schema), schema=schema, overwrite=True)
    assert stored(db) == twin(db, rows)


@given(rows=tables())
def test_values_keep_their_class_except_booleans_and_integers_among_floats(db: Path, rows: list[tuple[Any, ...]]) -> None:
    names = [f"c{number}" for number in range(len(rows[0]))]
    sqluice.write(db, rows, "t", columns=names, overwrite=True)

    def same(value: Any, found: Any) -> bool:
        if isinstance(value, float) and math.isnan(value):
            return found is None
        return value == found and (type(found) is type(value) or isinstance(value, (bool, int)))

    found = query(db, "SELECT * FROM t")
    assert all(same(*pair) for row, other in zip(rows, found, strict=True) for pair in zip(row, other, strict=True))


@dataclasses.dataclass
class Town:
    name: str
    height: float | None
    founded: int = 0


class Place(NamedTuple):
    name: str
    height: float | None
    founded: int


ROWS = [("Oslo", 23.0, 1040), ("Rome", None, -753), ("Bari", 5.0, 0)]
NAMES = ["name", "height", "founded"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: [dict(zip(NAMES, row, strict=True)) for row in ROWS],
        lambda: (dict(zip(NAMES, row, strict=True)) for row in ROWS),
        lambda: [collections.ChainMap(dict(zip(NAMES, row, strict=True))) for row in ROWS],
        lambda: [Town(*row) for row in ROWS],
        lambda: iter([Place(*row) for row in ROWS]),
        lambda: {index: Place(*row) for index, row in enumerate(ROWS)}.values(),
    ],
    ids=["dicts", "generator of dicts", "mappings", "dataclasses", "named tuples", "a view"],
)
def test_dicts_dataclasses_and_named_tuples_need_no_argument_columns(db: Path, make: Any) -> None:
    report = sqluice.write(db, make(), "t")
    assert report.rows == 3
    assert query(db, "SELECT name, height, founded FROM t") == ROWS


@pytest.mark.parametrize("kind", [list, tuple, collections.deque, iter, collections.UserList])
def test_rows_may_be_any_sequence_in_any_iterable(db: Path, kind: Any) -> None:
    for number, row_kind in enumerate([list, tuple, collections.UserList, range]):
        rows = [row_kind(range(start, start + 3)) if row_kind is range else row_kind([start, "a", None]) for start in range(5)] if row_kind is not range else [range(start, start + 3) for start in range(5)]
        sqluice.write(db, kind(rows), f"t{number}", columns=["a", "b", "c"])
        assert query(db, f"SELECT * FROM t{number}") == [tuple(row) for row in rows]


def test_column_names_of_a_cursor_and_of_rows_of_sqlite3_are_used(db: Path, tmp_path: Path) -> None:
    sqluice.write(db, ROWS, "t", columns=NAMES)
    with closing(sqlite3.connect(db)) as connection:
        sqluice.write(tmp_path / "a.db", connection.execute("SELECT name, founded AS year FROM t"), "t")
        connection.row_factory = sqlite3.Row
        sqluice.write(tmp_path / "b.db", connection.execute("SELECT * FROM t").fetchall(), "t")
    assert query(tmp_path / "a.db", "SELECT year, name FROM t") == [(row[2], row[0]) for row in ROWS]
    assert query(tmp_path / "b.db", "SELECT name, height, founded FROM t") == ROWS


def test_columns_come_from_the_keys_of_several_dicts_and_missing_keys_are_null(db: Path) -> None:
    sqluice.write(db, [{"a": 1}, {"b": "x", "a": 2}, {}], "t")
    assert query(db, "SELECT a, b FROM t") == [(1, None), (2, "x"), (None, None)]


def test_a_new_key_in_a_late_row_is_an_error_with_row_and_column(db: Path) -> None:
    rows = itertools.chain(({"a": n} for n in range(40_000)), [{"a": 1, "zebra": 2}])
    with pytest.raises(sqluice.InputError, match="zebra") as raised:
        sqluice.write(db, rows, "t")
    assert (raised.value.row, raised.value.column) == (40_001, "zebra")
    assert not db.exists()


def test_the_argument_columns_chooses_and_orders_the_keys_of_dicts(db: Path) -> None:
    sqluice.write(db, [{"a": 1, "b": 2, "c": 3}], "t", columns=["c", "a"])
    assert query(db, "SELECT * FROM t") == [(3, 1)]


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Word(str):
    pass


class Adapted:
    pass


class Conforming:
    def __conform__(self, protocol: Any) -> str:
        return "conformed"


MOMENT = datetime.datetime(2024, 2, 29, 23, 59, 59, 123)
OSLO = datetime.timezone(datetime.timedelta(hours=2))


def test_values_with_adapters_of_sqlite3_are_stored_as_by_executemany(db: Path) -> None:
    sqlite3.register_adapter(Adapted, lambda _: "adapted")
    column = [
        MOMENT,
        MOMENT.replace(microsecond=0),
        MOMENT.replace(tzinfo=OSLO),
        MOMENT.date(),
        Word("word"),
        Level.HIGH,
        Adapted(),
        Conforming(),
        True,
        bytearray(b"ab"),
        memoryview(b"cd"),
    ]
    rows = [(value,) for value in column]
    sqluice.write(db, rows, "t", columns=["a"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        assert stored(db) == twin(db, rows)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (datetime.time(1, 2, 3, 4), "01:02:03.000004"),
        (datetime.timedelta(seconds=1, microseconds=5), 1_000_005),
        (datetime.timedelta(days=-1), -86_400_000_000),
        (decimal.Decimal("123456789012345678901234567890.10"), "123456789012345678901234567890.10"),
        (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (Colour.RED, "red"),
        ({"a": [1, None, "ä"]}, '{"a": [1, null, "ä"]}'),
        ([decimal.Decimal("1.5")], "[1.5]"),
    ],
)
def test_values_that_sqlite3_refuses_are_stored_as_text_or_numbers(db: Path, value: Any, expected: Any) -> None:
    sqluice.write(db, [(value,)], "t", columns=["a"])
    assert query(db, "SELECT a FROM t") == [(expected,)]


@pytest.mark.parametrize(
    ("value", "cause"), [(2**63, OverflowError), (-(2**63) - 1, OverflowError), ("\ud800", UnicodeEncodeError), (object(), TypeError), (1j, TypeError)]
)
def test_a_value_that_can_t_be_stored_is_an_error_with_its_place_and_cause(db: Path, value: Any, cause: type[Exception]) -> None:
    with pytest.raises(sqluice.InputError) as raised:
        sqluice.write(db, [(1, 2), (3, value)], "t", columns=["a", "b"])
    assert (raised.value.row, raised.value.column) == (2, "b")
    assert isinstance(raised.value.__cause__, cause)
    assert not db.exists()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(1, 2), (3,)], "row 2 has 1 values"),
        ([(1, 2), 5], "row 2"),
        ([(1, 2), "ab"], "row 2"),
        (["ab"], "str is no row"),
        ([5], "int is no row"),
        ([{"a": 1}, (5,)], "row 2"),
        ([{1: 2}], "can't be the name"),
    ],
)
def test_rows_of_different_shapes_and_values_that_are_no_rows_are_refused(db: Path, rows: list[Any], message: str) -> None:
    with pytest.raises(sqluice.Error, match=message):
        sqluice.write(db, rows, "t", columns=["a", "b"] if isinstance(rows[0], tuple) else None)
    assert not db.exists()


@pytest.mark.parametrize("data", ["text", b"bytes", 5, {"a": [1]}, None])
def test_data_that_is_no_rows_or_frame_is_refused(db: Path, data: Any) -> None:
    with pytest.raises(sqluice.UsageError, match="must be rows or a frame"):
        sqluice.write(db, data, "t")


def test_rows_without_names_of_columns_are_refused(db: Path) -> None:
    with pytest.raises(sqluice.UsageError, match="columns"):
        sqluice.write(db, [(1,)], "t")
    with pytest.raises(sqluice.UsageError, match="columns"):
        sqluice.write(db, [], "t")


def test_an_iterable_without_rows_makes_an_empty_table(db: Path) -> None:
    assert sqluice.write(db, iter([]), "t", columns=["a"]).rows == 0
    assert declared(db).split() == ['CREATE', 'TABLE', '"t"', '(', '"a"', ')']


MANY = 100_000


def many(last: Any) -> Any:
    return itertools.chain(((n, n / 2, str(n)) for n in range(MANY)), [last])


def test_many_rows_are_stored_in_their_order(db: Path) -> None:
    report = sqluice.write(db, many((1, 2.0, "x")), "t", columns=["a", "b", "c"])
    assert report.rows == MANY + 1
    assert stored(db) == twin(db, many((1, 2.0, "x")))


@pytest.mark.parametrize("last", [(0.5, 1.0, "x"), ("a", 1.0, "x"), (1, "1.5", "x"), (1, 1.0, 7), (b"", 1.0, "x")])
def test_a_late_value_of_another_type_is_an_error_in_a_stream_and_stored_from_a_list(db: Path, last: tuple[Any, ...]) -> None:
    with pytest.raises(sqluice.InputError, match="does not fit this value") as raised:
        sqluice.write(db, many(last), "t", columns=["a", "b", "c"])
    assert raised.value.row == MANY + 1
    assert raised.value.column is not None
    assert not db.exists()
    sqluice.write(db, list(many(last)), "t", columns=["a", "b", "c"])
    assert stored(db) == twin(db, many(last))
    assert query(db, "SELECT a, b, c FROM t ORDER BY rowid DESC LIMIT 1") == [last]


def test_late_nulls_and_integers_among_floats_are_stored(db: Path) -> None:
    sqluice.write(db, many((None, 7, None)), "t", columns=["a", "b", "c"])
    assert query(db, "SELECT a, b, c FROM t ORDER BY rowid DESC LIMIT 1") == [(None, 7.0, None)]


def test_rows_of_large_text_and_blobs_are_all_stored(db: Path) -> None:
    # The values of many rows are together larger than the 4 MiB after which rows are passed to the writer.
    rows = [(n, "x" * (n * 100_000), bytes(n * 50_000)) for n in range(60)]
    sqluice.write(db, iter(rows), "t", columns=["a", "b", "c"])
    assert stored(db) == twin(db, rows)


def test_fewer_than_a_tenth_of_the_rows_of_a_generator_are_held_in_memory(db: Path) -> None:
    class Row(tuple[int, ...]):
        alive = 0

        def __del__(self) -> None:
            Row.alive -= 1

    most = 0

    def rows() -> Any:
        nonlocal most
        for number in range(200_000):
            Row.alive += 1
            most = max(most, Row.alive)
            yield Row((number,))

    sqluice.write(db, rows(), "t", columns=["a"])
    assert most < 20_000
