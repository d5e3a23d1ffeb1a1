"""Writes Parquet files with pyarrow, and loads them into SQLite databases with ADBC.

    versions           prints the versions of Python, pyarrow and ADBC
    parquet CSV FILE   converts a CSV file to a Parquet file; dates are text
    ingest FILE DB     loads a Parquet file into a new table; prints the seconds as JSON, without the start of Python and its imports
"""

import json
import platform
import sys
import time
from contextlib import closing

import adbc_driver_sqlite
import adbc_driver_sqlite.dbapi as adbc
import pyarrow
import pyarrow.csv
import pyarrow.parquet

DATES = ["l_shipdate", "l_commitdate", "l_receiptdate"]


def versions() -> None:
    adbc_version = adbc_driver_sqlite.__version__
    print(f"Python {platform.python_version()}, pyarrow {pyarrow.__version__}, adbc-driver-sqlite {adbc_version}")


def parquet(csv: str, file: str) -> None:
    options = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(DATES, pyarrow.string()))
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(csv, convert_options=options), file)


def ingest(file: str, db: str) -> None:
    began = time.monotonic()
    table = pyarrow.parquet.read_table(file)
    read = time.monotonic()
    with closing(adbc.connect(db)) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("lineitem", table, mode="create")
        connection.commit()
    json.dump({"read": read - began, "ingest": time.monotonic() - read}, sys.stdout)


if __name__ == "__main__":
    {"versions": versions, "parquet": parquet, "ingest": ingest}[sys.argv[1]](*sys.argv[2:])
