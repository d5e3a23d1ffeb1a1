"""Writes XLSX workbooks with openpyxl, and loads them into SQLite databases with pandas.

    versions             prints the versions of Python, pandas and openpyxl
    book CSV ROWS FILE   writes the first ROWS rows of a CSV file as an XLSX file with one sheet, in typed cells (numbers, texts, dates)
    load FILE DB         loads an XLSX file into a new table; prints the seconds as JSON, without the start of Python and its imports
"""

import csv
import datetime
import itertools
import json
import platform
import sqlite3
import sys
import time
from contextlib import closing

import openpyxl
import pandas

INTEGERS = ["l_orderkey", "l_partkey", "l_suppkey", "l_linenumber"]
DECIMALS = ["l_quantity", "l_extendedprice", "l_discount", "l_tax"]
DATES = ["l_shipdate", "l_commitdate", "l_receiptdate"]

CELLS = {
    **dict.fromkeys(INTEGERS, int),
    **dict.fromkeys(DECIMALS, float),
    **dict.fromkeys(DATES, datetime.date.fromisoformat),
}


def versions() -> None:
    print(f"Python {platform.python_version()}, pandas {pandas.__version__}, openpyxl {openpyxl.__version__}")


def book(csv_file: str, rows: str, file: str) -> None:
    written = openpyxl.Workbook(write_only=True)
    sheet = written.create_sheet("lineitem")
    with open(csv_file, newline="") as lines:
        reader = csv.reader(lines)
        header = next(reader)
        sheet.append(header)
        cells = [CELLS.get(name, str) for name in header]
        for row in itertools.islice(reader, int(rows)):
            sheet.append([cell(value) for cell, value in zip(cells, row, strict=True)])
    written.save(file)


def load(file: str, db: str) -> None:
    began = time.monotonic()
    frame = pandas.read_excel(file)
    read = time.monotonic()
    with closing(sqlite3.connect(db)) as connection:
        frame.to_sql("lineitem", connection, index=False)
        connection.commit()
    json.dump({"read": read - began, "ingest": time.monotonic() - read}, sys.stdout)


if __name__ == "__main__":
    {"versions": versions, "book": book, "load": load}[sys.argv[1]](*sys.argv[2:])
