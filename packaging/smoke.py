"""Tests the installed package with the interpreter that runs this file. Needs no other package."""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import sqluice

assert "site-packages" in sqluice.__file__, sqluice.__file__

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "x.db")
    rows = [(n, f"row {n}", n / 4, None if n % 3 else b"\0") for n in range(5_000)]
    report = sqluice.write(path, rows, "t", columns=["id", "name", "number", "bytes"], primary_key="id", index=["name"])
    assert report.rows == len(rows), report
    assert sqluice.check(path).sound
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT * FROM t ORDER BY id").fetchall() == rows
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)

    # A table that is added to an existing database is written as pages, too.
    report = sqluice.write(path, ({"a": n} for n in range(1_000)), "more")
    assert report.tables[0].write_path == "pages", report

    try:
        sqluice.load(path, Path(folder, "missing.csv"))
    except FileNotFoundError as error:
        assert "missing.csv" in str(error), error
    else:
        raise AssertionError("a missing file was loaded")

print("smoke: it works on Python", ".".join(map(str, sys.version_info[:3])))
