"""Arrow data, frames of pandas and polars, and NumPy arrays: values of each type are stored as documented."""

from __future__ import annotations

import datetime
import decimal
import importlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqluice
from hypothesis import given
from hypothesis import strategies as st
from twin import declared, query, sound, stored, twin

ROWS = 2_500


def need(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed")


def typed(db: Path, column: str = "a") -> str:
    """Returns the declared type of a column."""
    ((found,),) = query(db, f"SELECT type FROM pragma_table_info('t') WHERE name = '{column}'")
    return str(found)


INTS = [-5, 0, None, 100, 7]
WORDS = ["", "ä", None, "a\0b", "x" * 40]
MOMENTS = [datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999), None, datetime.datetime(2024, 2, 29, 1, 2, 3)]
ISO = ["1969-12-31 23:59:59.999999", None, "2024-02-29 01:02:03"]
DAYS = [datetime.date(1900, 1, 1), None, datetime.date(2024, 2, 29)]


def arrow_types() -> list[Any]:
    """Returns cases: name, a function that makes the type, values, the declared type, and the stored values."""
    cases: list[tuple[str, Any, list[Any], str, list[Any]]] = []

    def case(name: str, make: Any, values: list[Any], declares: str, expected: list[Any] | None = None) -> None:
        cases.append((name, make, values, declares, values if expected is None else expected))

    for bits in (8, 16, 32, 64):
        case(f"int{bits}", lambda pa, bits=bits: getattr(pa, f"int{bits}")(), INTS, "INTEGER")
        unsigned = [2 ** min(bits, 63) - 1, None, 0]
        case(f"uint{bits}", lambda pa, bits=bits: getattr(pa, f"uint{bits}")(), unsigned, "INTEGER")
    case("null", lambda pa: pa.null(), [None, None], "")
    case("bool", lambda pa: pa.bool_(), [True, None, False], "INTEGER", [1, None, 0])
    floats = [0.5, None, -1e30, math.inf, math.nan]
    case("float64", lambda pa: pa.float64(), floats, "REAL", [0.5, None, -1e30, math.inf, None])
    case("float16", lambda pa: pa.float16(), [0.5, None, -2.0], "REAL")
    case("float32", lambda pa: pa.float32(), [0.5, None, 3.0], "REAL")
    for name in ("string", "large_string", "string_view"):
        case(name, lambda pa, name=name: getattr(pa, name)(), WORDS, "TEXT")
    blobs = [None if word is None else word.encode() for word in WORDS]
    for name in ("binary", "large_binary", "binary_view"):
        case(name, lambda pa, name=name: getattr(pa, name)(), blobs, "BLOB")
    case("fixed binary", lambda pa: pa.binary(3), [b"abc", None, b"\0\0\0"], "BLOB")
    case("dictionary", lambda pa: pa.dictionary(pa.int8(), pa.string()), ["a", None, "b", "a"], "TEXT")
    case("runs", lambda pa: ("run_end_encoded", pa.int32(), pa.int64()), [1, 1, 1, 2, 2], "INTEGER")
    money = [decimal.Decimal("1.50"), None, decimal.Decimal("-99999.99")]
    case("short decimal", lambda pa: pa.decimal128(9, 2), money, "NUMERIC", [1.5, None, -99999.99])
    for bits in (32, 64):
        case(f"decimal{bits}", lambda pa, bits=bits: getattr(pa, f"decimal{bits}")(9, 2), money, "NUMERIC", [1.5, None, -99999.99])
    long = [decimal.Decimal("1234567890123456789012345.10"), None]
    case("long decimal", lambda pa: pa.decimal128(38, 2), long, "TEXT", ["1234567890123456789012345.10", None])
    case("wide decimal", lambda pa: pa.decimal256(60, 2), long, "TEXT", ["1234567890123456789012345.10", None])
    case("date32", lambda pa: pa.date32(), DAYS, "TEXT", ["1900-01-01", None, "2024-02-29"])
    case("date64", lambda pa: pa.date64(), DAYS, "TEXT", ["1900-01-01", None, "2024-02-29"])
    clock = [datetime.time(1, 2, 3), None, datetime.time(23, 59, 59)]
    case("time32", lambda pa: pa.time32("s"), clock, "TEXT", ["01:02:03", None, "23:59:59"])
    case("time64", lambda pa: pa.time64("ns"), clock, "TEXT", ["01:02:03", None, "23:59:59"])
    case("timestamp", lambda pa: pa.timestamp("us"), MOMENTS, "TEXT", ISO)
    zoned = [None if text is None else text + "+00:00" for text in ISO]
    case("zoned timestamp", lambda pa: pa.timestamp("us", tz="UTC"), MOMENTS, "TEXT", zoned)
    spans = [datetime.timedelta(seconds=1), None, datetime.timedelta(days=-1)]
    case("duration", lambda pa: pa.duration("ms"), spans, "INTEGER", [1000, None, -86_400_000])
    interval = ["P1M2DT0.003S", None, "P-14M"]
    case("interval", lambda pa: pa.month_day_nano_interval(), [(1, 2, 3_000_000), None, (-14, 0, 0)], "TEXT", interval)
    lists = [[1, 2], None, []]
    case("list", lambda pa: pa.list_(pa.int64()), lists, "TEXT", ["[1,2]", None, "[]"])
    for name in ("large_list", "list_view", "large_list_view"):
        case(name, lambda pa, name=name: getattr(pa, name)(pa.int64()), lists, "TEXT", ["[1,2]", None, "[]"])
    case("fixed list", lambda pa: pa.list_(pa.int64(), 2), [[1, 2], None, [3, None]], "TEXT", ["[1,2]", None, "[3,null]"])
    structs = [{"x": 1, "y": "a"}, None]
    case("struct", lambda pa: pa.struct([("x", pa.int8()), ("y", pa.string())]), structs, "TEXT", ['{"x":1,"y":"a"}', None])
    case("map", lambda pa: pa.map_(pa.string(), pa.int64()), [[("k", 1)], None], "TEXT", ['{"k":1}', None])
    return cases


