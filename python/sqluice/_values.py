"""What becomes of values that SQLite does not know.

As with `sqlite3`: adapters that were registered there are asked first, and dates and times are stored as its own adapters store them.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import sqlite3
import uuid
from typing import Any

Stored = str | int | float | bytes | None

_MICROSECOND = datetime.timedelta(microseconds=1)
_PROTOCOL = sqlite3.PrepareProtocol
_ADAPTERS: dict[tuple[type, type], Any] = sqlite3.adapters  # type: ignore[attr-defined, unused-ignore]


def adapt(value: Any) -> Stored:
    """One of the values that SQLite knows.

    Raises TypeError where there is none.
    """
    kind = type(value)
    adapter = _ADAPTERS.get((kind, _PROTOCOL))
    # Those that sqlite3 itself brings warn that they will go; what they do is done here.
    if adapter is not None and getattr(adapter, "__module__", "") != "sqlite3.dbapi2":
        return _plain(adapter(value))
    if isinstance(value, datetime.datetime):
        # NaT is one, and has no text.
        return value.isoformat(" ") if value == value else None
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value // _MICROSECOND if value == value else None
    if isinstance(value, (decimal.Decimal, uuid.UUID)):
        return str(value)
    module = kind.__module__.partition(".")[0]
    if module == "numpy":
        return _of_numpy(value)
    if module == "pandas" and kind.__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, (dict, list, tuple)):
        return json.dumps(value, ensure_ascii=False, default=adapt)
    conform = getattr(value, "__conform__", None)
    if conform is not None:
        return _plain(conform(_PROTOCOL))
    if isinstance(value, enum.Enum) and not isinstance(value, (str, int, float, bytes)):
        return adapt(value.value)
    return _plain(value)


def _plain(value: Any) -> Stored:
    """What is a subclass of a type that SQLite knows becomes that."""
    if value is None or type(value) in (str, int, float, bytes):
        return value  # type: ignore[no-any-return]
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    name = type(value).__qualname__
    raise TypeError(f"a value of type {name} can't be stored: make it str, int, float or bytes")


def _of_numpy(value: Any) -> Stored:
    if value.ndim:
        return json.dumps(value.tolist(), ensure_ascii=False, default=adapt)
    if value.dtype.kind in "mM":
        if value != value:
            return None
        if value.dtype.kind == "m":
            return int(value.astype("timedelta64[us]").astype("int64"))
        if value.dtype.name.endswith("[ns]"):
            return str(value).replace("T", " ").removesuffix("000")
        return adapt(value.item())
    return adapt(value.item()) if type(value.item()) is not type(value) else _plain(value)
