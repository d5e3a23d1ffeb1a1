"""Compares sqluice's Python functions with other packages, in alternating rounds: rows and frames into a new database, and tables back.

All packages have their default durability. The rows that each has stored or read are compared before its time is recorded. The memory is
the peak memory of the process, less its memory before, and less the size of the table that was read.
"""

from __future__ import annotations

import argparse
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import adbc_driver_sqlite as adbc_package
import adbc_driver_sqlite.dbapi as adbc
import adbc_driver_sqluice.dbapi as own_adbc
import connectorx
import pandas
import polars
import pyarrow
import pyarrow.compute
import pyarrow.parquet
import sqlalchemy
import sqlite_utils
import sqluice

from house import House, Lap, Way


def memory(what: str) -> int:
    """Returns the memory of this process in bytes: the current (VmRSS) or the peak memory (VmHWM)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"no {what} here")


def digest(db: Path, table: str) -> list[Any]:
    """Returns a digest of a table's content: for each column the number of values, minimum, maximum, and a sum weighted by the row's
    place."""
    with closing(sqlite3.connect(db)) as connection:
        names = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
        sums = ", ".join(
            f"count({name}), min({name}), max({name}), typeof(max({name})), "
            f"total(CASE typeof({name}) WHEN 'text' THEN length({name}) * 31 + unicode({name}) ELSE {name} END * (rowid % 1009))"
            for name in names
        )
        return [names, connection.execute(f"SELECT count(*), {sums} FROM {table}").fetchone()]


def digest_of(table: pyarrow.Table) -> list[Any]:
    """Returns a digest of an Arrow table: for each column the number of NULLs, minimum, maximum, and the sum of the values or of their
    lengths."""
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pyarrow.types.is_large_string(column.type) or pyarrow.types.is_string(column.type):
            measured = pyarrow.compute.binary_length(column)
        else:
            measured = column
        bounds = pyarrow.compute.min_max(column).as_py()
        # Rounded, because a sum of floats depends on how the column is divided into chunks.
        total = f"{pyarrow.compute.sum(measured).as_py():.9g}"
        columns.append([name, column.null_count, bounds, total])
    return [table.num_rows, columns]


class Comparison:
    """Ways to fill a database, to change one that exists, or to read one. All must store or return the same rows."""

    def __init__(self, table: str, rows: int, folder: Path) -> None:
        self.table, self.rows, self.db = table, rows, folder / "lap.db"
        self.wanted: list[Any] | None = None

    def way(self, name: str, title: str, run: Callable[[Path], object], prepare: Callable[[Path], object] | None = None) -> Way:
        return Way(name, title, lambda: self.lap(name, run, prepare))

    def lap(self, name: str, run: Callable[[Path], object], prepare: Callable[[Path], object] | None) -> Lap:
        if prepare is not None:
            prepare(self.db)
        Path("/proc/self/clear_refs").write_text("5")
        before = memory("VmRSS")
        began, began_cpu = time.monotonic(), time.process_time()
        result = run(self.db)
        seconds, cpu = time.monotonic() - began, time.process_time() - began_cpu
        of_result = result.nbytes if isinstance(result, pyarrow.Table) else 0
        beyond = max(memory("VmHWM") - before - of_result, 1)
        found = digest_of(result) if isinstance(result, pyarrow.Table) else digest(self.db, self.table)
        del result
        if self.wanted is None:
            self.wanted = found
        if found != self.wanted:
            raise SystemExit(f"{name} has something else:\n{found}\n{self.wanted}")
        self.db.unlink(missing_ok=True)
        return Lap(self.rows, seconds, cpu, beyond)


# The claim about the memory of sqluice beyond the data, in MiB.
MEMORY_CLAIMED = "at most 200"


def executemany(db: Path, columns: str, rows: Any, places: int) -> None:
    with closing(sqlite3.connect(db)) as connection:
        connection.execute(f"CREATE TABLE t ({columns})")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * places)})", rows)
        connection.commit()


def ingest(db: Path, data: Any, driver: Any = adbc) -> None:
    with closing(driver.connect(str(db))) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("lineitem", data, mode="create")
        connection.commit()


def fetch(db: Path) -> pyarrow.Table:
    with closing(adbc.connect(str(db))) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM lineitem")
        return cursor.fetch_arrow_table()


def to_sql(db: Path, frame: Any, table: str = "lineitem", method: Any = None) -> None:
    with closing(sqlite3.connect(db)) as connection:
        frame.to_sql(table, connection, index=False, method=method)


def to_sql_by_engine(db: Path, frame: Any, method: Any = None) -> None:
    engine = sqlalchemy.create_engine(f"sqlite:///{db}")
    frame.to_sql("t", engine, index=False, method=method)
    engine.dispose()


def insert_all(db: Path, rows: list[dict[str, Any]], *, upsert: bool = False) -> None:
    database = sqlite_utils.Database(db)
    if upsert:
        database["t"].upsert_all(rows, pk="id")
    else:
        database["t"].insert_all(rows, pk="id")
    database.conn.close()


def create_index(db: Path) -> None:
    database = sqlite_utils.Database(db)
    database["t"].create_index(["e"], index_name="i")
    database.conn.close()


def dicts(count: int, factor: int = 1) -> list[dict[str, Any]]:
    return [{"id": n + 1, "name": f"name {n}", "x": n / 8, "d": "a common word", "e": n * 7919 % count * factor} for n in range(count)]


def tuples(count: int) -> list[tuple[int, str, float, str, int]]:
    return [(n, f"name {n}", n / 8, "a common word", n * 7919 % count) for n in range(count)]


def compare_methods(house: House, rows: int, folder: Path) -> None:
    """Compares pandas' `to_sql` with sqluice's method, including the start of its child process, and without the method."""
    numbers = range(rows)
    frame = pandas.DataFrame({"a": numbers, "b": [f"name {n}" for n in numbers], "c": [n / 8 for n in numbers], "d": "a common word"})
    for through, write, claim in (
        ("SQLAlchemy", to_sql_by_engine, "at least 8"),
        ("sqlite3", lambda db, frame, method=None: to_sql(db, frame, "t", method), "at least 4"),
    ):
        of, name = Comparison("t", rows, folder), through.lower()
        ways = [
            of.way(
                f"method-{name}",
                "`pandas.to_sql(method=sqluice.pandas_method)`",
                lambda db, write=write: write(db, frame, method=sqluice.pandas_method),
            ),
            of.way(f"to-sql-{name}", "`pandas.to_sql`", lambda db, write=write: write(db, frame)),
        ]
        house.compare(f"A frame through {through}", ways)
        house.ratio(f"time of `pandas.to_sql` to the same with the method, through {through}", "time", f"to-sql-{name}", f"method-{name}", claim)


def lineitem(scale: float, folder: Path) -> pyarrow.Table:
    """Returns TPC-H's lineitem with decimals as floats and dates as text, which all packages store alike."""
    arguments = ["tpchgen-cli", "parquet", "-s", str(scale), "--tables", "lineitem", "--output-dir", str(folder)]
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
    table = pyarrow.parquet.read_table(folder / "lineitem.parquet")
    for number, field in enumerate(table.schema):
        if pyarrow.types.is_decimal(field.type):
            table = table.set_column(number, field.name, table[field.name].cast("float64"))
        elif pyarrow.types.is_date(field.type) or pyarrow.types.is_string_view(field.type):
            table = table.set_column(number, field.name, table[field.name].cast("string"))
    return table