@pytest.mark.parametrize(("make", "values", "declares", "expected"), [case[1:] for case in arrow_types()], ids=[case[0] for case in arrow_types()])
def test_every_type_of_arrow_is_stored(db: Path, make: Any, values: list[Any], declares: str, expected: list[Any]) -> None:
    pa = need("pyarrow")
    kind = make(pa)
    many = [values[row % len(values)] for row in range(ROWS)]
    if isinstance(kind, tuple):
        array = pa.RunEndEncodedArray.from_arrays(pa.array([len(values[:3]), len(values)], kind[1]), pa.array([1, 2], kind[2]))
        many = values
    else:
        array = pa.array(many, kind)
    table = pa.table({"a": array})
    sqluice.write(db, table, "t")
    found = [value for (value,) in query(db, "SELECT a FROM t")]
    assert found == [expected[row % len(values)] for row in range(len(many))]
    assert typed(db) == declares
    assert sound(db)


def test_unions_are_stored_as_json(db: Path) -> None:
    pa = need("pyarrow")
    which, ints, words = pa.array([0, 1, 0] * ROWS, pa.int8()), pa.array([5, None] * ROWS), pa.array(["x"] * ROWS)
    places = pa.array([2 * (row // 3) + (row % 3 == 2) if row % 3 != 1 else row // 3 for row in range(3 * ROWS)], pa.int32())
    sqluice.write(db, pa.table({"a": pa.UnionArray.from_dense(which, places, [ints, words])}), "dense")
    padded = [pa.array([5, 6, None] * ROWS), pa.array(["x", "x", "x"] * ROWS)]
    sqluice.write(db, pa.table({"a": pa.UnionArray.from_sparse(which, padded)}), "sparse")
    for table in ("dense", "sparse"):
        assert query(db, f"SELECT a FROM {table}") == [("5",), ('"x"',), (None,)] * ROWS


def test_an_unsigned_integer_that_is_too_large_is_an_error_with_its_row(db: Path) -> None:
    pa = need("pyarrow")
    table = pa.table({"a": pa.array([1] * 5_000 + [2**63], pa.uint64())})
    with pytest.raises(sqluice.InputError, match="a") as raised:
        sqluice.write(db, table, "t")
    assert raised.value.row == 5_001
    assert not db.exists()
    sqluice.write(db, table, "t", schema={"a": "TEXT"})
    assert query(db, "SELECT a FROM t ORDER BY rowid DESC LIMIT 1") == [(str(2**63),)]


def test_the_arguments_decimal_and_timestamp_choose_the_stored_type(db: Path) -> None:
    pa = need("pyarrow")
    table = pa.table({"d": pa.array([decimal.Decimal("1.5")], pa.decimal128(9, 2)), "t": pa.array([MOMENTS[2]], pa.timestamp("s"))})
    sqluice.write(db, table, "t", decimal="text", timestamp="unix")
    assert query(db, "SELECT d, t FROM t") == [("1.50", 1709168523)]


def a_table(pa: Any, rows: int = ROWS) -> Any:
    return pa.table({"n": list(range(rows)), "s": [f"row {row}" for row in range(rows)], "x": [row / 4 for row in range(rows)]})


def expected(rows: int = ROWS) -> list[tuple[Any, ...]]:
    return [(row, f"row {row}", row / 4) for row in range(rows)]


def test_arrow_data_may_be_a_table_a_batch_a_reader_or_many_batches(db: Path, tmp_path: Path) -> None:
    pa = need("pyarrow")
    table = a_table(pa)
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=100))
    (batch,) = table.to_batches()
    batches = (batch for batch in table.to_batches(max_chunksize=7))
    slices = [table.slice(start, 1_000) for start in range(0, ROWS, 1_000)]
    for number, data in enumerate([table, batch, reader, batches, slices, table.slice(0)]):
        assert sqluice.write(db, data, f"t{number}", if_exists="append").rows == ROWS
        assert query(db, f"SELECT * FROM t{number}") == expected()


def test_a_reader_over_a_python_generator_runs_on_the_calling_thread(db: Path) -> None:
    import threading

    pa = need("pyarrow")
    table, threads = a_table(pa), set()

    def batches() -> Any:
        for batch in table.to_batches(max_chunksize=100):
            threads.add(threading.get_ident())
            yield batch

    sqluice.write(db, pa.RecordBatchReader.from_batches(table.schema, batches()), "t")
    assert query(db, "SELECT * FROM t") == expected()
    assert threads == {threading.get_ident()}


def test_a_batch_with_other_columns_and_a_reader_that_fails_end_the_run(db: Path) -> None:
    pa = need("pyarrow")
    table = a_table(pa)

    def failing() -> Any:
        yield from table.to_batches()
        raise RuntimeError("no more")

    with pytest.raises(sqluice.UsageError, match="other columns"):
        sqluice.write(db, iter([table, table.drop_columns(["x"])]), "t")
    for rows in (pa.RecordBatchReader.from_batches(table.schema, failing()), failing()):
        with pytest.raises(RuntimeError, match="no more"):
            sqluice.write(db, rows, "t")
    assert not db.exists()


def test_names_of_arrow_columns_come_from_the_data_and_must_be_in_the_schema(db: Path) -> None:
    pa = need("pyarrow")
    with pytest.raises(sqluice.UsageError, match="columns="):
        sqluice.write(db, a_table(pa), "t", columns=["a"])
    with pytest.raises(sqluice.InputError, match="no column \"A_2\""):
        sqluice.write(db, pa.table([pa.array([1]), pa.array([2])], names=["a", "A"]), "t", schema="CREATE TABLE t (a, b)")


@pytest.mark.parametrize("name", ["string", "int64"])
def test_polars_frames_are_stored(db: Path, name: str) -> None:
    pl = need("polars")
    columns = {
        "n": pl.Series([1, None, 3] * 1000, dtype=pl.UInt32),
        "s": pl.Series(["ä", None, ""] * 1000),
        "c": pl.Series(["a", "b", None] * 1000, dtype=pl.Categorical),
        "when": pl.Series(MOMENTS * 1000, dtype=pl.Datetime("us")),
        "day": pl.Series(DAYS * 1000, dtype=pl.Date),
        "list": pl.Series([[1], None, []] * 1000, dtype=pl.List(pl.Int64)),
        "struct": pl.Series([{"x": 1}, {"x": 2}, {"x": None}] * 1000),
        "blob": pl.Series([b"a", None, b""] * 1000),
        "flag": pl.Series([True, None, False] * 1000),
    }
    frame = pl.DataFrame(columns)
    frame = frame if name == "string" else frame.vstack(frame).slice(3000)
    sqluice.write(db, frame, "t")
    found = query(db, "SELECT * FROM t")
    assert len(found) == 3000
    assert found[:2] == [
        (1, "ä", "a", ISO[0], "1900-01-01", "[1]", '{"x":1}', b"a", 1),
        (None, None, "b", None, None, None, '{"x":2}', None, None),
    ]
    assert found == found[:3] * 1000


def test_a_polars_frame_in_chunks_is_left_in_chunks(db: Path) -> None:
    pl = need("polars")
    count, parts = 7_000, 10
    frame = pl.concat([pl.from_arrow(a_table(need("pyarrow"), count)) for _ in range(parts)], rechunk=False)
    assert sqluice.write(db, frame, "t").rows == count * parts
    assert query(db, "SELECT * FROM t") == expected(count) * parts
    # The frame still has its chunks: concatenated, they would take as much memory as the frame again.
    assert frame.n_chunks() == parts
    assert sqluice.write(db, frame.clear(), "empty").rows == 0


def test_duckdb_relations_are_stored(db: Path) -> None:
    duckdb = need("duckdb")
    relation = duckdb.sql("SELECT range AS n, 'row ' || range AS s, range / 4.0 AS x FROM range(10000)")
    sqluice.write(db, relation, "t")
    assert query(db, "SELECT n, s, CAST(x AS REAL) FROM t") == expected(10_000)


def pandas_frame(pd: Any) -> Any:
    return pd.DataFrame(
        {
            "n": [1, 2, 3],
            "x": [0.5, None, 2.0],
            "s": ["a", None, "ä"],
            "flag": [True, False, True],
            "when": pd.to_datetime(["2024-02-29T01:02:03", None, "1969-12-31T23:59:59.999999"], format="ISO8601"),
            "zoned": pd.to_datetime(["2024-02-29T01:02:03", None, "2024-02-29"], format="ISO8601").tz_localize("Europe/Oslo"),
            "mixed": [1, "a", None],
            "kind": pd.Categorical(["u", "v", "u"]),
            "whole": pd.array([1, None, 2**62], dtype="Int64"),
            "span": pd.to_timedelta(["1s", None, "2ns"]),
        }
    )


PANDAS = [
    (1, 0.5, "a", 1, ISO[2], "2024-02-29 00:02:03+00:00", 1, "u", 1, 1_000_000_000),
    (2, None, None, 0, None, None, "a", "v", None, None),
    (3, 2.0, "ä", 1, ISO[0], "2024-02-28 23:00:00+00:00", None, "u", 2**62, 2),
]


def test_pandas_frames_are_stored(db: Path) -> None:
    pd = need("pandas")
    frame = pandas_frame(pd)

    sqluice.write(db, frame, "t")
    found = query(db, "SELECT * FROM t")
    assert [row[:9] for row in found] == [row[:9] for row in PANDAS]
    # A duration is stored as a number of the time unit of its column.
    unit = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}[frame["span"].dtype.name[12:-1]]
    assert [row[9] for row in found] == [1_000_000_000 // unit, None, 2 // unit]


def test_the_index_of_a_frame_is_written_as_to_sql_writes_it(db: Path, tmp_path: Path) -> None:
    import sqlite3
    from contextlib import closing

    pd = need("pandas")
    plain = pd.DataFrame({"a": [1, 2, 3]})
    named = plain.set_index(pd.Index([7, 8, 9], name="key"))
    levels = plain.set_index(pd.MultiIndex.from_tuples([(1, "x"), (1, "y"), (2, "x")], names=["i", None]))
    cases = [(plain, True, None), (plain, False, None), (named, True, None), (named, False, None), (levels, True, None), (named, True, "label"), (levels, True, ["p", "q"])]
    for number, (frame, index, label) in enumerate(cases):
        name = f"t{number}"
        other = tmp_path / "other.db"
        sqluice.write(db, frame, name, index=index, index_label=label)
        with closing(sqlite3.connect(other)) as connection:
            frame.to_sql(name, connection, index=index, index_label=label)
        columns = f"SELECT name, type FROM pragma_table_info('{name}')"
        assert query(db, columns) == query(other, columns)
        assert query(db, f"SELECT * FROM {name}") == query(other, f"SELECT * FROM {name}")
        indexed = f"SELECT ii.name FROM pragma_index_list('{name}') AS il, pragma_index_info(il.name) AS ii"
        assert query(db, indexed) == query(other, indexed)


def test_an_index_that_counts_from_zero_is_left_out_and_another_one_is_written(db: Path) -> None:
    pd = need("pandas")
    sqluice.write(db, pd.DataFrame({"a": [1, 2]}), "t")
    sqluice.write(db, pd.DataFrame({"a": [1, 2]}, index=[5, 6]), "u")
    assert (query(db, "SELECT * FROM t"), query(db, "SELECT * FROM u")) == ([(1,), (2,)], [(5, 1), (6, 2)])
    with pytest.raises(sqluice.UsageError, match="pandas"):
        sqluice.write(db, [(1,)], "v", columns=["a"], index=True)


numbers = st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), max_size=30)


