"""Compares sqluice's Python functions with other packages, in alternating rounds: rows and frames into a new database, and tables back.

All packages have their default durability. The rows that each has stored or read are compared before its time is recorded. The memory is
the peak memory of the process, less its memory before, and less the size of the table that was read.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

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

MIB = 1 << 20


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


class Way:
    """A way to fill a database, to change one that `prepare` creates, or to read one."""

    def __init__(
        self, name: str, run: Callable[[Path], object], rounds: int | None = None, prepare: Callable[[Path], object] | None = None
    ) -> None:
        self.name, self.run, self.rounds, self.prepare = name, run, rounds, prepare
        self.seconds: list[float] = []
        self.memory: list[int] = []

    def lap(self, db: Path) -> object:
        if self.prepare is not None:
            self.prepare(db)
        Path("/proc/self/clear_refs").write_text("5")
        before = memory("VmRSS")
        began = time.monotonic()
        result = self.run(db)
        self.seconds.append(time.monotonic() - began)
        of_result = result.nbytes if isinstance(result, pyarrow.Table) else 0
        self.memory.append(memory("VmHWM") - before - of_result)
        return result


# The maximum memory of sqluice beyond the data.
MEMORY_CLAIMED = 200 * MIB

# Claims: the name of the other way, the name of sqluice's way, and the minimum ratio of their times.
Claims = list[tuple[str, str, float]]


def verdict(met: bool) -> str:
    return "met" if met else "short"


def compare(title: str, table: str, ways: list[Way], rounds: int, rows: int, folder: Path, claims: Claims | None = None) -> None:
    print(f"\n{title}: {rows:,} rows", flush=True)
    wanted: list[Any] | None = None
    for lap in range(rounds):
        # Every second round runs in reverse order, so that no way always follows the same other one.
        for way in ways if lap % 2 == 0 else reversed(ways):
            if way.rounds is not None and lap >= way.rounds:
                continue
            db = folder / "lap.db"
            result = way.lap(db)
            found = digest_of(result) if isinstance(result, pyarrow.Table) else digest(db, table)
            del result
            if wanted is None:
                wanted = found
            if found != wanted:
                raise SystemExit(f"{way.name} has something else:\n{found}\n{wanted}")
            db.unlink(missing_ok=True)
    ours = [way for way in ways if way.name.startswith("sqluice")]
    for way in ways:
        seconds = f"{statistics.median(way.seconds):8.2f} s ({min(way.seconds):.2f}..{max(way.seconds):.2f})"
        claim = f", at most {MEMORY_CLAIMED // MIB}: {verdict(max(way.memory) <= MEMORY_CLAIMED)}" if way in ours else ""
        print(f"  {way.name:36} {seconds}  {max(way.memory) // MIB:5} MiB beyond the data{claim}", flush=True)
    for way in (way for way in ways if way not in ours):
        for own in ours:
            ratios = [theirs / mine for theirs, mine in zip(way.seconds, own.seconds, strict=False)]
            ratio = f"{statistics.median(ratios):6.2f} ({min(ratios):.2f}..{max(ratios):.2f})"
            least = next((least for theirs, ours, least in claims or [] if (theirs, ours) == (way.name, own.name)), None)
            claim = "" if least is None else f", at least {least:g}: {verdict(statistics.median(ratios) >= least)}"
            print(f"  time of {way.name} to {own.name}: {ratio}{claim}", flush=True)


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


def compare_methods(rows: int, rounds: int, folder: Path) -> None:
    """Compares pandas' `to_sql` with sqluice's method, including the start of its child process, and without the method."""
    numbers = range(rows)
    frame = pandas.DataFrame({"a": numbers, "b": [f"name {n}" for n in numbers], "c": [n / 8 for n in numbers], "d": "a common word"})
    for through, write, least in (
        ("SQLAlchemy", to_sql_by_engine, 8.0),
        ("sqlite3", lambda db, frame, method=None: to_sql(db, frame, "t", method), 4.0),
    ):
        ways = [
            Way(f"sqluice.pandas_method, {through}", lambda db, write=write: write(db, frame, method=sqluice.pandas_method)),
            Way(f"pandas.to_sql, {through}", lambda db, write=write: write(db, frame)),
        ]
        claims = [(ways[1].name, ways[0].name, least)]
        compare(f"to_sql through {through}", "t", ways, rounds, rows, folder, claims)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="tuples [default: 1000000]")
    parser.add_argument("--dicts", type=int, default=200_000, help="[default: 200000]")
    parser.add_argument("--frame-rows", type=int, default=300_000, help="rows of to_sql with a method [default: 300000]")
    parser.add_argument("--scale", type=float, default=1.0, help="of TPC-H's lineitem [default: 1]")
    parser.add_argument("--rounds", type=int, default=3, help="[default: 3]")
    parser.add_argument("--dir", type=Path, help="where databases are made")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.dir) as name:
        folder = Path(name)
        names = ["a", "b", "c", "d", "e"]
        columns = "a INTEGER, b TEXT, c REAL, d TEXT, e INTEGER"
        rows = tuples(args.rows)
        ways = [
            Way("sqluice.write, a list", lambda db: sqluice.write(db, rows, "t", columns=names)),
            Way("sqluice.write, a generator", lambda db: sqluice.write(db, (row for row in rows), "t", columns=names)),
            Way("sqlite3 executemany", lambda db: executemany(db, columns, rows, 5)),
        ]
        claims = [("sqlite3 executemany", way.name, 1.0) for way in ways[:2]]
        compare("tuples", "t", ways, args.rounds, args.rows, folder, claims)
        del rows
        some, others = dicts(args.dicts), dicts(args.dicts, 3)

        def there(db: Path) -> None:
            sqluice.write(db, some, "t", primary_key="id")

        ways = [
            Way("sqluice.write, dicts", there),
            Way("sqlite_utils insert_all", lambda db: insert_all(db, some)),
        ]
        compare("dicts", "t", ways, args.rounds, args.dicts, folder)
        ways = [
            Way("sqluice.write, upsert", lambda db: sqluice.write(db, others, "t", if_exists="upsert"), prepare=there),
            Way("sqlite_utils upsert_all", lambda db: insert_all(db, others, upsert=True), prepare=there),
        ]
        compare("dicts with keys that are there", "t", ways, args.rounds, args.dicts, folder)
        ways = [
            Way("sqluice.index", lambda db: sqluice.index(db, "CREATE INDEX i ON t (e)"), prepare=there),
            Way("sqlite_utils create_index", create_index, prepare=there),
        ]
        compare("an index on them", "t", ways, args.rounds, args.dicts, folder)
        del some, others
        compare_methods(args.frame_rows, args.rounds, folder)
        table = lineitem(args.scale, folder)
        frame = polars.from_arrow(table)
        count = table.num_rows
        pandas_frame = table.to_pandas()
        ways = [
            Way("sqluice.write, pyarrow.Table", lambda db: sqluice.write(db, table, "lineitem")),
            Way("sqluice.write, polars.DataFrame", lambda db: sqluice.write(db, frame, "lineitem")),
            Way("sqluice.write, pandas.DataFrame", lambda db: sqluice.write(db, pandas_frame, "lineitem")),
            Way("sqluice's ADBC driver, pyarrow.Table", lambda db: ingest(db, table, own_adbc)),
            Way("adbc_ingest, pyarrow.Table", lambda db: ingest(db, table)),
            Way("pandas.to_sql", lambda db: to_sql(db, pandas_frame), rounds=1),
        ]
        claims = [(beside, way.name, least) for way in ways[:2] for beside, least in (("adbc_ingest, pyarrow.Table", 5), ("pandas.to_sql", 20))]
        compare("lineitem", "lineitem", ways, args.rounds, count, folder, claims)
        del pandas_frame, frame, ways
        stored = folder / "lineitem.db"
        sqluice.write(stored, table, "lineitem")
        del table
        ways = [
            Way("sqluice.read", lambda _: pyarrow.table(sqluice.read(stored, table="lineitem"))),
            Way("ADBC fetch_arrow_table", lambda _: fetch(stored)),
            Way("connectorx.read_sql", lambda _: connectorx.read_sql(f"sqlite://{stored}", "SELECT * FROM lineitem", return_type="arrow")),
        ]
        claims = [(way.name, "sqluice.read", 6.0) for way in ways[1:]]
        compare("lineitem, read into a pyarrow.Table", "lineitem", ways, args.rounds, count, folder, claims)


if __name__ == "__main__":
    main()
