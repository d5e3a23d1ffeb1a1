"""`DataFrame.to_sql(method=sqluice.pandas_method)` stores what pandas stores, and never commits a transaction of the caller."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import os
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest
import sqlalchemy
import sqluice
from sqluice import _child, _pandas
from twin import query, sound

FRAME = pandas.DataFrame({"i": range(10), "r": [n / 8 for n in range(10)], "s": [f"name {n}" for n in range(10)]})

# Frames with values of all kinds that pandas writes.
FRAMES: dict[str, Callable[[], pandas.DataFrame]] = {
    "numbers and text": lambda: FRAME,
    "missing values": lambda: pandas.DataFrame({"i": [1, None], "s": [None, "a"], "f": [numpy.nan, 1.5], "n": [None, None]}),
    "timestamps": lambda: pandas.DataFrame({"t": pandas.to_datetime(["2024-01-02 03:04:05", None, "2024-01-02 03:04:05.000006"], format="ISO8601")}),
    "dates and times": lambda: pandas.DataFrame({"d": [datetime.date(2024, 1, 2), None], "t": [datetime.time(1, 2, 3), datetime.time(1, 2, 3, 4)]}),
    "zones": lambda: pandas.DataFrame({"t": pandas.to_datetime(["2024-01-02", "2024-07-02"]).tz_localize("Europe/Oslo")}),
    "durations": lambda: pandas.DataFrame({"d": pandas.to_timedelta(["1 day", "2 hours"])}),
    "booleans": lambda: pandas.DataFrame({"b": [True, False], "n": pandas.array([True, None], dtype="boolean")}),
    "blobs": lambda: pandas.DataFrame({"b": [b"a", None, b""]}),
    "mixed": lambda: pandas.DataFrame({"m": [1, "a", 1.5]}, dtype=object),
    "categories": lambda: pandas.DataFrame({"c": pandas.Categorical(["a", "b", None])}),
    "an index": lambda: FRAME.set_index(["s", "i"]),
    "no rows": lambda: FRAME[:0],
    "large integers": lambda: pandas.DataFrame({"i": [2**63 - 1, -(2**63)]}),
    "many rows": lambda: pandas.concat([FRAME] * 10_000),
}

def through_engine(path: Path) -> sqlalchemy.Engine:
    return sqlalchemy.create_engine(f"sqlite:///{path}")


def through_connection(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path)


WAYS: dict[str, Callable[[Path], Any]] = {"engine": through_engine, "connection": through_connection}


@pytest.fixture
def only_quick() -> Iterator[None]:
    """Lets a test fail if rows are written by the ordinary INSERT."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="sqluice.pandas_method")
        warnings.filterwarnings("ignore", message=".*(default .* adapter is deprecated|timedelta).*")
        yield


