"""`sqluice.read` and `sqluice.export`: rows of databases as Arrow data and as files."""

from __future__ import annotations

import gc
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqluice
from test_frames import need


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL, code BLOB, day DATE)")
        rows = [(n, None if n % 7 == 0 else f"item {n}", n / 4, bytes([n % 256]), "2024-02-29") for n in range(1, 50_001)]
        db.executemany("INSERT INTO item VALUES (?, ?, ?, ?, ?)", rows)
    db.close()
    return path


def by_sqlite(path: Path, sql: str) -> list[tuple[Any, ...]]:
    db = sqlite3.connect(path)
    rows = db.execute(sql).fetchall()
    db.close()
    return rows


def test_read_returns_the_rows_that_sqlite_selects(shop: Path) -> None:
    pa = need("pyarrow")
    rows = sqluice.read(shop, "item")
    for _ in range(2):
        table = pa.table(rows)
        assert [str(field.type) for field in table.schema] == ["int64", "string", "double", "binary", "string"]
        assert list(zip(*(column.to_pylist() for column in table.columns), strict=True)) == by_sqlite(shop, "SELECT * FROM item")


def test_columns_conditions_limits_and_queries_select_what_sqlite_selects(shop: Path) -> None:
    pa = need("pyarrow")

    def read(**args: Any) -> list[tuple[Any, ...]]:
        table = pa.table(sqluice.read(shop, **args))
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    assert read(table="item", columns=["price", "id"], limit=3) == by_sqlite(shop, "SELECT price, id FROM item LIMIT 3")
    assert read(table="item", where="name IS NULL") == by_sqlite(shop, "SELECT * FROM item WHERE name IS NULL")
    query = "SELECT id % 5 AS k, sum(price) AS total, count(*) AS n FROM item GROUP BY 1"
    assert read(query=query) == by_sqlite(shop, query)


def test_polars_pandas_and_duckdb_accept_the_result_of_read(shop: Path) -> None:
    rows = sqluice.read(shop, "item", columns=["id", "name", "price"])
    total = by_sqlite(shop, "SELECT count(*), sum(price), count(name) FROM item")[0]
    polars = need("polars")
    frame = polars.DataFrame(rows)
    assert (frame.height, frame["price"].sum(), frame["name"].count()) == total
    pandas = need("pandas")
    frame = pandas.DataFrame.from_arrow(rows)
    assert (len(frame), frame["price"].sum(), frame["name"].count()) == total
    duckdb = need("duckdb")
    assert duckdb.sql("SELECT count(*), sum(price), count(name) FROM rows").fetchall()[0] == total


def test_a_date_column_is_returned_as_dates_on_request(shop: Path) -> None:
    pa = need("pyarrow")
    table = pa.table(sqluice.read(shop, "item", columns="day", limit=1, dates=True))
    assert str(table.schema.field(0).type) == "date32[day]"
    assert table.column(0).to_pylist()[0].isoformat() == "2024-02-29"


def test_a_text_among_numbers_is_an_error_with_row_and_column_unless_mixed_allows_it(shop: Path) -> None:
    pa = need("pyarrow")
    with sqlite3.connect(shop) as db:
        db.execute("UPDATE item SET price = 'much' WHERE id = 40000")
    db.close()
    with pytest.raises(Exception, match=r"'much' in a column of doubles \(table item, rowid 40000, column price\)") as raised:
        pa.table(sqluice.read(shop, "item"))
    assert 'mixed="text"' in str(raised.value) and "--" not in str(raised.value)
    column = pa.table(sqluice.read(shop, "item", mixed="text")).column("price")
    assert (column[0].as_py(), column[39_999].as_py()) == ("0.25", "much")
    column = pa.table(sqluice.read(shop, "item", mixed="null")).column("price")
    assert (column[0].as_py(), column[39_999].as_py(), column.null_count) == (0.25, None, 1)


def test_wrong_arguments_of_read_are_errors_before_the_first_row(shop: Path, tmp_path: Path) -> None:
    for args, message in [
        ({"table": "items"}, "did you mean item"),
        ({"table": "item", "columns": ["cost"]}, "no column cost"),
        ({"table": "item", "query": "SELECT 1"}, "either a table or a query"),
        ({}, "either a table or a query"),
        ({"query": "DELETE FROM item"}, "changes the database"),
        ({"table": "item", "mixed": "drop"}, "error, text or null"),
        ({"table": "item", "threads": 0}, "at least 1"),
    ]:
        with pytest.raises(sqluice.Error) as raised:
            sqluice.read(shop, **args)  # type: ignore[arg-type]
        assert message in str(raised.value)
    with pytest.raises(FileNotFoundError):
        sqluice.read(tmp_path / "no.db", "item")


def test_other_connections_can_write_after_an_unfinished_reader_is_deleted(shop: Path) -> None:
    pa = need("pyarrow")
    reader = pa.RecordBatchReader.from_stream(sqluice.read(shop, "item"))
    assert reader.read_next_batch().num_rows > 0
    # An open reader of the package itself does not prevent a check.
    assert sqluice.check(shop)
    del reader
    gc.collect()
    with sqlite3.connect(shop, timeout=0) as db:
        db.execute("DELETE FROM item WHERE id > 10")
    db.close()
    assert pa.table(sqluice.read(shop, "item")).num_rows == 10


