"""The program with which bench/load measures pyarrow and ADBC stores the rows of the CSV file."""

from __future__ import annotations

import csv
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

FRAMES = Path(__file__).parents[2] / "bench/src/load/frames.py"

COLUMNS = {
    "l_orderkey": int,
    "l_partkey": int,
    "l_suppkey": int,
    "l_linenumber": int,
    "l_quantity": int,
    "l_extendedprice": float,
    "l_discount": float,
    "l_tax": float,
    "l_returnflag": str,
    "l_linestatus": str,
    "l_shipdate": str,
    "l_commitdate": str,
    "l_receiptdate": str,
    "l_shipinstruct": str,
    "l_shipmode": str,
    "l_comment": str,
}


def frames(*arguments: object) -> str:
    command = [sys.executable, "-c", FRAMES.read_text(), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def line(row: int) -> list[object]:
    numbers = [row // 4, row * 7, row * 3, row % 4, row % 50 + 1, f"{row * 1.25:.2f}", f"0.{row % 11:02}", "0.10"]
    dates = [f"{1992 + row % 7}-0{row % 9 + 1}-1{row % 10}" for row in (row, row + 1, row + 2)]
    return [*numbers, "N", "O", *dates, "DELIVER IN PERSON", "AIR", f"furiously, {row} é"]


def test_the_rows_of_a_csv_file_go_through_parquet_into_a_table(tmp_path: Path) -> None:
    source, file, db = (tmp_path / name for name in ("lineitem.csv", "lineitem.parquet", "lineitem.db"))
    rows = [line(row) for row in range(5_000)]
    with source.open("w", newline="") as out:
        csv.writer(out).writerows([list(COLUMNS), *rows])
    frames("parquet", source, file)
    seconds = json.loads(frames("ingest", file, db))
    assert set(seconds) == {"read", "ingest"} and all(second > 0 for second in seconds.values())
    with closing(sqlite3.connect(db)) as connection:
        stored = connection.execute("SELECT * FROM lineitem ORDER BY rowid")
        assert [name for name, *_ in stored.description] == list(COLUMNS)
        expected = [tuple(of(value) for of, value in zip(COLUMNS.values(), row)) for row in rows]
        found = stored.fetchall()
        assert found == expected
        assert {tuple(map(type, row)) for row in found} == {tuple(COLUMNS.values())}


def test_versions_of_pyarrow_and_the_adbc_driver_are_printed_in_one_line() -> None:
    said = frames("versions")
    assert said.count("\n") == 1 and "pyarrow " in said and "adbc-driver-sqlite " in said
