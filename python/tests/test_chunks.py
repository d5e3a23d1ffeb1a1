"""Lists and generators of frames: they make the same database as the concatenated frame."""

from __future__ import annotations

import datetime
import decimal
import io
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqluice
from effort import tries
from test_frames import need
from twin import query, sound

# The number of random frames of a test.
FRAMES = tries(20, 300, 3_000)


def table(db: Path, name: str = "t") -> tuple[list[Any], list[Any]]:
    """Returns the declared columns of a table, and its rows with the storage classes of their values."""
    columns = query(db, f"SELECT name, type FROM pragma_table_info('{name}')")
    shown = ", ".join(f'"{column}", typeof("{column}")' for column, _ in columns)
    return columns, query(db, f"SELECT {shown} FROM {name} ORDER BY rowid")


def same(db: Path, whole: Any, chunks: Callable[[], Any], **more: Any) -> None:
    """Compares the table of a whole frame with those of its chunks, as a list, as a generator, and in a writer."""
    sqluice.write(db, whole, "whole", overwrite=True, **more)
    expected = table(db, "whole")
    for number, data in enumerate((list(chunks()), (chunk for chunk in chunks()), iter(list(chunks())))):
        report = sqluice.write(db, data, f"t{number}", **more)
        assert (table(db, f"t{number}"), report.rows) == (expected, len(whole))
    if not more:
        with sqluice.Writer(db) as writer:
            writer.append(list(chunks()), "spooled")
        assert table(db, "spooled") == expected
    assert sound(db)


def cuts(rng: random.Random, rows: int) -> list[int]:
    return [0, *sorted(rng.randrange(rows + 1) for _ in range(rng.randrange(5))), rows]


def pandas_columns(pd: Any, np: Any, rng: random.Random, rows: int) -> Iterator[Any]:
    """Yields columns of each kind of dtype."""
    gaps = [rng.random() < 0.3 for _ in range(rows)]
    ints = [rng.choice([0, 1, -7, 2**53 + 1, 2**62]) for _ in range(rows)]
    words = [rng.choice(["", "ä", "7", "long " * 9]) for _ in range(rows)]
    moments = [datetime.datetime(2024, 2, 29, 1, 2, 3, rng.choice([0, 5_000, 999_999])) for _ in range(rows)]

    def missing(values: list[Any]) -> list[Any]:
        return [None if gap else value for value, gap in zip(values, gaps, strict=True)]

    yield np.array(ints)
    yield np.array([value % 100 for value in ints], dtype=rng.choice(["int8", "uint16", "float32", "bool"]))
    yield [float("nan") if gap else value / 4 for value, gap in zip(ints, gaps, strict=True)]
    yield pd.array(missing(ints), dtype="Int64")
    yield pd.array(missing([value > 1 for value in ints]), dtype="boolean")
    yield pd.Series(missing(words), dtype=object)
    yield pd.array(missing(words), dtype="string")
    yield pd.Categorical(missing(words))
    yield pd.Series(missing(moments), dtype=f"datetime64[{rng.choice(['s', 'us', 'ns'])}]")
    yield pd.Series(missing(moments), dtype="datetime64[us]").dt.tz_localize("Europe/Oslo")
    yield pd.Series([datetime.timedelta(seconds=value % 1_000) for value in ints], dtype="timedelta64[ms]")
    yield pd.Series(missing([decimal.Decimal(value) / 4 for value in ints]), dtype=object)
    yield pd.Series(missing([rng.choice([1, 1.5, "x", b"y", 2**60, True, datetime.date(2024, 1, 1)]) for _ in range(rows)]), dtype=object)
    yield pd.Series(missing([rng.choice([1, 1.5]) for _ in range(rows)]), dtype=object)
    yield pd.Series([None] * rows, dtype=object)
    yield pd.Series(missing([[1, value] for value in ints]), dtype=object)