def dump(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        # SQLAlchemy creates the indexes of a frame in any order.
        return sorted([*connection.iterdump(), *map(str, connection.execute("PRAGMA journal_mode"))])
    finally:
        connection.close()


@contextlib.contextmanager
def refusing(reason: str) -> Iterator[None]:
    """Asserts that pandas raises an error of its own, which contains SQLite's reason."""
    with warnings.catch_warnings(record=True), pytest.raises(Exception) as raised:
        yield
    error: BaseException | None = raised.value
    said = ""
    while error is not None:
        said, error = f"{said}{error}\n", error.__cause__
    assert reason in said and not isinstance(raised.value, sqluice.Error)


def given_back(connection: Any) -> None:
    connection.close() if isinstance(connection, sqlite3.Connection) else connection.dispose()


@pytest.mark.parametrize("journal", ["delete", "wal"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", FRAMES)
def test_pandas_method_stores_the_same_database_as_the_default_of_pandas(kind: str, way: str, journal: str, tmp_path: Path, only_quick: None) -> None:
    dumps = []
    for method in (None, sqluice.pandas_method):
        path = tmp_path / f"{method is None}.db"
        with sqlite3.connect(path) as made:
            made.execute(f"PRAGMA journal_mode = {journal}")
        made.close()
        connection, frame = WAYS[way](path), FRAMES[kind]()
        counts = [
            frame.to_sql("t", connection, method=method),
            frame.to_sql("t", connection, method=method, if_exists="append"),
            frame.to_sql("u", connection, method=method, index=False),
            frame.to_sql("u", connection, method=method, index=False, if_exists="replace"),
        ]
        given_back(connection)
        dumps.append([counts, dump(path)])
        assert sound(path)
    assert dumps[0] == dumps[1]


@pytest.mark.parametrize("way", WAYS)
def test_schema_index_label_and_dtypes_of_to_sql_have_the_same_effect_with_pandas_method(way: str, tmp_path: Path, only_quick: None) -> None:
    dumps = []
    types: Any = {"i": "TEXT", "r": "BLOB"} if way == "connection" else {"i": sqlalchemy.Text(), "r": sqlalchemy.Float(), "s": sqlalchemy.String(20)}
    for method in (None, sqluice.pandas_method):
        path = tmp_path / f"{method is None}.db"
        connection = WAYS[way](path)
        FRAME.to_sql("t", connection, method=method, dtype=types, index_label="key", schema="main")
        given_back(connection)
        dumps.append(dump(path))
    assert dumps[0] == dumps[1]


def warned(call: Callable[[], object]) -> list[str]:
    """Returns the warnings of the package, and asserts that they name the caller of to_sql."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    ours = [one for one in caught if "sqluice" in str(one.message)]
    assert all(one.filename == __file__ for one in ours)
    return [str(one.message) for one in ours]


@pytest.fixture
def no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a test fail if a child process would write."""

    def call(*_: Any) -> None:
        raise AssertionError("a child was asked")

    monkeypatch.setattr(_child.Child, "_call", call)


def test_rows_written_in_a_transaction_of_the_caller_are_gone_after_a_rollback(db: Path, no_child: None) -> None:
    engine = through_engine(db)
    with engine.connect() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE mine (a)"))
        connection.execute(sqlalchemy.text("INSERT INTO mine VALUES (1)"))
        (message,) = warned(lambda: FRAME.to_sql("t", connection, method=sqluice.pandas_method))
        assert "transaction of its own" in message
        assert connection.execute(sqlalchemy.text("SELECT count(*) FROM t")).scalar() == 10
        connection.rollback()
    # Python begins the transaction at the first INSERT, so the rollback keeps the table that was created before.
    assert query(db, "SELECT name FROM sqlite_schema") == [("mine",)]
    assert query(db, "SELECT count(*) FROM mine") == [(0,)]
    engine.dispose()


def test_rows_written_in_a_savepoint_are_stored_when_the_caller_commits(db: Path, no_child: None) -> None:
    engine = through_engine(db)
    with engine.begin() as connection, connection.begin_nested():
        assert len(warned(lambda: FRAME.to_sql("t", connection, method=sqluice.pandas_method))) == 1
    engine.dispose()
    assert query(db, "SELECT count(*) FROM t") == [(10,)]


def test_rows_are_written_by_a_child_process_if_pandas_commits_the_transaction(db: Path, only_quick: None) -> None:
    engine = through_engine(db)
    with engine.connect() as connection:
        FRAME.to_sql("t", connection, method=sqluice.pandas_method)
        assert query(db, "SELECT count(*) FROM t") == [(10,)]
    engine.dispose()


def test_uncommitted_changes_and_new_rows_of_a_connection_are_stored_together(db: Path, no_child: None) -> None:
    FRAME.to_sql("t", connection := through_connection(db))
    connection.execute("INSERT INTO t VALUES (99, 1, 1, 'mine')")
    (message,) = warned(lambda: FRAME.to_sql("t", connection, if_exists="append", method=sqluice.pandas_method))
    assert "in a transaction" in message
    connection.close()
    assert query(db, "SELECT count(*) FROM t") == [(21,)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("chunk", [1, 3, 9, 10, 11])
def test_each_row_of_a_frame_in_chunks_is_written_once(chunk: int, way: str, db: Path) -> None:
    connection = WAYS[way](db)
    messages = warned(lambda: FRAME.to_sql("t", connection, index=False, chunksize=chunk, method=sqluice.pandas_method))
    given_back(connection)
    assert len(messages) == (chunk < 10)
    assert query(db, "SELECT i, r, s FROM t") == list(FRAME.itertuples(index=False, name=None))


@pytest.mark.parametrize("way", ["engine", "connection"])
def test_rows_are_inserted_into_a_database_in_memory_with_a_warning(way: str, no_child: None) -> None:
    connection: Any = sqlite3.connect(":memory:") if way == "connection" else sqlalchemy.create_engine("sqlite://", poolclass=sqlalchemy.StaticPool)
    (message,) = warned(lambda: FRAME.to_sql("t", connection, method=sqluice.pandas_method))
    assert "in memory" in message
    assert len(pandas.read_sql("SELECT * FROM t", connection)) == 10
    given_back(connection)


def test_temporary_and_attached_databases_get_their_rows(db: Path, tmp_path: Path) -> None:
    connection = through_connection(db)
    connection.execute("ATTACH ? AS other", (str(tmp_path / "other.db"),))
    connection.execute("ATTACH '' AS scratch")
    engine = sqlalchemy.create_engine("sqlite://", creator=lambda: connection, poolclass=sqlalchemy.StaticPool)
    assert warned(lambda: FRAME.to_sql("t", engine, schema="other", method=sqluice.pandas_method)) == []
    assert query(tmp_path / "other.db", "SELECT count(*) FROM t") == [(10,)]
    assert len(warned(lambda: FRAME.to_sql("t", engine, schema="scratch", method=sqluice.pandas_method))) == 1
    connection.execute("CREATE TEMP TABLE u AS SELECT 1 AS i")
    assert len(warned(lambda: FRAME[["i"]].to_sql("u", connection, index=False, if_exists="append", method=sqluice.pandas_method))) == 1
    assert connection.execute("SELECT count(*) FROM temp.u").fetchall() == [(11,)]
    engine.dispose()


def test_a_locked_file_raises_the_error_of_pandas(db: Path) -> None:
    FRAME.to_sql("t", connection := sqlite3.connect(db, timeout=0.1))
    other = sqlite3.connect(db, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with refusing("locked"):
        FRAME.to_sql("t", connection, if_exists="append", method=sqluice.pandas_method)
    other.execute("ROLLBACK")
    other.close()
    connection.close()
    assert query(db, "SELECT count(*) FROM t") == [(10,)]


def test_rows_can_be_written_while_a_query_of_the_connection_is_being_read(db: Path) -> None:
    connection = through_connection(db)
    connection.execute("PRAGMA journal_mode = WAL")
    FRAME.to_sql("t", connection, method=sqluice.pandas_method)
    reading = connection.execute("SELECT i FROM t")
    assert reading.fetchone() == (0,)
    FRAME.to_sql("t", connection, if_exists="append", method=sqluice.pandas_method)
    assert len(reading.fetchall()) in (9, 19)
    reading.close()
    assert connection.execute("SELECT count(*) FROM t").fetchall() == [(20,)]
    connection.close()


@pytest.mark.parametrize("way", WAYS)
def test_rows_that_violate_a_constraint_raise_the_error_of_pandas(way: str, tmp_path: Path) -> None:
    rows = []
    for method in (None, sqluice.pandas_method):
        path = tmp_path / f"{method is None}.db"
        with sqlite3.connect(path) as made:
            made.execute("CREATE TABLE t (i INTEGER PRIMARY KEY, r REAL CHECK (r < 1), s TEXT)")
        made.close()
        connection = WAYS[way](path)
        with refusing("CHECK"):
            FRAME.to_sql("t", connection, index=False, if_exists="append", method=method)
        given_back(connection)
        # Through an engine pandas commits the rows before the one that fails.
        rows.append(query(path, "SELECT * FROM t"))
    assert rows[0] == rows[1]


def test_foreign_keys_and_functions_of_the_connection_apply_to_the_rows(db: Path) -> None:
    connection = through_connection(db)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.executescript("CREATE TABLE parent (id INTEGER PRIMARY KEY); CREATE TABLE t (i REFERENCES parent)")
    frame = pandas.DataFrame({"i": [7]})
    with refusing("FOREIGN KEY"):
        frame.to_sql("t", connection, index=False, if_exists="append", method=sqluice.pandas_method)
    connection.rollback()
    connection.execute("PRAGMA foreign_keys = OFF")
    assert warned(lambda: frame.to_sql("t", connection, index=False, if_exists="append", method=sqluice.pandas_method)) == []
    connection.create_function("twice", 1, lambda value: value * 2, deterministic=True)
    connection.execute("CREATE TABLE u (i, d AS (twice(i)) STORED)")
    assert len(warned(lambda: frame.to_sql("u", connection, index=False, if_exists="append", method=sqluice.pandas_method))) == 1
    assert connection.execute("SELECT * FROM u").fetchall() == [(7, 14)]
    connection.close()


def test_a_read_only_connection_raises_the_error_of_pandas_and_stores_nothing(db: Path) -> None:
    FRAME.to_sql("t", through := through_connection(db), index=False)
    through.close()
    connection = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
    with refusing("readonly"):
        FRAME.to_sql("t", connection, index=False, if_exists="append", method=sqluice.pandas_method)
    connection.close()
    connection = through_connection(db)
    connection.execute("PRAGMA query_only = ON")
    with refusing("readonly"):
        FRAME.to_sql("t", connection, index=False, if_exists="append", method=sqluice.pandas_method)
    connection.close()
    assert query(db, "SELECT count(*) FROM t") == [(10,)]


def test_values_of_unknown_classes_are_converted_or_refused_by_sqlite3(db: Path) -> None:
    class Point:
        def __conform__(self, _: object) -> str:
            return "1;2"

    connection = through_connection(db)
    assert warned(lambda: pandas.DataFrame({"p": [Point()]}).to_sql("t", connection, index=False, method=sqluice.pandas_method)) == []
    assert query(db, "SELECT p FROM t") == [("1;2",)]
    with refusing("Decimal"):
        pandas.DataFrame({"p": [decimal.Decimal("1.5")]}).to_sql("u", connection, index=False, method=sqluice.pandas_method)
    connection.close()


def test_a_killed_child_process_is_an_error_and_no_row_is_stored_twice(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = _pandas._chunks

    def killing(columns: Any, rows: int) -> Iterator[Any]:
        yield from chunks(columns, rows)
        started[-1]._process.kill()

    started: list[_child.Child] = []

    class Started(_child.Child):
        def __init__(self) -> None:
            super().__init__()
            started.append(self)

    monkeypatch.setattr(_pandas, "_chunks", killing)
    monkeypatch.setattr(_pandas, "Child", Started)
    connection = through_connection(db)
    with pytest.raises(sqluice.TargetError, match="ended early"):
        FRAME.to_sql("t", connection, method=sqluice.pandas_method)
    connection.close()
    assert query(db, "SELECT count(*) FROM t")[0][0] in (0, 10)


@pytest.mark.parametrize(
    ("said", "is_left"), [("disk I/O error", False), ("FOREIGN KEY constraint failed", True)]
)
def test_a_failed_commit_is_an_error_unless_a_foreign_key_was_the_reason(
    said: str, is_left: bool, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(_child.Child):
        def write(self, *args: Any) -> None:
            raise sqluice.TargetError(f"SQLite cannot commit to {db}: {said}")

    monkeypatch.setattr(_pandas, "Child", Failing)
    connection = through_connection(db)
    if is_left:
        (message,) = warned(lambda: FRAME.to_sql("t", connection, method=sqluice.pandas_method))
        assert said in message
    else:
        with pytest.raises(sqluice.TargetError, match=said):
            FRAME.to_sql("t", connection, method=sqluice.pandas_method)
    connection.close()
    assert query(db, "SELECT count(*) FROM t") == [(10 if is_left else 0,)]


def test_rows_are_inserted_by_pandas_if_no_child_process_can_be_started(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.frozen", True, raising=False)
    connection = through_connection(db)
    (message,) = warned(lambda: FRAME.to_sql("t", connection, method=sqluice.pandas_method))
    assert "no child process" in message
    connection.close()
    assert query(db, "SELECT count(*) FROM t") == [(10,)]
    assert os.path.exists(db)
