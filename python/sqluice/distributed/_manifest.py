"""The manifest of a set of databases: `manifest.json` beside them, which lists them and is written last.

```text
 {"format": "sqluice-set", "version": 1, "table": "t", "rows": 3, "bytes": 8192, "partition": {"by": "hash", ...} or null,
  "schema": ["CREATE TABLE ...", "CREATE INDEX ..."],
  "databases": [{"file": "t-00000.db", "rows": 3, "bytes": 8192, "checksum": "...", "partition": 0, "key": {"column": "id", "min": 1, "max": 9}}],
  "attach": ["ATTACH 't-00000.db' AS t_00000", ...],
  "view": "CREATE TEMP VIEW t AS SELECT * FROM t_00000.t UNION ALL ..."}
```

SQLite attaches at most 10 databases at a time, or up to 125 if it is compiled for that.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from .._arguments import check_arguments
from .._errors import InputError
from .._write import Path, quoted
from . import _files, _replacing
from ._partition import Partition

NAME = "manifest.json"

_WAIT_SECONDS = 2.0
_STEP_SECONDS = 0.02
"""The time that a reader waits for a set that another job replaces meanwhile, and the time between two tries."""


def member_name(table: str, number: int, replacing: str | None) -> str:
    """Returns the file name of a database of a set. `replacing`: the job, if it replaces a set; it is part of the name, so that the names differ from
    the old ones."""
    of_job = "" if replacing is None else f"-{replacing}"
    return f"{_plain(table)}-{number:05}{of_job}.db"


def job_of(file: str, table: str) -> str | None:
    """Returns the job in the file name of a database of a set; empty if it has none; None if the file is no database of a set of this table."""
    found = re.fullmatch(rf"{re.escape(_plain(table))}-\d{{5,}}(?:-([0-9a-f]+))?\.db", file)
    return None if found is None else found[1] or ""


def _plain(table: str) -> str:
    """Returns a table name with characters that are no letters or digits replaced by _, for file names and schema names."""
    return "".join(character if character.isalnum() or character in "_" else "_" for character in table)


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
    """Returns the smallest and the largest key of a table; None if it has no key, or keys that are blobs, which JSON can't hold."""
    if column is None:
        return None
    name = quoted(column)
    with closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as connection:
        least, most = connection.execute(f"SELECT min({name}), max({name}) FROM {quoted(table)}").fetchone()
    if isinstance(least, bytes) or isinstance(most, bytes):
        return None
    return {"column": column, "min": least, "max": most}


def statements(file: str, table: str) -> list[str]:
    """Returns the statements that declare a table and its indexes."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as connection:
        sql = "SELECT sql FROM sqlite_schema WHERE tbl_name = ? AND sql IS NOT NULL ORDER BY type DESC, rowid"
        return [row[0] for row in connection.execute(sql, [table])]


def manifest(table: str, schema: list[str], members: list[Member], partition: Partition | None) -> str:
    """Returns the text of a manifest."""
    names = [f"{_plain(table)}_{number:05}" for number in range(len(members))]
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


def read_manifest(folder: Path) -> dict[str, Any]:
    """Returns the manifest of a set at a path or URL. If a job that replaced the set was killed halfway, the old set is restored first."""
    check_arguments(read_manifest, locals())
    folder = os.fspath(folder)
    text = _files.read_text(_files.join(folder, NAME))
    if text is None and _replacing.is_under_way(folder):
        ends = time.monotonic() + _WAIT_SECONDS
        while text is None and time.monotonic() < ends:
            _replacing.restore(folder)
            text = _files.read_text(_files.join(folder, NAME))
            time.sleep(0 if text else _STEP_SECONDS)
    try:
        about = None if text is None else json.loads(text)
    except ValueError:
        about = None
    if not isinstance(about, dict) or about.get("format") != "sqluice-set":
        raise InputError(f"{folder} is not a set of databases: it has no {NAME} of one")
    return about
