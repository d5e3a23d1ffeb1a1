"""The declaration of new tables, and `if_exists` and `on_conflict` for existing ones."""

from __future__ import annotations

import itertools
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqluice
from hypothesis import given
from hypothesis import strategies as st
from twin import declared, query, sound


def run(db: Path, script: str) -> None:
    with closing(sqlite3.connect(db)) as connection:
        connection.executescript(script)


def content(db: Path, table: str = "t") -> list[tuple[Any, ...]]:
    return query(db, f"SELECT * FROM {table} ORDER BY 1, 2")


KEYED = [(2, "b"), (1, "a"), (3, "c")]


@pytest.mark.parametrize("make", [list, iter], ids=["list", "iterator"])
def test_an_integer_primary_key_is_the_rowid_whatever_the_order_of_rows(db: Path, make: Any) -> None:
    numbers = list(range(50_000))
    random.Random(1).shuffle(numbers)
    rows = [(number, str(number)) for number in numbers]
    sqluice.write(db, make(rows), "t", columns=["id", "s"], primary_key="id")
    assert query(db, "SELECT rowid, id, s FROM t") == [(n, n, str(n)) for n in range(50_000)]
    assert sound(db)


@pytest.mark.parametrize("make", [list, iter], ids=["list", "iterator"])
def test_null_as_an_integer_primary_key_becomes_the_next_rowid(db: Path, make: Any) -> None:
    rows = [(5, "a"), (None, "b"), (2, "c"), (None, "d")]
    sqluice.write(db, make(rows), "t", columns=["id", "s"], primary_key="id")
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, s)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        assert query(db, "SELECT * FROM t") == connection.execute("SELECT * FROM t").fetchall()


def test_keys_indexes_and_types_are_declared(db: Path) -> None:
    rows = [{"region": "n", "code": code, "price": 1, "note": None} for code in range(100)]
    sqluice.write(
        db, rows, "t", primary_key=["region", "code"], index=["price DESC", ["note", "code"]], unique="code", schema={"price": "REAL"}, strict=True, without_rowid=True
    )
    assert declared(db) == (
        'CREATE TABLE "t" (\n  "region" TEXT NOT NULL,\n  "code" INTEGER NOT NULL,\n  "price" REAL,\n  "note" ANY,\n'
        '  PRIMARY KEY ("region", "code")\n) STRICT, WITHOUT ROWID'
    )
    indexes = [sql for (sql,) in query(db, "SELECT sql FROM sqlite_schema WHERE type = 'index' ORDER BY name")]
    assert indexes == [
        'CREATE UNIQUE INDEX "idx_t_code" ON "t" ("code")',
        'CREATE INDEX "idx_t_note_code" ON "t" ("note", "code")',
        'CREATE INDEX "idx_t_price" ON "t" ("price" DESC)',
    ]
    assert sound(db)


