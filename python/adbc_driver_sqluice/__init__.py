"""The ADBC driver of sqluice for SQLite: low-level bindings. `adbc_driver_sqluice.dbapi` has the interface of DBAPI 2.0.

The driver is the compiled module of the package `sqluice`. It needs the package `adbc_driver_manager`.
"""

from __future__ import annotations

import enum
import importlib.util

import adbc_driver_manager
from sqluice import __version__

__all__ = ["StatementOptions", "__version__", "connect", "driver_path"]


class StatementOptions(enum.Enum):
    """Names of options of statements."""

    BATCH_ROWS = "adbc.sqlite.query.batch_rows"
    """The number of rows of a batch of a result, 1024 by default. The values of the first batch determine the types of the result."""
    BIND_BY_NAME = "adbc.statement.bind_by_name"
    """True if columns are bound to the parameters with their names."""


def driver_path() -> str:
    """Returns the path of the shared library with the driver."""
    found = importlib.util.find_spec("sqluice._sqluice")
    if found is None or found.origin is None:
        raise ImportError("the compiled module of sqluice is missing")
    return found.origin


def connect(uri: str | None = None) -> adbc_driver_manager.AdbcDatabase:
    """Opens a database: a path, `file:...`, `sqluice:///path` or `:memory:`. Without a URI it is a new one in memory, which its connections share."""
    options = {} if uri is None else {"uri": uri}
    return adbc_driver_manager.AdbcDatabase(driver=driver_path(), **options)
