"""Loads a CSV file into a SQLite database with DuckDB and its extension for SQLite, with a filter and computed columns.

    versions                    prints the versions of Python and DuckDB
    select CSV DB COLUMNS ROWS  writes the rows for which ROWS is true, with COLUMNS, to a new table; prints the seconds as JSON, without the
                                start of Python and its imports
"""

import glob
import json
import platform
import sys
import time

import duckdb
import duckdb_ext

DATES = ["l_shipdate", "l_commitdate", "l_receiptdate"]


def connect() -> duckdb.DuckDBPyConnection:
    """Connects, with the SQLite extension of the package `duckdb-ext-sqlite`: a downloaded extension would change its version over time."""
    found = [file for path in duckdb_ext.__path__ for file in glob.glob(f"{path}/**/sqlite_scanner.duckdb_extension", recursive=True)]
    connection = duckdb.connect()
    connection.load_extension(found[0])
    # A progress bar would be printed between the numbers.
    connection.execute("SET enable_progress_bar = false")
    return connection


def versions() -> None:
    connect()
    print(f"Python {platform.python_version()}, DuckDB {duckdb.__version__} with its extension for SQLite")


def select(csv: str, db: str, columns: str, rows: str) -> None:
    connection = connect()
    quoted = [name.replace("'", "''") for name in (csv, db)]
    began = time.monotonic()
    connection.execute(f"ATTACH '{quoted[1]}' AS target (TYPE sqlite)")
    # Dates are text, as in sqluice's table.
    types = ", ".join(f"'{date}': 'VARCHAR'" for date in DATES)
    source = f"read_csv('{quoted[0]}', types = {{{types}}})"
    connection.execute(f"CREATE TABLE target.lineitem AS SELECT {columns} FROM {source} WHERE {rows}")
    connection.execute("DETACH target")
    json.dump({"read": 0.0, "ingest": time.monotonic() - began}, sys.stdout)


if __name__ == "__main__":
    {"versions": versions, "select": select}[sys.argv[1]](*sys.argv[2:])
