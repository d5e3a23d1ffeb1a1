"""`sqluice.Writer`: several tables in one transaction."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import sqluice
from hypothesis import given
from test_rows import tables
from twin import query, sound, stored, twin


def test_batches_of_several_tables_are_stored_when_the_block_is_left(db: Path) -> None:
    with sqluice.Writer(db) as writer:
        writer.create_table("item", {"id": "INTEGER", "name": "TEXT"}, primary_key="id", index="name")
        writer.create_table("free")
        for start in range(9_000, -1, -1_000):
            assert writer.append([(n, f"item {n}") for n in range(start, start + 1_000)], "item") == 1_000
            writer.append(({"n": n, "x": n / 2} for n in range(100)), "free")
        writer.append([{"x": 1.5}])
        assert not db.exists()
    assert writer.report is not None and writer.report.rows == 11_001
    assert query(db, "SELECT * FROM item") == [(n, f"item {n}") for n in range(10_000)]
    assert query(db, "SELECT count(*), sum(n), sum(x) FROM free") == [(1_001, 49_500, 24_751.5)]
    assert sound(db) and os.listdir(db.parent) == [db.name]


@given(rows=tables(), more=tables())
def test_appended_rows_equal_those_of_executemany(db: Path, rows: list[tuple[Any, ...]], more: list[tuple[Any, ...]]) -> None:
    width = min(len(rows[0]), len(more[0]))
    both = [row[:width] for row in rows + more]
    with sqluice.Writer(db, overwrite=True) as writer:
        writer.create_table("t")
        writer.append(iter(both[: len(rows)]), columns=[f"c{number}" for number in range(width)])
        writer.append(both[len(rows) :])
    assert stored(db) == twin(db, both)


def test_an_exception_in_the_block_of_a_writer_leaves_the_database_unchanged(db: Path) -> None:
    sqluice.write(db, [(1,)], "old", columns=["a"])
    before = db.read_bytes()
    with pytest.raises(ZeroDivisionError), sqluice.Writer(db) as writer:
        writer.append([(1,)], "t", columns=["a"])
        raise ZeroDivisionError
    with pytest.raises(sqluice.InputError), sqluice.Writer(db) as writer:
        writer.append([(object(),)], "t", columns=["a"])
    with pytest.raises(sqluice.UsageError, match="discarded"), sqluice.Writer(db) as writer:
        with pytest.raises(sqluice.InputError):
            writer.append([(1,), (1, 2)], "t", columns=["a"])
    assert db.read_bytes() == before and os.listdir(db.parent) == [db.name]


def test_a_writer_adds_rows_to_existing_tables_and_creates_missing_ones(db: Path) -> None:
    sqluice.write(db, [(1, "a")], "old", columns=["id", "s"], primary_key="id")
    with sqluice.Writer(db, if_exists="append") as writer:
        writer.append([(2, "b")], "old")
        writer.append([{"n": 1}], "new")
    assert query(db, "SELECT * FROM old") == [(1, "a"), (2, "b")]
    assert query(db, "SELECT * FROM new") == [(1,)]
    with pytest.raises(sqluice.TargetError), sqluice.Writer(db) as writer:
        writer.append([(2, "b")], "old")


def test_a_table_of_a_writer_takes_arrow_data_or_rows_but_not_both(db: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = pa.table({"id": [3, 1, 2], "s": pa.array(["c", "a", "b"]).dictionary_encode()})
    with sqluice.Writer(db) as writer:
        writer.create_table("t", primary_key="id")
        writer.append(table)
        writer.append(table.to_batches()[0].set_column(0, "id", pa.array([6, 5, 4])))
    assert query(db, "SELECT * FROM t") == [(1, "a"), (2, "b"), (3, "c"), (4, "b"), (5, "a"), (6, "c")]
    with pytest.raises(sqluice.UsageError, match="not both"), sqluice.Writer(db.with_suffix(".2")) as writer:
        writer.append(table, "t")
        writer.append([(1, "a")], "t", columns=["id", "s"])


def test_wrong_uses_of_a_writer_are_refused(db: Path) -> None:
    with sqluice.Writer(db) as writer:
        with pytest.raises(sqluice.UsageError, match="no table"):
            writer.append([(1,)], columns=["a"])
        writer.create_table("t", {"a": "TEXT"})
        with pytest.raises(sqluice.UsageError, match="declared already"):
            writer.create_table("t")
    assert query(db, "SELECT count(*) FROM t") == [(0,)]
    with pytest.raises(sqluice.UsageError, match="committed"):
        writer.append([(1,)])