def test_chunks_of_a_pandas_frame_make_the_same_table_as_the_whole_frame(db: Path) -> None:
    pd, np = need("pandas"), need("numpy")
    for lap in range(FRAMES):
        rng = random.Random(lap)
        rows = rng.randrange(1, 40)
        columns = list(pandas_columns(pd, np, rng, rows))
        chosen = rng.sample(range(len(columns)), rng.randrange(1, 6))
        frame = pd.concat([pd.Series(columns[at]) for at in chosen], axis=1)
        frame.columns = rng.choice([[f"c{at}" for at in chosen], ["a"] * len(chosen), list(range(len(chosen)))])
        if rng.random() < 0.3:
            frame.index = rng.choice([pd.Index(range(5, rows + 5)), pd.Index([f"k{row}" for row in range(rows)], name="key"), pd.date_range("2024", periods=rows)])
        edges = cuts(rng, rows)
        same(db, frame, lambda: (frame.iloc[a:b] for a, b in zip(edges, edges[1:])), **rng.choice([{}, {}, {"index": True}, {"index": False}]))


def polars_columns(pl: Any, rng: random.Random, rows: int) -> Iterator[Any]:
    ints = [None if rng.random() < 0.3 else rng.choice([0, 1, -7, 2**53 + 1]) for _ in range(rows)]
    words = [rng.choice(["", "ä", None, "long " * 9]) for _ in range(rows)]
    yield pl.Series(ints, dtype=rng.choice([pl.Int64, pl.Float64, pl.String]), strict=False)
    yield pl.Series([None] * rows, dtype=pl.Null)
    yield pl.Series(words, dtype=pl.String)
    yield pl.Series(words, dtype=pl.Categorical)
    yield pl.Series(words, dtype=pl.Enum(["", "ä", "long " * 9]))
    yield pl.Series([None if value is None else datetime.datetime(2024, 2, 29, 1, 2, 3, 5_000) for value in ints], dtype=pl.Datetime(rng.choice(["ms", "us", "ns"])))
    yield pl.Series([None if value is None else decimal.Decimal(value) for value in ints], dtype=pl.Decimal(38, rng.choice([0, 2])))
    yield pl.Series([None if value is None else [value] for value in ints], dtype=pl.List(pl.Int64))
    yield pl.Series([{"x": value} for value in ints], dtype=pl.Struct({"x": pl.Int64}))
    yield pl.Series([None if value is None else value > 0 for value in ints], dtype=pl.Boolean)


def test_chunks_of_a_polars_frame_make_the_same_table_as_the_whole_frame(db: Path) -> None:
    pl = need("polars")
    for lap in range(FRAMES):
        rng = random.Random(lap)
        rows = rng.randrange(1, 40)
        columns = list(polars_columns(pl, rng, rows))
        # Column 6, of decimals, is left out: the type of its column depends on all values, which are not known in a stream.
        chosen = rng.sample([at for at in range(len(columns)) if at != 6], rng.randrange(1, 6))
        frame = pl.DataFrame({f"c{at}": columns[at] for at in chosen})
        edges = cuts(rng, rows)
        same(db, frame, lambda: (frame.slice(a, b - a) for a, b in zip(edges, edges[1:])))
        of_decimals = pl.DataFrame({"n": columns[0], "d": columns[6]})
        sqluice.write(db, of_decimals, "whole", overwrite=True)
        sqluice.write(db, [of_decimals.slice(a, b - a) for a, b in zip(edges, edges[1:])], "t")
        assert table(db) == table(db, "whole")


def test_columns_of_read_csv_chunks_get_a_type_that_fits_all_chunks(db: Path) -> None:
    pd = need("pandas")
    text = "n,x,s,d\n" + "".join(f"{n},{n},{n},2024-01-01\n" for n in range(10)) + "10,,z,\n11,1.5,11,x\n"
    for chunk_rows in (1, 3, 5, 100):
        read = lambda: pd.read_csv(io.StringIO(text), chunksize=chunk_rows)  # noqa: E731
        for name, data in (("reader", read()), ("list", list(read())), ("generator", (chunk for chunk in read()))):
            sqluice.write(db, data, "t", overwrite=True)
            columns, rows = table(db)
            assert columns == [("n", "INTEGER"), ("x", "REAL"), ("s", "TEXT" if chunk_rows == 100 else ""), ("d", "TEXT")], (name, chunk_rows)
            assert len(rows) == 12 and rows[-2][2:4] == (None, "null") and rows[0][2:4] == (0.0, "real")
            assert [row[4] for row in rows[-2:]] == ["z", 11 if chunk_rows == 1 else "11"]


