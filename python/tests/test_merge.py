"""`sqluice.merge`: conflicts, new numbers, references, errors and Ctrl-C."""

from __future__ import annotations

import inspect
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
import sqluice
from effort import tries
from twin import query, sound

SCHEMA = """CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer REFERENCES customer, day TEXT);
CREATE INDEX by_day ON orders (day);
CREATE VIEW sale AS SELECT name, day FROM orders JOIN customer ON customer.id = customer;
"""


def make(path: Path, first: int, rows: int = 1_000) -> Path:
    """Makes a shop whose keys begin at `first`."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript(SCHEMA)
        ids = range(first, first + rows)
        db.executemany("INSERT INTO customer VALUES (?, ?)", ((n, f"{path.stem} {n}") for n in ids))
        db.executemany("INSERT INTO orders VALUES (?, ?, ?)", ((n, n, f"day {n % 365}") for n in ids))
        db.commit()
    return path


def count(path: Path) -> list[tuple[int, ...]]:
    return query(path, "SELECT (SELECT count(*) FROM customer), (SELECT count(*) FROM orders), (SELECT count(*) FROM sale)")


def test_two_databases_are_merged_into_a_new_one(tmp_path: Path) -> None:
    one, two = make(tmp_path / "one.db", 1), make(tmp_path / "two.db", 1_001)
    target = tmp_path / "all.db"
    reported: list[sqluice.Progress] = []
    report = sqluice.merge(target, [one, two], progress=reported.append)
    assert count(target) == [(2_000, 2_000, 2_000)] and sound(target)
    assert (report.rows, report.bytes, report.left_out_rows) == (4_000, target.stat().st_size, 0)
    assert [(source.path, source.bytes) for source in report.sources] == [(str(path), path.stat().st_size) for path in (one, two)]
    assert [(table.name, table.rows, table.sources, table.method) for table in report.tables] == [
        ("customer", 2_000, 2, "concatenated"),
        ("orders", 2_000, 2, "concatenated"),
    ]
    assert [(index.name, index.entries, index.sorted) for index in report.indexes] == [("by_day", 2_000, False)]
    assert (report.others, report.left_out, report.replaced, report.before) == (1, (), None, None)
    assert report.checksum == sqluice.check(target).checksum
    assert repr(report).startswith("<MergeReport: 4,000 rows of 2 databases to ")
    assert reported


def test_sources_of_a_merge_are_a_path_a_pattern_or_several(tmp_path: Path) -> None:
    make(tmp_path / "shard1.db", 1), make(tmp_path / "shard2.db", 1_001)
    for number, sources in enumerate((tmp_path / "shard*.db", str(tmp_path / "shard*.db"), [tmp_path / "shard1.db", tmp_path / "shard[2-9].db"])):
        target = tmp_path / f"all{number}.db"
        assert sqluice.merge(target, sources).rows == 4_000
    assert sqluice.merge(tmp_path / "one.db", tmp_path / "shard1.db").rows == 2_000
    with pytest.raises(sqluice.InputError, match="no file matches"):
        sqluice.merge(tmp_path / "none.db", tmp_path / "part*.db")
    with pytest.raises(sqluice.UsageError, match="no database"):
        sqluice.merge(tmp_path / "none.db", [])
    assert not (tmp_path / "none.db").exists()


def test_an_existing_target_is_added_to_or_replaced(tmp_path: Path) -> None:
    one, two = make(tmp_path / "one.db", 1), make(tmp_path / "two.db", 1_001)
    report = sqluice.merge(one, two)
    assert count(one) == [(2_000, 2_000, 2_000)] and sound(one)
    assert report.before is not None and report.before.rows == 2_000
    report = sqluice.merge(one, two, overwrite=True, compact=True)
    assert count(one) == [(1_000, 1_000, 1_000)]
    assert report.replaced is not None and report.replaced.rows == 4_000 and report.before is None
    with pytest.raises(sqluice.UsageError, match="is the target") as raised:
        sqluice.merge(one, [one, two], overwrite=True)
    assert raised.value.hint is not None and "overwrite=True" in raised.value.hint
    assert sorted(os.listdir(tmp_path)) == ["one.db", "two.db"]


def test_repeated_keys_are_refused_left_out_or_renumbered(tmp_path: Path) -> None:
    one, two = make(tmp_path / "one.db", 1), make(tmp_path / "two.db", 501)
    target = tmp_path / "all.db"
    with pytest.raises(sqluice.InputError) as raised:
        sqluice.merge(target, [one, two])
    assert raised.value.hint is not None and 'on_conflict="ignore"' in raised.value.hint
    assert not target.exists()
    for how, name in (("ignore", "one 600"), ("replace", "two 600")):
        report = sqluice.merge(target, [one, two], on_conflict=how, overwrite=True)  # type: ignore[arg-type]
        assert count(target) == [(1_500, 1_500, 1_500)]
        assert report.left_out_rows == 1_000
        assert query(target, "SELECT name FROM customer WHERE id = 600") == [(name,)]
    with pytest.raises(sqluice.UsageError, match="orders.customer refers to table customer") as refused:
        sqluice.merge(target, [one, two], renumber=["customer", "orders"], overwrite=True)
    assert refused.value.hint == "let it follow: rewrite_references=True"
    report = sqluice.merge(target, [one, two], renumber=["customer", "orders"], rewrite_references=True, overwrite=True)
    assert count(target) == [(2_000, 2_000, 2_000)] and sound(target)
    assert query(target, "SELECT count(*) FROM orders JOIN customer c ON c.id = customer WHERE c.name LIKE 'two %'") == [(1_000,)]
    assert [(one.source, one.added) for one in report.tables[0].renumbered] == [(str(two), 500)]
    assert report.tables[1].following == ("customer",)


def test_arguments_decide_if_a_column_follows_renumbered_keys(tmp_path: Path) -> None:
    one, two, target = tmp_path / "one.db", tmp_path / "two.db", tmp_path / "all.db"
    for path in (one, two):
        with closing(sqlite3.connect(path)) as db:
            db.executescript("CREATE TABLE places (id INTEGER PRIMARY KEY); CREATE TABLE visits (place_id INT); INSERT INTO places VALUES (1); INSERT INTO visits VALUES (1)")
    with pytest.raises(sqluice.UsageError, match="these columns seem to refer to it") as raised:
        sqluice.merge(target, [one, two], renumber="places")
    assert raised.value.hint == 'say for each column if it is a reference: reference="visits.place_id=places.id" or no_reference="visits.place_id"'
    assert sqluice.merge(target, [one, two], renumber="places", reference="visits.place_id=places.id").tables[1].following == ("place_id",)
    assert query(target, "SELECT place_id FROM visits") == [(1,), (2,)]
    assert sqluice.merge(target, [one, two], renumber="places", no_reference=["visits.place_id"], overwrite=True).tables[1].following == ()


def test_rows_without_their_parents_are_an_error_or_kept(tmp_path: Path) -> None:
    one, two, target = tmp_path / "one.db", tmp_path / "two.db", tmp_path / "all.db"
    for path, key in ((one, 1), (two, 2)):
        with closing(sqlite3.connect(path)) as db:
            db.executescript("CREATE TABLE c (id INTEGER PRIMARY KEY, mail UNIQUE); CREATE TABLE o (c REFERENCES c)")
            db.execute("INSERT INTO c VALUES (?, 'ann')", (key,))
            db.execute("INSERT INTO o VALUES (?)", (key,))
            db.commit()
    with pytest.raises(sqluice.InputError, match=r"1 row of o \(c\) to c") as raised:
        sqluice.merge(target, [one, two], on_conflict="ignore")
    assert raised.value.hint is not None and 'orphans="keep"' in raised.value.hint
    report = sqluice.merge(target, [one, two], on_conflict="ignore", orphans="keep")
    assert [(lost.table, lost.columns, lost.parent, lost.rows) for lost in report.orphans] == [("o", ("c",), "c", 1)]
    with pytest.raises(sqluice.UsageError, match="refuse or keep"):
        sqluice.merge(target, [one, two], orphans="drop")  # type: ignore[arg-type]


def test_arguments_of_merge_add_columns_name_the_source_and_leave_tables_out(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    with closing(sqlite3.connect(one)) as db:
        db.executescript("CREATE TABLE t (a); INSERT INTO t VALUES (1), (2); CREATE TABLE log (a); CREATE INDEX i ON t (a); ANALYZE")
    with closing(sqlite3.connect(two)) as db:
        db.executescript("CREATE TABLE t (a, b); INSERT INTO t VALUES (3, 4); CREATE INDEX i ON t (a)")
    target = tmp_path / "all.db"
    with pytest.raises(sqluice.InputError, match="declared differently") as raised:
        sqluice.merge(target, [one, two])
    assert raised.value.hint is not None and raised.value.hint.endswith("add_columns=True")
    report = sqluice.merge(
        target,
        [one, two],
        add_columns=True,
        source_column="origin",
        exclude_tables="log",
        analyze=True,
        threads=1,
        memory=64 << 20,
        temp_dir=tmp_path,
        busy_limit=60,
    )
    assert query(target, "SELECT a, b, origin FROM t ORDER BY a") == [(1, None, str(one)), (2, None, str(one)), (3, 4, str(two))]
    assert "table log" in report.left_out
    assert report.tables[0].method == "inserted" and report.tables[0].why is not None
    assert query(target, "SELECT count(*) FROM sqlite_stat1") == [(1,)]
    assert sqluice.merge(target, one, overwrite=True).left_out == ("statistics (sqlite_stat1)",)
    with closing(sqlite3.connect(two)) as db:
        db.executescript("DROP TABLE t; CREATE TABLE t (a); INSERT INTO t VALUES (1); CREATE INDEX i ON t (a)")
    with pytest.raises(sqluice.InputError):
        sqluice.merge(target, [one, two], keep_rowids=True, overwrite=True)


def test_wrong_arguments_of_a_merge_are_errors_that_leave_no_file(tmp_path: Path) -> None:
    one = make(tmp_path / "one.db", 1)
    target = tmp_path / "all.db"
    for args, said in (
        ({"on_conflict": "skip"}, "abort, ignore or replace"),
        ({"busy_limit": -1}, "busy_limit=-1 is out of range"),
        ({"threads": 0}, "`threads` must be at least 1"),
        ({"renumber": "custmer"}, "no database has a table custmer"),
        ({"exclude_tables": "order"}, "no database has a table order"),
    ):
        with pytest.raises(sqluice.UsageError, match=said):
            sqluice.merge(target, one, **args)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match=r"none\.db"):
        sqluice.merge(target, [one, tmp_path / "none.db"])
    assert os.listdir(tmp_path) == ["one.db"]


def test_merge_is_refused_during_a_transaction_on_a_source_or_the_target(tmp_path: Path) -> None:
    one, two = make(tmp_path / "one.db", 1), make(tmp_path / "two.db", 1_001)
    target = make(tmp_path / "all.db", 2_001)
    for held in (one, two, target):
        with closing(sqlite3.connect(held, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            with pytest.raises(sqluice.TargetError, match="in use|locked"):
                sqluice.merge(target, tmp_path / "[ot]*.db", busy_timeout=0.05)
            other.execute("CREATE TABLE late (a)")
            other.execute("COMMIT")
            other.execute("DROP TABLE late")
        assert sound(held)
    assert sqluice.merge(target, [one, two]).rows == 6_000


def test_only_target_and_sources_are_positional_arguments_of_merge() -> None:
    given = inspect.signature(sqluice.merge).parameters
    positional = [name for name, parameter in given.items() if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    assert positional == ["target", "sources"]
    terms = dict(sqluice._sqluice.setting_terms())
    for name in ("keep_rowids", "rewrite_references", "add_columns"):
        # The last terms are those of `write`, which has no parameters of a merge.
        *of_others, of_write, with_value = terms[name]
        assert of_others == [f"{name}=True"] * len(of_others) and of_write is with_value is None
    assert terms["renumber"][1] == 'renumber="A"'


INTERRUPTED = """
import signal, sys, sqluice
# A test run in the background would ignore SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)
print("ready", flush=True)
try:
    while True:
        sqluice.merge(sys.argv[1], sys.argv[2:], compact=True, overwrite=True)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_ends_a_merge_and_leaves_the_sources_sound(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    rows = tries(100_000, 200_000, 500_000)
    sqluice.generate(one, preset="user", rows=rows)
    with closing(sqlite3.connect(one)) as db:
        db.execute("VACUUM INTO ?", (str(two),))
    with closing(sqlite3.connect(two)) as db:
        db.execute("UPDATE user SET id = id + ?", (rows,))
        db.commit()
    target = tmp_path / "all.db"
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED, target, one, two], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(random.uniform(0, 0.3))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out == "interrupted\n", err
    assert set(os.listdir(tmp_path)) <= {"one.db", "two.db", "all.db"}
    assert sound(one) and sound(two)