def compare_tuples(house: House, count: int, folder: Path) -> None:
    rows, of = tuples(count), Comparison("t", count, folder)
    names, columns = ["a", "b", "c", "d", "e"], "a INTEGER, b TEXT, c REAL, d TEXT, e INTEGER"
    ways = [
        of.way("list", "`sqluice.write`, a list", lambda db: sqluice.write(db, rows, "t", columns=names)),
        of.way("generator", "`sqluice.write`, a generator", lambda db: sqluice.write(db, (row for row in rows), "t", columns=names)),
        of.way("executemany", "`sqlite3`, `executemany` of the list", lambda db: executemany(db, columns, rows, 5)),
    ]
    house.compare("Tuples of five values", ways)
    for name in ("list", "generator"):
        house.ratio(f"time of `executemany` to `sqluice.write`, a {name}", "time", "executemany", name, "at least 1")
        house.ratio(f"MiB beyond the data of `sqluice.write`, a {name}", "memory", name, name, MEMORY_CLAIMED)


def compare_dicts(house: House, count: int, folder: Path) -> None:
    some, others = dicts(count), dicts(count, 3)

    def there(db: Path) -> None:
        sqluice.write(db, some, "t", primary_key="id")

    of = Comparison("t", count, folder)
    ways = [
        of.way("dicts", "`sqluice.write`", there),
        of.way("insert-all", "`sqlite_utils`, `insert_all`", lambda db: insert_all(db, some)),
    ]
    house.compare("Dicts of five values", ways)
    house.ratio("time of `insert_all` to `sqluice.write`", "time", "insert-all", "dicts")
    of = Comparison("t", count, folder)
    ways = [
        of.way("upsert", '`sqluice.write(if_exists="upsert")`', lambda db: sqluice.write(db, others, "t", if_exists="upsert"), there),
        of.way("upsert-all", "`sqlite_utils`, `upsert_all`", lambda db: insert_all(db, others, upsert=True), there),
    ]
    house.compare("Dicts whose keys exist", ways)
    house.ratio("time of `upsert_all` to `sqluice.write`", "time", "upsert-all", "upsert")
    of = Comparison("t", count, folder)
    ways = [
        of.way("index", "`sqluice.index`", lambda db: sqluice.index(db, "CREATE INDEX i ON t (e)"), there),
        of.way("create-index", "`sqlite_utils`, `create_index`", create_index, there),
    ]
    house.compare("An index on integers of these rows", ways)
    house.ratio("time of `create_index` to `sqluice.index`", "time", "create-index", "index")