@pytest.mark.parametrize(
    ("values", "declares", "stored"),
    [
        ([[1, 2], [1.5, None]], "REAL", [1.0, 2.0, 1.5, None]),
        ([[1, 2], [1.5, None], ["x", None]], "", [1, 2, 1.5, None, "x", None]),
        ([[None, None], [1, 2]], "INTEGER", [None, None, 1, 2]),
        ([[True, False], [2, 3]], "INTEGER", [1, 0, 2, 3]),
        ([[2**53 + 1], [0.5]], "", [2**53 + 1, 0.5]),
        ([["a"], [None], ["b"]], "TEXT", ["a", None, "b"]),
    ],
)
def test_a_column_whose_type_changes_between_chunks_gets_one_type_for_all(db: Path, values: list[list[Any]], declares: str, stored: list[Any]) -> None:
    pa, pd, pl = need("pyarrow"), need("pandas"), need("polars")
    frames = {
        "pandas": [pd.DataFrame({"a": chunk}) for chunk in values],
        "pandas of Arrow": [pa.table({"a": pa.array(chunk)}).to_pandas(types_mapper=pd.ArrowDtype) for chunk in values],
        "polars": [pl.DataFrame({"a": chunk}) for chunk in values],
        "pyarrow": [pa.table({"a": chunk}) for chunk in values],
        "batches": [pa.record_batch({"a": pa.array(chunk)}) for chunk in values],
    }
    for name, data in frames.items():
        sqluice.write(db, data, "t", overwrite=True)
        columns, rows = table(db)
        assert (columns, [row[0] for row in rows]) == ([("a", declares)], stored), name
        if name.startswith("pandas"):
            sqluice.write(db, iter(data), "u")
            assert table(db, "u") == (columns, rows)


def test_a_stream_of_arrow_whose_type_changes_is_refused_with_column_and_types(db: Path) -> None:
    pl = need("polars")
    frames = [pl.DataFrame({"n": [1], "a": [1]}), pl.DataFrame({"n": [1], "a": [0.5]})]
    with pytest.raises(sqluice.UsageError, match="batch 2 has other columns than the first: a is of type Float64, and was of type Int64") as raised:
        sqluice.write(db, iter(frames), "t")
    assert raised.value.column == "a" and "list" in str(raised.value.hint)
    assert not db.exists()


def test_chunks_may_order_columns_differently_but_must_have_the_same_columns(db: Path) -> None:
    pa, pd, pl = need("pyarrow"), need("pandas"), need("polars")
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        sqluice.write(db, [make({"a": [1], "b": ["x"]}), make({"b": ["y"], "a": [2]})], "t", overwrite=True)
        assert query(db, "SELECT a, b FROM t") == [(1, "x"), (2, "y")]
        for other in ({"a": [2]}, {"a": [2], "c": [3]}, {"a": [2], "b": ["y"], "c": [3]}):
            with pytest.raises(sqluice.UsageError, match="other columns than the first: [bc] is (missing|new)") as raised:
                sqluice.write(db, [make({"a": [1], "b": ["x"]}), make(other)], "u")
            assert raised.value.column in ("b", "c")
    with pytest.raises(sqluice.InputError, match="item 2 must be a frame like the first one, not a tuple"):
        sqluice.write(db, [pd.DataFrame({"a": [1]}), (1,)], "u")