@pytest.mark.parametrize("arguments", [{"primary_key": "z"}, {"index": "z"}, {"unique": [["a", "z"]]}, {"schema": {"z": "TEXT"}}])
def test_a_column_that_the_rows_do_not_have_is_refused(db: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(sqluice.UsageError, match="z"):
        sqluice.write(db, [(1, 2)], "t", columns=["a", "b"], **arguments)
    assert not db.exists()


@pytest.mark.parametrize("declaration", ["TEXT, c INT", "TEXT); CREATE TABLE u (a", "GENERATED ALWAYS AS (1)", "("])
def test_a_declared_type_with_further_sql_is_refused(db: Path, declaration: str) -> None:
    with pytest.raises(sqluice.UsageError):
        sqluice.write(db, [(1, 2)], "t", columns=["a", "b"], schema={"a": declaration})
    assert not db.exists()


def test_statements_declare_the_table_with_its_indexes_and_views(db: Path) -> None:
    schema = """CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL, length INT AS (length(name)), kind TEXT DEFAULT 'town');
                CREATE INDEX by_name ON t (name);
                CREATE VIEW v AS SELECT name FROM t;"""
    sqluice.write(db, [("Oslo", 1), ("Rome", 2)], "t", columns=["name", "id"], schema=schema)
    assert query(db, "SELECT * FROM t") == [(1, "Oslo", 4, "town"), (2, "Rome", 4, "town")]
    assert query(db, "SELECT * FROM v") == [("Oslo",), ("Rome",)]
    sqluice.write(db.with_suffix(".2"), [(None, "Oslo", "x")], "t", schema=schema)
    assert query(db.with_suffix(".2"), "SELECT * FROM t") == [(1, "Oslo", 4, "x")]
    with pytest.raises(sqluice.InputError) as raised:
        sqluice.write(db, [(1,)], "u", columns=["a"], schema="CREATE TABLE u (\n  a, a\n)")
    assert raised.value.file == "schema"


def test_a_write_into_an_existing_table_is_an_error_by_default(db: Path) -> None:
    sqluice.write(db, KEYED, "t", columns=["id", "s"])
    with pytest.raises(sqluice.TargetError, match="already has a table t") as raised:
        sqluice.write(db, [(9, "z")], "t")
    assert raised.value.hint is not None and "if_exists" in raised.value.hint
    assert query(db, "SELECT * FROM t") == KEYED


def test_a_second_table_goes_into_the_same_database(db: Path) -> None:
    sqluice.write(db, KEYED, "t", columns=["id", "s"])
    report = sqluice.write(db, [(n,) for n in range(10_000)], "u", columns=["a"], index="a")
    assert report.existing is not None
    assert (len(content(db, "t")), query(db, "SELECT sum(a) FROM u")) == (3, [(sum(range(10_000)),)])
    assert sound(db)


@pytest.mark.parametrize("rows", [3, 20_000])
@pytest.mark.parametrize("keyed", [False, True])
def test_append_adds_rows_whatever_their_order_and_number(db: Path, rows: int, keyed: bool) -> None:
    new = [(n, f"s{n}") for n in range(10, 10 + rows)]
    for make in (list, iter):
        sqluice.write(db, [(2, "b"), (5, "c")], "t", columns=["id", "s"], primary_key="id" if keyed else None, overwrite=True)
        sqluice.write(db, make(new[::-1]), "t", if_exists="append")
        assert content(db) == [(2, "b"), (5, "c"), *new]
        assert sound(db)


def test_append_matches_columns_by_name_and_gives_others_their_default(db: Path) -> None:
    run(db, "CREATE TABLE t (a, b DEFAULT 7, c, d DEFAULT (abs(-3)))")
    sqluice.write(db, [{"C": 1, "a": 2}], "t", if_exists="append")
    sqluice.write(db, [(4, 3)], "t", columns=["c", "a"], if_exists="append")
    assert query(db, "SELECT * FROM t") == [(2, 7, 1, 3), (3, 7, 4, 3)]
    with pytest.raises(sqluice.InputError, match="no column"):
        sqluice.write(db, [{"z": 1}], "t", if_exists="append")


def test_replace_gives_a_table_other_rows_and_keeps_its_indexes(db: Path) -> None:
    run(db, "CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT); CREATE INDEX i ON t (s); INSERT INTO t VALUES (1, 'old')")
    sqluice.write(db, [(7, "new")], "t", if_exists="replace")
    assert query(db, "SELECT * FROM t") == [(7, "new")]
    assert query(db, "SELECT name FROM sqlite_schema WHERE type = 'index'") == [("i",)]


@given(old=st.dictionaries(st.integers(0, 9), st.text("ab")), new=st.lists(st.tuples(st.integers(0, 9), st.text("ab"))), text=st.booleans())
def test_upsert_updates_the_given_columns_of_existing_rows_and_inserts_others(db: Path, old: dict[int, str], new: list[tuple[int, str]], text: bool) -> None:
    kind = "TEXT" if text else "INTEGER"
    db.unlink(missing_ok=True)
    run(db, f"CREATE TABLE t (id {kind} PRIMARY KEY, s TEXT, kept TEXT DEFAULT 'k')")
    with closing(sqlite3.connect(db)) as connection, connection:
        connection.executemany("INSERT INTO t VALUES (?, ?, 'mine')", old.items())
    sqluice.write(db, iter(new), "t", columns=["id", "s"], if_exists="upsert", primary_key="id")
    found = {int(key): (s, kept) for key, s, kept in query(db, "SELECT * FROM t")}
    wanted = {key: (s, "mine") for key, s in old.items()}
    for key, s in new:
        wanted[key] = (s, wanted.get(key, ("", "k"))[1])
    assert found == wanted


def test_upsert_uses_the_primary_key_of_the_table_and_creates_a_missing_table(db: Path) -> None:
    sqluice.write(db, KEYED, "t", columns=["id", "s"], primary_key="id", if_exists="upsert")
    sqluice.write(db, [(1, "changed"), (4, "d")], "t", if_exists="upsert")
    assert content(db) == [(1, "changed"), (2, "b"), (3, "c"), (4, "d")]
    with pytest.raises(sqluice.UsageError, match="no PRIMARY KEY or UNIQUE"):
        sqluice.write(db, [(1, "x")], "t", if_exists="upsert", primary_key="s")


@given(rows=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30), rule=st.sampled_from(["ignore", "replace"]))
def test_on_conflict_keeps_the_rows_that_insert_or_ignore_and_insert_or_replace_keep(db: Path, rows: list[tuple[int, int]], rule: Any) -> None:
    for make in (list, iter):
        sqluice.write(db, make(rows), "t", columns=["a", "b"], schema={"a": "INTEGER", "b": "INTEGER"}, primary_key="a", unique="b", on_conflict=rule, overwrite=True)
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.executescript("CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER UNIQUE)")
            connection.executemany(f"INSERT OR {rule} INTO t VALUES (?, ?)", rows)
            assert query(db, "SELECT * FROM t") == connection.execute("SELECT * FROM t").fetchall()