@given(ints=numbers, words=st.lists(st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"])))))
def test_frames_of_pandas_and_arrow_equal_what_executemany_stores(db: Path, ints: list[Any], words: list[Any]) -> None:
    pa, pd = need("pyarrow"), need("pandas")
    rows = list(zip(ints, words, strict=False))
    columns = {"a": pd.array([row[0] for row in rows], dtype="Int64"), "b": pd.Series([row[1] for row in rows], dtype=object)}
    schema = {"a": "INTEGER", "b": "TEXT"}
    for data in (pd.DataFrame(columns), pa.table({"a": pa.array(columns["a"]), "b": pa.array([row[1] for row in rows], pa.string())})):
        sqluice.write(db, data, "t", schema=schema, overwrite=True)
        assert stored(db) == twin(db, rows)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float32", "float64", "bool", ">i4", "float16", "uint64"])
def test_arrays_of_numpy_are_stored(db: Path, dtype: str) -> None:
    np = need("numpy")
    array = (np.arange(3 * ROWS) % 100).astype(dtype).reshape(ROWS, 3)
    for data in (array, np.asfortranarray(array), array[::2]):
        sqluice.write(db, data, "t", columns=["a", "b", "c"], overwrite=True)
        assert query(db, "SELECT * FROM t") == [tuple(row) for row in data.tolist()]
        assert sound(db)


def test_the_field_names_of_a_structured_array_become_columns(db: Path) -> None:
    np = need("numpy")
    kind = [("n", "i4"), ("x", "f4"), ("s", "U5"), ("b", "S3"), ("when", "M8[s]"), ("span", "m8[us]"), ("any", "O")]
    array = np.array([(1, 0.5, "ä", b"xy", "2024-02-29T01:02:03", 5, None), (2, np.nan, "", b"", "NaT", "NaT", "z")], kind)
    sqluice.write(db, array, "t")
    assert query(db, "SELECT * FROM t") == [
        (1, 0.5, "ä", b"xy", "2024-02-29 01:02:03", 5, None),
        (2, None, "", b"", None, None, "z"),
    ]


def test_scalars_of_numpy_and_pandas_are_stored_as_values(db: Path) -> None:
    np, pd = need("numpy"), need("pandas")
    row = (np.int8(5), np.float32(0.5), np.float64(0.25), np.bool_(True), np.str_("s"), np.bytes_(b"b"), np.datetime64("2024-02-29T01:02:03"), pd.NA, pd.NaT, pd.Timestamp("2024-02-29"), np.datetime64("NaT"), np.array([1, 2]))
    sqluice.write(db, [row], "t", columns=[f"c{number}" for number in range(len(row))])
    assert query(db, "SELECT * FROM t") == [
        (5, 0.5, 0.25, 1, "s", b"b", "2024-02-29 01:02:03", None, None, "2024-02-29 00:00:00", None, json.dumps([1, 2]))
    ]


def test_an_array_with_three_dimensions_or_more_columns_than_names_is_refused(db: Path) -> None:
    np = need("numpy")
    with pytest.raises(sqluice.UsageError, match="dimensions"):
        sqluice.write(db, np.zeros((2, 2, 2)), "t", columns=["a"])
    with pytest.raises(sqluice.UsageError, match="2 columns"):
        sqluice.write(db, np.zeros((2, 2)), "t", columns=["a"])


def test_arrow_data_is_stored_in_a_strict_table(db: Path) -> None:
    pa = need("pyarrow")
    table = pa.table({"n": [1], "d": pa.array([decimal.Decimal("1.5")], pa.decimal128(9, 2)), "s": ["x"], "z": pa.nulls(1)})
    sqluice.write(db, table, "t", strict=True)
    assert declared(db).endswith("STRICT")
    assert query(db, "SELECT * FROM t") == [(1, 1.5, "x", None)]


def test_a_frame_with_arrow_dtypes_is_stored_like_the_arrow_table(db: Path) -> None:
    pa, pd, np = need("pyarrow"), need("pandas"), need("numpy")
    count = 3_000
    whens = [datetime.datetime(2024, 2, 29, 1, 2, 3), None, datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999)] * (count // 3)
    table = pa.table(
        {
            "ints": pa.array([[1, 2**53 + 1], None, [None, 2**63 - 1]] * (count // 3), pa.list_(pa.int64())),
            "nanos": pa.array([1_709_168_523_123_456_789, None, 5] * (count // 3), pa.timestamp("ns")),
            "zoned": pa.array(whens, pa.timestamp("us", tz="Europe/Oslo")),
            "span": pa.array([1, None, -(2**62)] * (count // 3), pa.duration("ns")),
            "text": pa.array(["ä", None, ""] * (count // 3), pa.large_string()),
            "view": pa.array(["ä", None, "x" * 40] * (count // 3), pa.string_view()),
            "day": pa.array([0, None, -1] * (count // 3), pa.date32()),
            "clock": pa.array([1, None, 5], pa.time64("ns")).take(pa.array([0, 1, 2] * (count // 3))),
            "money": pa.array([decimal.Decimal("12345678901234567890.12"), None, None] * (count // 3), pa.decimal128(38, 2)),
            "real": pa.array([0.5, math.nan, None] * (count // 3), pa.float32()),
            "whole": pa.array([2**63 - 1, None, -(2**63)] * (count // 3), pa.int64()),
            "struct": pa.array([{"x": 2**53 + 1}, None, {"x": None}] * (count // 3), pa.struct([("x", pa.int64())])),
            "blob": pa.array([b"a", None, b""] * (count // 3), pa.binary()),
            "flag": pa.array([True, None, False] * (count // 3), pa.bool_()),
        }
    )
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    sqluice.write(db, table, "of_arrow")
    sqluice.write(db, frame, "of_pandas")
    assert query(db, "SELECT * FROM of_pandas") == query(db, "SELECT * FROM of_arrow")
    types = "SELECT name, type FROM pragma_table_info('{}')"
    assert query(db, types.format("of_pandas")) == query(db, types.format("of_arrow"))
    assert query(db, "SELECT ints, nanos, zoned, span FROM of_pandas LIMIT 1") == [("[1,9007199254740993]", "2024-02-29 01:02:03.123456789", "2024-02-29 01:02:03+00:00", 1)]
    # The next frame also has a column of NumPy, several chunks, and an index with text of Arrow.
    mixed = pd.concat([frame, frame.iloc[: count // 2], frame], ignore_index=True)
    mixed.insert(0, "n", np.arange(len(mixed)))
    mixed.index = pd.Index(mixed["text"].fillna("-"), name="key")
    whole = sqluice.write(db, mixed, "mixed")
    assert whole.rows == len(mixed) == count * 5 // 2
    columns = ", ".join(f'"{name}"' for name in table.column_names)
    expected = query(db, f"SELECT {columns} FROM of_arrow")
    assert query(db, f"SELECT {columns} FROM mixed") == expected + expected[: count // 2] + expected
    assert query(db, "SELECT n, key FROM mixed LIMIT 3") == [(0, "ä"), (1, "-"), (2, "")]
    with sqluice.Writer(db) as writer:
        writer.append(mixed, "spooled")
        writer.append(mixed, "spooled")
    assert query(db, "SELECT * FROM spooled") == query(db, "SELECT * FROM mixed") * 2
    assert query(db, types.format("spooled")) == query(db, types.format("mixed"))
    assert sound(db)


def test_categories_of_arrow_timestamps_are_stored_as_timestamps(db: Path) -> None:
    pa, pd = need("pyarrow"), need("pandas")
    nanos = pd.array([1_709_168_523_123_456_789, 5], dtype=pd.ArrowDtype(pa.timestamp("ns")))
    frame = pd.DataFrame({"a": pd.Categorical.from_codes([0, -1, 1, 0], categories=pd.Index(nanos))})
    sqluice.write(db, frame, "t")
    assert query(db, "SELECT a FROM t") == [("2024-02-29 01:02:03.123456789",), (None,), ("1970-01-01 00:00:00.000000005",), ("2024-02-29 01:02:03.123456789",)]


def test_the_error_about_a_too_large_integer_in_pandas_names_column_value_and_row(db: Path) -> None:
    pa, pd = need("pyarrow"), need("pandas")
    values = [1] * 40_000
    values[35_000] = 2**63
    frame = pd.DataFrame({"n": range(40_000), "big": pd.array(values, dtype=pd.ArrowDtype(pa.uint64()))})
    with pytest.raises(sqluice.InputError, match=r"column big: 9223372036854775808.*row 35001") as raised:
        sqluice.write(db, frame, "t")
    assert raised.value.row == 35_001
    sqluice.write(db, frame, "t", schema={"big": "TEXT"})
    assert query(db, "SELECT big FROM t WHERE n = 35000") == [(str(2**63),)]


def test_a_polars_column_without_values_is_stored_as_null(db: Path) -> None:
    pl = need("polars")
    frame = pl.DataFrame({"a": [1, 2, 3], "n": [None] * 3, "list": [[None], [], None], "struct": [{"x": None}] * 3})
    assert frame.schema["n"] == pl.Null
    sqluice.write(db, frame, "t")
    assert query(db, "SELECT * FROM t") == [(1, None, "[null]", '{"x":null}'), (2, None, "[]", '{"x":null}'), (3, None, None, '{"x":null}')]
    with sqluice.Writer(db) as writer:
        writer.append(frame, "u")
    assert query(db, "SELECT * FROM u") == query(db, "SELECT * FROM t")


def remedied(pl: Any, frame: Any, error: sqluice.Error) -> Any:
    """Applies the code in the hint of an error to a frame."""
    assert error.hint is not None
    return eval(error.hint.partition("; ")[0], {"polars": pl, "frame": frame})


def test_types_of_polars_that_arrow_lacks_are_refused_with_a_remedy_that_works(db: Path) -> None:
    pl = need("polars")
    nested = pl.Struct({"x": pl.Array(pl.Int128, 1), "Yes": pl.Datetime("us")})
    columns = [
        (pl.Series([7, None], dtype=pl.Int128), "Int128", [7, None]),
        (pl.Series([7, None], dtype=pl.UInt128), "UInt128", [7, None]),
        (pl.Series([[7], None], dtype=pl.List(pl.Int128)), "List.Int128", ["[7]", None]),
        (pl.Series([{"x": [7], "Yes": None}, None], dtype=nested), "Struct", ['{"x":[7],"Yes":null}', None]),
        (pl.Series([decimal.Decimal(7), 8], dtype=pl.Object), "Object", ["7", "8"]),
    ]
    for number, (column, kind, stored) in enumerate(columns):
        frame = pl.DataFrame({"a": [1, 2], "thing": column})
        for data in (frame, [frame], iter([frame]), [frame, frame.select("thing", "a")]):
            with pytest.raises(sqluice.InputError, match=f"column thing: .*{kind}") as raised:
                sqluice.write(db, data, "t")
            assert raised.value.column == "thing"
        sqluice.write(db, remedied(pl, frame, raised.value), f"t{number}")
        assert [value for (value,) in query(db, f"SELECT thing FROM t{number}")] == stored
    # A struct with a field named `Object` is stored: it is not a column of the dtype Object.
    sqluice.write(db, pl.DataFrame({"Object": [{"Object": 1}]}), "t")
    assert query(db, "SELECT * FROM t") == [('{"Object":1}',)]


def dtypes_of_polars(pl: Any) -> list[Any]:
    """Returns every dtype of polars, and each within a list, an array and a struct."""
    found = [one for one in vars(pl).values() if isinstance(one, type) and issubclass(one, pl.DataType)]
    plain = [one for one in found if one not in (pl.DataType, pl.Unknown, pl.List, pl.Array, pl.Struct, pl.Map, pl.Enum) and "Extension" not in one.__name__]
    plain = [pl.Decimal(38, 2) if one is pl.Decimal else one for one in plain] + [pl.Enum(["a"]), pl.Map(pl.String, pl.Int8)]
    nested = [wrap(one) for one in plain if one != pl.Object for wrap in (pl.List, lambda one: pl.Array(one, 2), lambda one: pl.Struct({"x": one}))]
    return plain + nested


def test_every_dtype_of_polars_is_stored_or_refused_by_an_error_that_names_the_column(db: Path) -> None:
    pl = need("polars")
    stored = 0
    for dtype in dtypes_of_polars(pl):
        frame = pl.DataFrame({"n": [1, 2], "thing": pl.Series([None, None], dtype=dtype)})
        try:
            stored += sqluice.write(db, frame, "t", overwrite=True).rows > 0
        except sqluice.Error as error:
            assert (error.column, "thing" in str(error)) == ("thing", True), (dtype, error)
    assert stored > 60


def dtypes_of_pandas(pd: Any, np: Any, pa: Any) -> list[Any]:
    """Returns columns of two values of every dtype of pandas, NumPy and Arrow."""
    found = [np.zeros(2, dtype=kind) for kind in np.sctypeDict.values() if np.dtype(kind).kind not in "VOmM"]
    found += [np.array(["2024-01-01", "NaT"], dtype=f"M8[{unit}]") for unit in ("s", "ms", "us", "ns")]
    names = [name for name, one in vars(pd).items() if isinstance(one, type) and name.endswith("Dtype") and name not in ("ArrowDtype", "SparseDtype")]
    made = {"PeriodDtype": ("D",), "IntervalDtype": ("int64",), "DatetimeTZDtype": ("ns", "UTC")}
    found += [pd.array([None, None], dtype=getattr(pd, name)(*made.get(name, ()))) for name in names if name != "IntervalDtype"]
    found += [pd.period_range("2024", periods=2), pd.interval_range(0, 2), pd.arrays.SparseArray([0, 1]), pd.Categorical([1, None])]
    found += [pd.Series([value, None], dtype=object) for value in (object(), 1j, b"x", {1: 2}, {3}, decimal.Decimal("1.5"), pd.Timestamp("2024"), pd.Period("2024"))]
    kinds = [pa.month_day_nano_interval(), pa.null(), pa.decimal256(60, 2), pa.uint64(), pa.list_(pa.int8()), pa.binary(3), pa.duration("s")]
    return found + [pd.array(pa.array([None, None], kind), dtype=pd.ArrowDtype(kind)) for kind in kinds]


def test_every_dtype_of_pandas_is_stored_or_refused_by_an_error_that_names_the_column(db: Path) -> None:
    pa, pd, np = need("pyarrow"), need("pandas"), need("numpy")
    stored = 0
    for values in dtypes_of_pandas(pd, np, pa):
        frame = pd.DataFrame({"n": [1, 2], "thing": values})
        for data in (frame, [frame], iter([frame])):
            try:
                stored += sqluice.write(db, data, "t", overwrite=True).rows > 0
            except sqluice.Error as error:
                assert (error.column, "thing" in str(error)) == ("thing", True), (values, error)
    assert stored > 60


def test_decimals_of_38_digits_are_stored_as_numbers_if_no_digit_is_lost(db: Path) -> None:
    pa, pl, duckdb = need("pyarrow"), need("polars"), need("duckdb")
    cases = [
        (0, ["1", None, str(2**63 - 1)], "INTEGER", [1, None, 2**63 - 1]),
        (0, ["1", None, str(2**63)], "TEXT", ["1", None, str(2**63)]),
        (2, ["1.50", None, "-99999.99"], "REAL", [1.5, None, -99999.99]),
        (2, ["1.50", None, "12345678901234567890.12"], "TEXT", ["1.50", None, "12345678901234567890.12"]),
    ]
    for scale, texts, declares, stored in cases:
        values = [None if text is None else decimal.Decimal(text) for text in texts]
        many = values[:1] * 200_000 + values
        table = pa.table({"a": pa.array(many, pa.decimal128(38, scale))})
        in_memory = [table, pl.from_arrow(table), [table, table.slice(0, 0)], [batch for batch in table.to_batches(max_chunksize=30_000)]]
        for data in in_memory:
            report = sqluice.write(db, data, "t", overwrite=True)
            assert (typed(db), report.notes) == (declares, ())
            assert [value for (value,) in query(db, "SELECT a FROM t ORDER BY rowid LIMIT -1 OFFSET 200000")] == stored
        with sqluice.Writer(db, overwrite=True) as writer:
            writer.append(table, "t")
        assert typed(db) == declares
        # The values of a stream are unknown before they are written.
        report = sqluice.write(db, iter(table.to_batches()), "t", overwrite=True)
        assert typed(db) == "TEXT" and 'schema={"a": "' in report.notes[0]
        helpful = {"INTEGER": "INTEGER", "REAL": "REAL"}.get(declares)
        if helpful is not None:
            assert f'"{helpful}"' in report.notes[0]
            sqluice.write(db, iter(table.to_batches()), "t", overwrite=True, schema={"a": helpful})
            assert [value for (value,) in query(db, "SELECT a FROM t ORDER BY rowid LIMIT -1 OFFSET 200000")] == stored
        assert sqluice.write(db, table, "t", decimal="text", overwrite=True).notes == () and typed(db) == "TEXT"
    sqluice.write(db, duckdb.sql("SELECT sum(range) AS a FROM range(10)").to_arrow_table(), "t", overwrite=True)
    assert (typed(db), query(db, "SELECT a FROM t")) == ("INTEGER", [(45,)])


def test_the_index_of_a_slice_is_stored_unless_it_counts_from_zero(db: Path) -> None:
    pd = need("pandas")
    frame = pd.DataFrame({"a": [10, 20, 30]})
    cases = [
        (frame, [(10,), (20,), (30,)]),
        (frame[1:], [(1, 20), (2, 30)]),
        (frame[::2], [(0, 10), (2, 30)]),
        (frame[:2], [(10,), (20,)]),
        (frame[:0], []),
        (frame[1:].reset_index(drop=True), [(20,), (30,)]),
        (frame.set_index(pd.Index([0, 1, 2])), [(10,), (20,), (30,)]),
        (frame.set_index(pd.Index([0, 1, 2], name="key")), [(0, 10), (1, 20), (2, 30)]),
    ]
    for number, (data, stored) in enumerate(cases):
        sqluice.write(db, data, f"t{number}")
        assert query(db, f"SELECT * FROM t{number}") == stored


def test_columns_of_the_same_name_get_numbers_as_in_files(db: Path) -> None:
    pa, pd, pl = need("pyarrow"), need("pandas"), need("polars")
    names = ["a", "A", "a", "a_2", ""]
    file = db.with_suffix(".csv")
    file.write_text("a,A,a,a_2,\n1,2,3,4,5\n")
    sqluice.load(db, file, table="of_file")
    columns = [name for (name,) in query(db, "SELECT name FROM pragma_table_info('of_file')")]
    assert len({name.lower() for name in columns}) == 5 and {"a", "a_2"} <= set(columns)
    frames = [
        pa.table([pa.array([number]) for number in range(1, 6)], names=names),
        pd.DataFrame([[1, 2, 3, 4, 5]], columns=names),
        pd.DataFrame([[1, 2, 3, 4, 5]], columns=names).astype("int64[pyarrow]"),
    ]
    for number, frame in enumerate(frames):
        report = sqluice.write(db, frame, f"t{number}")
        assert [name for (name,) in query(db, f"SELECT name FROM pragma_table_info('t{number}')")] == columns
        assert query(db, f"SELECT * FROM t{number}") == [(1, 2, 3, 4, 5)]
        assert len(report.notes) == 3 and '"A"' in report.notes[0] and columns[1] in repr(report)
        with sqluice.Writer(db) as writer:
            writer.append(frame, f"u{number}")
            writer.append(frame, f"u{number}")
        assert query(db, f"SELECT * FROM u{number}") == [(1, 2, 3, 4, 5)] * 2
        assert writer.report is not None and len(writer.report.notes) == 3
    sqluice.write(db, pl.DataFrame({"a": [1], "A": [2]}), "cases")
    sqluice.write(db, [{"a": 1, "A": 2}, {"A": 4, "a": 3}], "dicts")
    assert query(db, "SELECT a, A_2 FROM cases") == [(1, 2)]
    assert query(db, "SELECT a, A_2 FROM dicts") == [(1, 2), (3, 4)]
    with pytest.raises(sqluice.UsageError, match="two columns"):
        sqluice.write(db, [(1, 2)], "t", columns=["a", "A"])


def moments(db: Path, table: str = "t") -> list[Any]:
    return [value for (value,) in query(db, f"SELECT at FROM {table} ORDER BY rowid")]


APPENDED = datetime.datetime(2024, 2, 29, 1, 2, 3, 500_000)
IN_FORM = [
    ("2024-01-01 00:00:00", "2024-02-29 01:02:03.500", "2024-02-29 01:02:03.500000"),
    ("2024-01-01T00:00:00", "2024-02-29T01:02:03.500", "2024-02-29T01:02:03.500000"),
    ("2024-01-01T00:00:00.000000", "2024-02-29T01:02:03.500000", "2024-02-29T01:02:03.500000"),
    ("2024-01-01 00:00:00.1", "2024-02-29 01:02:03.5", "2024-02-29 01:02:03.5"),
]


@pytest.mark.parametrize(("last", "stored", "of_rows"), IN_FORM)
def test_appended_timestamps_have_the_form_of_the_last_one_that_is_stored(db: Path, tmp_path: Path, last: str, stored: str, of_rows: str) -> None:
    pa, pd, pl, np = need("pyarrow"), need("pandas"), need("polars"), need("numpy")
    texts = ["1999-01-01", last, None]
    table = pa.table({"at": pa.array([APPENDED, None], pa.timestamp("us"))})
    frame = pd.DataFrame({"at": pd.Series([APPENDED, None], dtype="datetime64[us]")})
    of_arrow = table.to_pandas(types_mapper=pd.ArrowDtype)
    array = np.array([(APPENDED,), ("NaT",)], dtype=[("at", "M8[us]")])
    ways: list[Callable[[str], Any]] = [
        lambda name, data=data: sqluice.write(db, data, name, if_exists="append")
        for data in (table, [table], pl.from_arrow(table), frame, [frame], of_arrow, array)
    ]
    ways.append(lambda name: sqluice.write(db, iter([frame]), name, if_exists="append"))
    file = tmp_path / "rows.parquet"
    importlib.import_module("pyarrow.parquet").write_table(table, file)
    ways.append(lambda name: sqluice.load(db, file, table=name, if_exists="append"))
    csv = tmp_path / "rows.csv"
    csv.write_text("at\n29.02.2024 01:02:03.5\n\"\"\n")
    ways.append(lambda name: sqluice.load(db, csv, table=name, if_exists="append", date={"at": "%d.%m.%Y %H:%M:%S.%f"}))
    for number, way in enumerate(ways):
        sqluice.write(db, [(text,) for text in texts], f"t{number}", columns=["at"])
        way(f"t{number}")
        assert moments(db, f"t{number}") == [*texts, stored, None], number
    for number, rows in enumerate(([(APPENDED,)], [{"at": APPENDED}], [(pd.Timestamp(APPENDED),)])):
        sqluice.write(db, [(text,) for text in texts], f"u{number}", columns=["at"])
        sqluice.write(db, rows, f"u{number}", columns=["at"], if_exists="append")
        assert moments(db, f"u{number}") == [*texts, of_rows]
    for data in (table, frame):
        sqluice.write(db, [(text,) for text in texts], "of_writer", columns=["at"], overwrite=True)
        with sqluice.Writer(db, if_exists="append") as writer:
            writer.append(data, "of_writer")
        assert moments(db, "of_writer") == [*texts, stored, None]


def test_appended_timestamps_keep_their_zone_and_other_text_stays_as_it_is(db: Path) -> None:
    pa, pd = need("pyarrow"), need("pandas")
    zoned = pa.table({"at": pa.array([APPENDED], pa.timestamp("us", tz="UTC"))})
    for last, stored in (("2024-01-01T00:00:00Z", "2024-02-29T01:02:03.500Z"), ("2024-01-01T00:00:00", "2024-02-29T01:02:03.500+00:00")):
        for data in (zoned, zoned.to_pandas(), zoned.to_pandas(types_mapper=pd.ArrowDtype)):
            sqluice.write(db, [(last,)], "t", columns=["at"], overwrite=True)
            sqluice.write(db, data, "t", if_exists="append")
            sqluice.write(db, [("2024-02-29 01:02:03",)], "t", columns=["at"], if_exists="append")
            assert moments(db) == [last, stored, "2024-02-29 01:02:03"]