def test_an_index_of_chunks_that_counts_rows_from_zero_is_left_out(db: Path) -> None:
    pd = need("pandas")
    frame = pd.DataFrame({"a": [10, 20, 30, 40]})
    own = [pd.DataFrame({"a": [10, 20]}), pd.DataFrame({"a": [30, 40]})]
    for number, data in enumerate(([frame[:2], frame[2:]], iter([frame[:2], frame[2:]]), own, iter(own))):
        sqluice.write(db, data, f"t{number}")
        assert query(db, f"SELECT * FROM t{number}") == [(10,), (20,), (30,), (40,)]
    sqluice.write(db, [frame[:2], frame[3:]], "gap")
    assert query(db, 'SELECT "index", a FROM gap') == [(0, 10), (1, 20), (3, 40)]
    with pytest.raises(sqluice.UsageError, match="frame 2 has an index that does not just count") as raised:
        sqluice.write(db, iter([frame[:2], frame[3:]]), "late")
    assert "index=False" in str(raised.value.hint)
    sqluice.write(db, iter([frame[:2], frame[3:]]), "late", index=True)
    assert query(db, "SELECT * FROM late") == query(db, "SELECT * FROM gap")
    with sqluice.Writer(db) as writer:
        for chunk in (frame[:2], frame[2:]):
            writer.append(chunk, "appended")
    assert query(db, "SELECT * FROM appended") == [(10,), (20,), (30,), (40,)]
    # An empty first frame does not tell that the next one has an index to store.
    late = frame.set_axis(range(5, 9))
    for number, data in enumerate(([late[:0], late], iter([late[:0], late[:0], late]), iter([late[:0], late[:1], late[1:]]))):
        sqluice.write(db, data, f"empty{number}")
        assert query(db, f'SELECT "index", a FROM empty{number}') == [(5, 10), (6, 20), (7, 30), (8, 40)]
    # An index without a name can't be appended to a table without a column for it.
    sqluice.write(db, frame[2:], "t0", if_exists="append")
    assert query(db, "SELECT count(*) FROM t0") == [(6,)]


def test_durations_of_chunks_are_counted_in_one_unit(db: Path) -> None:
    pa, pd = need("pyarrow"), need("pandas")
    frames = [pd.DataFrame({"d": pd.Series([1], dtype=f"timedelta64[{unit}]")}) for unit in ("s", "us")]
    sqluice.write(db, frames, "t")
    sqluice.write(db, pd.concat(frames, ignore_index=True), "whole")
    assert table(db) == table(db, "whole") and query(db, "SELECT d FROM t") == [(1_000_000,), (1,)]
    with pytest.raises(sqluice.InputError, match="column d: the durations of frame 2 have the unit us") as raised:
        sqluice.write(db, iter(frames), "u")
    assert raised.value.column == "d"
    with pytest.raises(sqluice.InputError, match="durations are of the unit Microsecond") as of_arrow:
        sqluice.write(db, [pa.table({"d": pa.array([1], pa.duration(unit))}) for unit in ("s", "us")], "u")
    assert of_arrow.value.column == "d"


def test_a_chunk_that_can_not_be_read_or_stored_is_an_error_that_leaves_no_file(db: Path) -> None:
    pd = need("pandas")
    text = "a,b\n1,2\n3,4,5\n"
    with pytest.raises(sqluice.InputError, match="cannot read the frames: .*line 3"):
        sqluice.write(db, pd.read_csv(io.StringIO(text), chunksize=1), "t")
    periods = [pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": pd.period_range("2024", periods=2)}, index=[2, 3])]
    for data in (periods, iter(periods)):
        with pytest.raises(sqluice.InputError, match="column a: .*Period") as raised:
            sqluice.write(db, data, "t")
        assert (raised.value.column, raised.value.row) == ("a", 3)

    def failing() -> Iterator[Any]:
        yield periods[0]
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        sqluice.write(db, failing(), "t")
    assert not db.exists()


def test_a_generator_of_many_frames_leaves_no_visible_temporary_file(db: Path, tmp_path: Path) -> None:
    pd = need("pandas")
    seen: list[list[str]] = []
    waits = tmp_path / "waits"
    waits.mkdir()

    def frames() -> Iterator[Any]:
        for start in range(0, 200_000, 50_000):
            seen.append([path.name for path in waits.iterdir()])
            yield pd.DataFrame({"a": range(start, start + 50_000), "s": "x"}, index=range(start, start + 50_000))

    report = sqluice.write(db, frames(), "t", temp_dir=waits, primary_key="a")
    assert report.rows == 200_000 and query(db, "SELECT sum(a), max(a) FROM t") == [(sum(range(200_000)), 199_999)]
    assert seen == [[]] * 4 and list(waits.iterdir()) == []
