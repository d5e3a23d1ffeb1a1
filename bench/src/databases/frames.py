"""Exports the table lineitem to a Parquet file with ADBC and pyarrow.

    versions           prints the versions of Python, pyarrow and ADBC
    export DB FILE     fetches lineitem and writes it; prints the seconds of both as JSON, without the start of Python and its imports
"""

import json
import platform
import sys
import time
from contextlib import closing

import adbc_driver_sqlite
import adbc_driver_sqlite.dbapi as adbc
import pyarrow
import pyarrow.parquet


def versions() -> None:
    adbc_version = adbc_driver_sqlite.__version__
    print(f"Python {platform.python_version()}, pyarrow {pyarrow.__version__}, adbc-driver-sqlite {adbc_version}")


def export(db: str, file: str) -> None:
    began = time.monotonic()
    with closing(adbc.connect(db)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM lineitem")
        table = cursor.fetch_arrow_table()
    fetched = time.monotonic()
    pyarrow.parquet.write_table(table, file)
    json.dump({"fetch": fetched - began, "write": time.monotonic() - fetched}, sys.stdout)


{"versions": versions, "export": export}[sys.argv[1]](*sys.argv[2:])
