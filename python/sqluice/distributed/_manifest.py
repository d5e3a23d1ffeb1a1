"""What is in a set of databases: `manifest.json` beside them, which is written last.

```text
 {"format": "sqluice-set", "version": 1, "table": "t", "rows": 3, "bytes": 8192, "partition": {"by": "hash", ...} or null,
  "schema": ["CREATE TABLE ...", "CREATE INDEX ..."],
  "databases": [{"file": "t-00000.db", "rows": 3, "bytes": 8192, "checksum": "...", "partition": 0, "key": {"column": "id", "min": 1, "max": 9}}],
  "attach": ["ATTACH 't-00000.db' AS t_00000", ...],
  "view": "CREATE TEMP VIEW t AS SELECT * FROM t_00000.t UNION ALL ..."}
```

SQLite attaches ten databases at a time, and with another setting at most 125.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from .._errors import InputError
from .._write import quoted
from . import _files
from ._partition import Partition

NAME = "manifest.json"


@dataclass(frozen=True, slots=True)
class Member:
    """A database of a set."""

    file: str
    rows: int
    bytes: int
    checksum: str | None
    partition: int
    key: dict[str, Any] | None


def key_range(file: str, table: str, column: str | None) -> dict[str, Any] | None:
    """The least and the largest key of a table; None: it has none that JSON can hold."""
    if column is None:
        return None
    name = quoted(column)
    with closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as connection:
        least, most = connection.execute(f"SELECT min({name}), max({name}) FROM {quoted(table)}").fetchone()
    if isinstance(least, bytes) or isinstance(most, bytes):
        return None
    return {"column": column, "min": least, "max": most}


def statements(file: str, table: str) -> list[str]:
    """What declares a table and its indexes."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as connection:
        sql = "SELECT sql FROM sqlite_schema WHERE tbl_name = ? AND sql IS NOT NULL ORDER BY type DESC, rowid"
        return [row[0] for row in connection.execute(sql, [table])]


def manifest(table: str, schema: list[str], members: list[Member], partition: Partition | None) -> str:
    """The text of a manifest."""
    names = [member.file.removesuffix(".db").replace("-", "_") for member in members]
    sources = [f"SELECT * FROM {quoted(name)}.{quoted(table)}" for name in names]
    about = {
        "format": "sqluice-set",
        "version": 1,
        "table": table,
        "rows": sum(member.rows for member in members),
        "bytes": sum(member.bytes for member in members),
        "partition": None if partition is None else partition.about(),
        "schema": schema,
        "databases": [
            {
                "file": member.file,
                "rows": member.rows,
                "bytes": member.bytes,
                "checksum": member.checksum,
                "partition": member.partition,
                "key": member.key,
            }
            for member in members
        ],
        "attach": [
            "ATTACH '" + member.file.replace("'", "''") + f"' AS {quoted(name)}" for member, name in zip(members, names, strict=True)
        ],
        "view": f"CREATE TEMP VIEW {quoted(table)} AS " + " UNION ALL ".join(sources),
    }
    return json.dumps(about, indent=2, ensure_ascii=False) + "\n"


def read_manifest(folder: str) -> dict[str, Any]:
    """The manifest of a set, by its path or URL."""
    text = _files.read_text(_files.join(folder, NAME))
    about = None if text is None else json.loads(text)
    if not isinstance(about, dict) or about.get("format") != "sqluice-set":
        raise InputError(f"{folder} is not a set of databases: it has no {NAME} of one")
    return about
