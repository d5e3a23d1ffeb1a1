"""DBAPI 2.0 for the ADBC driver of sqluice.

    >>> import adbc_driver_sqluice.dbapi, pyarrow
    >>> with adbc_driver_sqluice.dbapi.connect("towns.db") as connection, connection.cursor() as cursor:
    ...     rows = cursor.adbc_ingest("town", pyarrow.table({"name": ["Oslo", "Rome"]}))
    ...     connection.commit()
    >>> rows
    2
"""

from __future__ import annotations

from typing import Any

import adbc_driver_manager
from adbc_driver_manager.dbapi import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Connection,
    Cursor,
    DatabaseError,
    DataError,
    Date,
    DateFromTicks,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
    Warning,
    apilevel,
    threadsafety,
)

from . import connect as _open

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]

paramstyle = "qmark"


def connect(uri: str | None = None, **settings: Any) -> Connection:
    """Connects to a database. settings: those of `adbc_driver_manager.dbapi.Connection`, such as `autocommit`."""
    database = _open(uri)
    try:
        connection = adbc_driver_manager.AdbcConnection(database)
        try:
            return Connection(database, connection, **settings)
        except BaseException:
            connection.close()
            raise
    except BaseException:
        database.close()
        raise