def test_a_database_is_loaded_into_another(shop: Path, tmp_path: Path) -> None:
    target = tmp_path / "new.db"
    schema = "CREATE TABLE item (name TEXT, id INTEGER PRIMARY KEY, price REAL, code BLOB, day TEXT)"
    assert sqluice.load(target, shop, schema=schema).rows == 50_000
    columns = "id, name, price, code, day"
    assert by_sqlite(target, f"SELECT {columns} FROM item") == by_sqlite(shop, f"SELECT {columns} FROM item")
    db = sqlite3.connect(shop)
    db.execute("BEGIN EXCLUSIVE")
    with pytest.raises(sqluice.TargetError):
        sqluice.load(tmp_path / "other.db", shop, busy_timeout=0)
    db.rollback()
    db.close()


def test_export_writes_csv_and_parquet_files_and_returns_a_report(shop: Path, tmp_path: Path) -> None:
    calls: list[tuple[Any, ...]] = []
    report = sqluice.export(shop, to=tmp_path / "item.csv", columns=["id", "name"], progress=lambda *done: calls.append(done))
    assert (report.rows, report.files[0].table, report.lets_others_commit) == (50_000, "item", False)
    assert (tmp_path / "item.csv").read_text().splitlines()[:3] == ["id,name", "1,item 1", "2,item 2"]
    assert calls
    with pytest.raises(sqluice.TargetError) as raised:
        sqluice.export(shop, to=tmp_path / "item.csv", columns=["id"])
    assert raised.value.hint and "overwrite=True" in raised.value.hint
    (tmp_path / "all").mkdir()
    sqluice.export(shop, to=tmp_path / "all", format="parquet")
    assert [path.name for path in (tmp_path / "all").iterdir()] == ["item.parquet"]
    loaded = tmp_path / "loaded.db"
    sqluice.load(loaded, tmp_path / "all" / "item.parquet")
    assert by_sqlite(loaded, "SELECT * FROM item") == by_sqlite(shop, "SELECT * FROM item")


def test_export_writes_a_database_as_sql_statements(shop: Path, tmp_path: Path) -> None:
    report = sqluice.export(shop, to=tmp_path / "shop.sql")
    (file,) = report.files
    assert (file.table, file.format, file.rows) == (None, "sql", 50_000)
    assert file.tables == (sqluice.DumpedTable("item", 50_000),)
    with sqlite3.connect(tmp_path / "new.db") as connection:
        connection.executescript((tmp_path / "shop.sql").read_text())
    assert by_sqlite(tmp_path / "new.db", "SELECT rowid, * FROM item") == by_sqlite(shop, "SELECT rowid, * FROM item")
    with pytest.raises(sqluice.UsageError, match="`where` has no meaning for SQL, which has whole tables"):
        sqluice.export(shop, to=tmp_path / "some.sql", where="id = 1")
    assert not (tmp_path / "some.sql").exists()


READ_BY_BATCHES = """
import re, sys
import pyarrow
import sqluice

def peak() -> int:
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) << 10

before, size, rows = peak(), 0, 0
for batch in pyarrow.RecordBatchReader.from_stream(sqluice.read(sys.argv[1], "user")):
    size, rows = size + batch.nbytes, rows + batch.num_rows
print(rows, size, peak() - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="this system does not list memory")
def test_reading_a_table_of_more_than_200_mib_in_batches_takes_less_memory(tmp_path: Path) -> None:
    need("pyarrow")
    sqluice.generate(tmp_path / "big.db", preset="user", rows=8_000_000)
    done = subprocess.run([sys.executable, "-c", READ_BY_BATCHES, tmp_path / "big.db"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows, size, grown = map(int, done.stdout.split())
    assert rows == 8_000_000 and size > 200 << 20
    assert grown < 200 << 20, f"{grown >> 20} MiB for a table of {size >> 20} MiB"


@pytest.mark.parametrize(
    ("values", "kind", "read"),
    [
        ([1, 1.5], "double", [1.0, 1.5]),
        ([1.5, None, 2**53], "double", [1.5, None, 2.0**53]),
        ([1, None, 2], "int64", [1, None, 2]),
        ([2**62, 1], "int64", [2**62, 1]),
    ],
)
def test_numbers_of_a_column_without_a_type_are_floats_if_one_is_a_float(tmp_path: Path, values: list[Any], kind: str, read: list[Any]) -> None:
    pa, pandas, polars = need("pyarrow"), need("pandas"), need("polars")
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (a)")
        db.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
    db.close()
    for rows in (sqluice.read(path, "t"), sqluice.read(path, query="SELECT a FROM t"), sqluice.read(path, "t", mixed="text")):
        table = pa.table(rows)
        assert (str(table.schema.field(0).type), table.column(0).to_pylist()) == (kind, read)
    assert polars.DataFrame(sqluice.read(path, "t"))["a"].to_list() == read
    assert pandas.DataFrame.from_arrow(sqluice.read(path, "t"))["a"].dtype.kind in "fi"