@pytest.mark.parametrize("make", [list, iter], ids=["list", "iterator"])
@pytest.mark.parametrize("arguments", [{"primary_key": "id"}, {"unique": "id"}, {"primary_key": "id", "without_rowid": True}])
def test_the_error_about_a_repeated_key_names_both_rows_or_the_rowid(db: Path, make: Any, arguments: dict[str, Any]) -> None:
    with pytest.raises(sqluice.InputError, match=r"UNIQUE constraint failed: t.id.*(rows 2 and 4|rowid 2 twice)"):
        sqluice.write(db, make([(1, "a"), (2, "b"), (3, "c"), (2, "d")]), "t", columns=["id", "s"], **arguments)
    assert not db.exists()


def test_a_value_that_the_table_refuses_is_reported_with_its_row(db: Path) -> None:
    schema = "CREATE TABLE t (a INTEGER NOT NULL, b TEXT) STRICT"
    rows = itertools.chain(((n, "x") for n in range(5_000)), [(None, "y")])
    with pytest.raises(sqluice.InputError, match="NOT NULL") as raised:
        sqluice.write(db, rows, "t", schema=schema)
    assert raised.value.row == 5_001
    with pytest.raises(sqluice.InputError, match="STRICT|INTEGER") as raised:
        sqluice.write(db, [(1, "x"), ("one", "x")], "t", schema=schema)
    assert raised.value.row == 2
    assert not db.exists()


def test_overwrite_replaces_the_whole_database_unless_the_write_fails(db: Path) -> None:
    sqluice.write(db, KEYED, "old", columns=["id", "s"])
    with pytest.raises(sqluice.InputError):
        sqluice.write(db, [(1,), (object(),)], "t", columns=["a"], overwrite=True)
    assert content(db, "old") == sorted(KEYED)
    sqluice.write(db, [(1,)], "t", columns=["a"], overwrite=True)
    assert query(db, "SELECT name FROM sqlite_schema") == [("t",)]


@pytest.mark.parametrize("arguments", [{"if_exists": "perhaps"}, {"on_conflict": "x"}, {"page_size": 1000}, {"busy_timeout": -1}, {"threads": 0}, {"memory": 1}, {"decimal": "x"}])
def test_an_invalid_argument_is_refused_and_no_file_is_created(db: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(sqluice.UsageError):
        sqluice.write(db, [(1,)], "t", columns=["a"], **arguments)
    assert not db.exists()


def test_the_same_rows_give_the_same_checksum_for_any_number_of_threads_as_list_or_iterator(db: Path, tmp_path: Path) -> None:
    rows = [(n % 1000, f"text {n}", n / 3) for n in range(100_000)]
    sums = set()
    for number, (threads, make) in enumerate(itertools.product([1, 2, 5], [list, iter])):
        report = sqluice.write(tmp_path / f"{number}.db", make(rows), "t", columns=["a", "b", "c"], index="a", threads=threads)
        sums.add(report.checksum)
    assert len(sums) == 1