def compare_frames(house: House, table: pyarrow.Table, folder: Path) -> None:
    frame, pandas_frame = polars.from_arrow(table), table.to_pandas()
    of = Comparison("lineitem", table.num_rows, folder)
    ways = [
        of.way("arrow", "`sqluice.write` of a `pyarrow.Table`", lambda db: sqluice.write(db, table, "lineitem")),
        of.way("polars", "`sqluice.write` of a `polars.DataFrame`", lambda db: sqluice.write(db, frame, "lineitem")),
        of.way("pandas", "`sqluice.write` of a `pandas.DataFrame`", lambda db: sqluice.write(db, pandas_frame, "lineitem")),
        of.way("adbc-sqluice", "`adbc_driver_sqluice`, `adbc_ingest` of the `pyarrow.Table`", lambda db: ingest(db, table, own_adbc)),
        of.way("adbc", "`adbc_driver_sqlite`, `adbc_ingest` of the `pyarrow.Table`", lambda db: ingest(db, table)),
        of.way("to-sql", "`pandas.to_sql`", lambda db: to_sql(db, pandas_frame)),
    ]
    house.compare("`lineitem` into a database", ways)
    for name, title in (("arrow", "`pyarrow.Table`"), ("polars", "`polars.DataFrame`"), ("pandas", "`pandas.DataFrame`")):
        claims = ("", "") if name == "pandas" else ("at least 5", "at least 20")
        house.ratio(f"time of `adbc_ingest` to `sqluice.write` of the {title}", "time", "adbc", name, claims[0])
        house.ratio(f"time of `pandas.to_sql` to `sqluice.write` of the {title}", "time", "to-sql", name, claims[1])
        house.ratio(f"MiB beyond the data of `sqluice.write` of the {title}", "memory", name, name, MEMORY_CLAIMED)
    house.ratio("time of `adbc_driver_sqlite` to `adbc_driver_sqluice`", "time", "adbc", "adbc-sqluice", "at least 4")


def compare_reads(house: House, table: pyarrow.Table, folder: Path) -> None:
    stored = folder / "lineitem.db"
    sqluice.write(stored, table, "lineitem")
    of = Comparison("lineitem", table.num_rows, folder)
    ways = [
        of.way("read", "`sqluice.read`", lambda _: pyarrow.table(sqluice.read(stored, table="lineitem"))),
        of.way("fetch", "ADBC, `fetch_arrow_table`", lambda _: fetch(stored)),
        of.way(
            "connectorx",
            "`connectorx.read_sql`",
            lambda _: connectorx.read_sql(f"sqlite://{stored}", "SELECT * FROM lineitem", return_type="arrow"),
        ),
    ]
    house.compare("`lineitem` into a `pyarrow.Table`", ways)
    for name, title in (("fetch", "`fetch_arrow_table`"), ("connectorx", "`connectorx.read_sql`")):
        house.ratio(f"time of {title} to `sqluice.read`", "time", name, "read", "at least 6")
    house.ratio("MiB beyond the data of `sqluice.read`", "memory", "read", "read", MEMORY_CLAIMED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="tuples [default: 1000000]")
    parser.add_argument("--dicts", type=int, default=200_000, help="[default: 200000]")
    parser.add_argument("--frame-rows", type=int, default=300_000, help="rows of to_sql with a method [default: 300000]")
    parser.add_argument("--scale", type=float, default=1.0, help="of TPC-H's lineitem [default: 1]")
    parser.add_argument("--rounds", type=int, default=3, help="[default: 3]")
    parser.add_argument("--dir", type=Path, help="where databases are made")
    args = parser.parse_args()
    house = House("python", args.rounds, ["rows", "seconds", "cores", "memory"])
    with tempfile.TemporaryDirectory(dir=args.dir) as name:
        folder = Path(name)
        compare_tuples(house, args.rows, folder)
        compare_dicts(house, args.dicts, folder)
        compare_methods(house, args.frame_rows, folder)
        table = lineitem(args.scale, folder)
        compare_frames(house, table, folder)
        compare_reads(house, table, folder)
    packages = (adbc_package, connectorx, pandas, polars, pyarrow, sqlalchemy)
    beside = [f"Python {sys.version.split()[0]}", *(f"{package.__name__} {package.__version__}" for package in packages)]
    about = {"tuples": args.rows, "dicts": args.dicts, "frame_rows": args.frame_rows, "scale": args.scale}
    house.finish(f"sqluice {sqluice.__version__}, the Python package (SQLite {sqluice.sqlite_version})", beside, about)


if __name__ == "__main__":
    main()
