"""Converts values of types that SQLite lacks.

Adapters that were registered with `sqlite3` come first, and dates and times are stored as the adapters of `sqlite3` store them.
Dicts, lists, tuples and arrays are stored as JSON, by the rules that lists and structs of Arrow follow:

```text
NaN, infinities, NaT, pandas.NA    null                  bytes              their hexadecimal digits
Decimal                            a number              dates, times       the text that a column of them holds
timedelta                          microseconds          keys that are no str: the JSON of their value, as text
```
"""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import math
import sqlite3
import uuid
from typing import Any

Stored = str | int | float | bytes | None

_MICROSECOND = datetime.timedelta(microseconds=1)
_PROTOCOL = sqlite3.PrepareProtocol
_ADAPTERS: dict[tuple[type, type], Any] = sqlite3.adapters  # type: ignore[attr-defined, unused-ignore]


def adapt(value: Any) -> Stored:
    """Returns a value as one of the types that SQLite stores.

    Raises a TypeError if there is no conversion, and a ValueError if the conversion would change the value.
    """
    kind = type(value)
    adapter = _ADAPTERS.get((kind, _PROTOCOL))
    # The adapters of `sqlite3` itself are deprecated and warn, so the code below does their conversions.
    if adapter is not None and getattr(adapter, "__module__", "") != "sqlite3.dbapi2":
        return _plain(adapter(value))
    if isinstance(value, datetime.datetime):
        # pandas.NaT is a datetime without a text.
        return value.isoformat(" ") if value == value else None
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        if getattr(value, "nanoseconds", 0):
            raise _too_fine(value)
        return value // _MICROSECOND if value == value else None
    if isinstance(value, decimal.Decimal):
        return None if value.is_nan() else str(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    module = kind.__module__.partition(".")[0]
    if module == "numpy":
        return _of_numpy(value)
    if module == "pandas" and kind.__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, (dict, list, tuple)):
        return _json(value)
    conform = getattr(value, "__conform__", None)
    if conform is not None:
        return _plain(conform(_PROTOCOL))
    if isinstance(value, enum.Enum) and not isinstance(value, (str, int, float, bytes)):
        return adapt(value.value)
    return _plain(value)


def _plain(value: Any) -> Stored:
    """Converts a value whose type is a subclass of str, int, float or bytes to that base type, and other buffers of bytes to bytes."""
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


def _too_fine(value: Any) -> ValueError:
    return ValueError(f"{value!r} is no whole number of microseconds, which a duration is stored in")


def _of_numpy(value: Any) -> Stored:
    if value.ndim:
        return _json(value)
    if value.dtype.kind in "mM":
        if value != value:
            return None
        if value.dtype.kind == "m":
            micros = value.astype("timedelta64[us]")
            if micros != value:
                raise _too_fine(value)
            return int(micros.astype("int64"))
        if not 0 <= int(value.astype("datetime64[Y]").astype("int64")) + 1970 <= 9999:
            raise ValueError(f"{value!r} is beyond the years 0 to 9999")
        item = value.item()
        # NumPy gives an integer for times finer than microseconds, or before the year 1.
        if isinstance(item, int):
            return str(value).replace("T", " ").removesuffix("000")
        return adapt(item)
    return adapt(value.item()) if type(value.item()) is not type(value) else _plain(value)


class _NotPlain(Exception):
    """Raised for a value that the module `json` can't encode, or not by the rules of this module."""


def _json(value: Any) -> str:
    try:
        # Most values need no conversion, and `json.dumps` is fast.
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_no_plain)
    except (_NotPlain, TypeError, ValueError):
        return _encoded(value)


def _no_plain(value: Any) -> Any:
    raise _NotPlain


def _encoded(value: Any) -> str:
    """Returns the JSON of a value by the rules of this module, which `json.dumps` does not follow for all types."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)}: {_encoded(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_encoded, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, decimal.Decimal) and (type(value), _PROTOCOL) not in _ADAPTERS:
        return str(value) if value.is_finite() else "null"
    if type(value).__module__.partition(".")[0] == "numpy":
        if value.ndim:
            # For types without an exact counterpart in Python, `tolist` would return integers.
            return _encoded(list(value) if value.dtype.kind in "mMV" else value.tolist())
        if value.dtype.names is not None:
            return _encoded(list(value))
        if value.dtype.kind == "b":
            return "true" if value else "false"
    stored = adapt(value)
    if isinstance(stored, bytes):
        return f'"{stored.hex()}"'
    if isinstance(stored, float) and not math.isfinite(stored):
        return "null"
    return json.dumps(stored, ensure_ascii=False)


def _key(key: Any) -> str:
    text = _encoded(key)
    return text if text.startswith('"') else json.dumps(text, ensure_ascii=False)
