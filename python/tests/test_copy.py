"""`sqluice.copy`: content, settings, masks, errors and Ctrl-C."""

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
from typing import Any

import pytest
import sqluice
from effort import tries
from twin import query, sound


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            """CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE orders (id INTEGER PRIMARY KEY, customer REFERENCES customer, day TEXT);
            CREATE INDEX by_day ON orders (day);
            CREATE VIEW sale AS SELECT name, day FROM orders JOIN customer ON customer.id = customer;
            CREATE TABLE churn (a);
            PRAGMA user_version = 7"""
        )
        db.execute("INSERT INTO customer VALUES (1, 'Ann'), (2, 'Bob')")
        db.executemany("INSERT INTO orders VALUES (?, ?, ?)", ((n, n % 2 + 1, f"day {n % 365}") for n in range(1, 5_001)))
        db.executemany("INSERT INTO churn VALUES (?)", (("x" * 500,) for _ in range(5_000)))
        db.execute("DROP TABLE churn")
        db.commit()
    return path


def content(path: Path) -> list[Any]:
    statements = ("SELECT * FROM customer", "SELECT * FROM orders", "SELECT * FROM sale ORDER BY 1, 2", "SELECT type, name, sql FROM sqlite_schema")
    return [query(path, sql) for sql in statements]


def test_a_copy_has_the_same_content_without_free_pages(shop: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    reported: list[sqluice.Progress] = []
    report = sqluice.copy(shop, target, progress=reported.append)
    assert content(target) == content(shop) and sound(target)
    assert (report.rows, report.bytes, report.source_bytes) == (5_002, target.stat().st_size, shop.stat().st_size)
    assert report.bytes * 4 < report.source_bytes
    assert [(table.name, table.rows) for table in report.tables] == [("customer", 2), ("orders", 5_000)]
    assert [(index.name, index.entries, index.sorted, index.unverified) for index in report.indexes] == [("by_day", 5_000, False, None)]
    assert (report.others, report.left_out, report.broken, report.replaced) == (1, (), (), None)
    assert report.checksum == sqluice.check(target).checksum
    assert repr(report).startswith("<CopyReport: 5,002 rows to ")
    assert [phase.name for phase in report.phases] == ["copy", "sync"]
    # Progress is reported every 50 ms and once at the end, so only the last report is certain.
    assert reported[-1].phase == "sync"


def test_arguments_set_page_size_journal_mode_and_versions_of_the_copy(shop: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    sqluice.copy(
        shop,
        target,
        compact=True,
        page_size=16384,
        journal_mode="wal",
        user_version=-3,
        application_id=1234,
        interior_first=True,
        threads=1,
        memory=64 << 20,
        temp_dir=tmp_path,
        busy_limit=60,
    )
    found = [query(target, f"PRAGMA {name}")[0][0] for name in ("page_size", "journal_mode", "user_version", "application_id")]
    assert found == [16384, "wal", -3, 1234]
    assert content(target) == content(shop)
    report = sqluice.copy(shop, target, auto_vacuum="incremental", journal_mode="wal", overwrite=True)
    assert report.replaced is not None and report.checksum is None and report.output == "sqlite"
    assert (report.tables[0].root_page, report.indexes[0].root_page) == (None, None)
    found = [query(target, f"PRAGMA {name}")[0][0] for name in ("auto_vacuum", "journal_mode", "user_version")]
    assert found == [2, "wal", 7]
    with pytest.raises(sqluice.UsageError, match="interior pages cannot be first") as raised:
        sqluice.copy(shop, target, auto_vacuum="full", interior_first=True, overwrite=True)
    assert raised.value.hint == 'make a copy without auto_vacuum: auto_vacuum="none"'


def test_a_selection_that_breaks_a_view_is_refused_unless_forced(shop: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    with pytest.raises(sqluice.UsageError, match="would break view sale") as raised:
        sqluice.copy(shop, target, exclude_tables="customer")
    assert raised.value.hint == "leave these out, too, or copy anyway: force=True"
    assert not target.exists()
    report = sqluice.copy(shop, target, exclude_tables=["customer"], force=True)
    assert report.left_out == ("table customer",)
    assert report.broken == ("view sale", "the foreign key of table orders to customer")
    report = sqluice.copy(shop, target, tables="customer", no_indexes=True, overwrite=True)
    assert query(target, "SELECT name FROM sqlite_schema") == [("customer",)]
    with pytest.raises(sqluice.UsageError, match="no table or view order") as raised:
        sqluice.copy(shop, tmp_path / "other.db", tables="order")
    assert raised.value.hint is not None and raised.value.hint.startswith("did you mean orders?")


def test_a_copy_in_place_removes_free_pages_like_vacuum(shop: Path) -> None:
    before, size = content(shop), shop.stat().st_size
    report = sqluice.copy(shop, shop, assume_unused=True)
    assert report.replacement == sqluice.Replacement("rename") and report.removed == ()
    assert content(shop) == before and sound(shop)
    assert shop.stat().st_size * 4 < size
    assert os.listdir(shop.parent) == [shop.name]


def test_wrong_arguments_of_a_copy_are_errors_that_leave_no_file(shop: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    for args, said in (
        ({"page_size": 1000}, "power of two"),
        ({"journal_mode": "memory"}, "delete or wal"),
        ({"auto_vacuum": "yes"}, "none, full or incremental"),
        ({"busy_limit": -1}, "busy_limit=-1 is out of range"),
        ({"threads": 0}, "`threads` must be at least 1"),
    ):
        with pytest.raises(sqluice.UsageError, match=said):
            sqluice.copy(shop, target, **args)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match=r"none\.db"):
        sqluice.copy(tmp_path / "none.db", target)
    assert os.listdir(tmp_path) == ["shop.db"]
    target.write_bytes(b"")
    with pytest.raises(sqluice.TargetError, match="already exists") as raised:
        sqluice.copy(shop, target)
    assert raised.value.hint == "name another file, or replace this one: overwrite=True"


def test_copy_is_refused_during_a_transaction_on_the_source_or_the_target(shop: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    sqluice.copy(shop, target)
    for held in (shop, target):
        with closing(sqlite3.connect(held, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            with pytest.raises(sqluice.TargetError, match="in use|locked"):
                sqluice.copy(shop, target, overwrite=True, busy_timeout=0.05)
            other.execute("CREATE TABLE late (a)")
            other.execute("COMMIT")
        assert sound(held)
    sqluice.copy(shop, target, overwrite=True)
    assert content(target) == content(shop)


def test_only_source_and_target_are_positional_arguments_of_copy() -> None:
    given = inspect.signature(sqluice.copy).parameters
    positional = [name for name, parameter in given.items() if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    assert positional == ["source", "target"]
    terms = {name: terms for name, terms in sqluice._sqluice.setting_terms()}
    # The last two terms are those of `write`, which has no such parameter.
    assert terms["force"] == ["force=True"] * (len(terms["force"]) - 2) + [None, None]
    assert terms["busy_limit"][1] == "busy_limit=A"


MASK = "CREATE TABLE customer (id, -- gen: permute()\n name -- gen: name()\n)"


def test_a_masked_copy_has_other_names_and_the_same_joins(shop: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(os.urandom(32))
    file = tmp_path / "mask.sql"
    file.write_text(MASK)
    report = sqluice.copy(shop, tmp_path / "a.db", mask=MASK, key_file=key)
    assert report.mask is not None and not report.mask.random_key
    assert [(column.column, column.mask, column.follows) for column in report.mask.columns] == [
        ("id", "permute()", None),
        ("name", "name()", None),
        ("customer", "permute()", "customer.id"),
    ]
    sqluice.copy(shop, tmp_path / "b.db", mask=file, key_file=key)
    assert (tmp_path / "a.db").read_bytes() == (tmp_path / "b.db").read_bytes()
    sales = "SELECT count(*) FROM sale GROUP BY name ORDER BY 1"
    assert query(tmp_path / "a.db", sales) == query(shop, sales)
    assert sound(tmp_path / "a.db")
    assert not {name for (name,) in query(tmp_path / "a.db", "SELECT name FROM customer")} & {"Ann", "Bob"}
    assert sqluice.copy(shop, tmp_path / "c.db").mask is None


def test_settings_of_masks_without_masks_are_refused(shop: Path, tmp_path: Path) -> None:
    with pytest.raises(sqluice.UsageError, match="strict_mask=True is for masked copies, and this copy has no masks") as failed:
        sqluice.copy(shop, tmp_path / "a.db", strict_mask=True)
    assert failed.value.hint == "`mask` gives columns masks"
    assert not (tmp_path / "a.db").exists()
    sqluice.copy(shop, tmp_path / "a.db", strict_mask=False)


def test_columns_that_seem_to_refer_to_masked_keys_or_repeat_masked_values_need_a_decision(tmp_path: Path) -> None:
    source = tmp_path / "books.db"
    with closing(sqlite3.connect(source)) as db:
        db.executescript("CREATE TABLE book (id INTEGER PRIMARY KEY, author TEXT); CREATE TABLE loan (id INTEGER PRIMARY KEY, book_id INT, line TEXT)")
        db.executemany("INSERT INTO book VALUES (?, ?)", ((n, f"writer {n}") for n in range(1, 401)))
        db.executemany("INSERT INTO loan VALUES (?, ?, ?)", ((n, n, f"writer {n}" if n > 300 else "") for n in range(1, 401)))
        db.commit()
    mask = "CREATE TABLE book (id /* gen: permute() */, author /* gen: name() */)"
    with pytest.raises(sqluice.UsageError, match="columns seem to refer to masked keys") as failed:
        sqluice.copy(source, tmp_path / "a.db", mask=mask)
    assert failed.value.hint == 'say for each column if it is a reference: reference="loan.book_id=book.id" or no_reference="loan.book_id"'
    with pytest.raises(sqluice.UsageError, match="loan.line has no mask, and 100 of its values occur in book.author") as failed:
        sqluice.copy(source, tmp_path / "a.db", mask=mask, reference="loan.book_id=book.id", strict_mask=True)
    assert 'allow="loan.line"' in str(failed.value) and "writer" not in str(failed.value)
    report = sqluice.copy(source, tmp_path / "a.db", mask=mask, reference=["loan.book_id=book.id"], strict_mask=True, allow="loan.line")
    assert report.mask is not None and report.mask.columns[-1].follows == "book.id"
    assert [(place.column, place.masked, place.count) for place in report.mask.second_places] == [("line", "book.author", 100)]
    assert query(tmp_path / "a.db", "SELECT count(*) FROM loan JOIN book ON book.id = book_id") == [(400,)]
    sqluice.copy(source, tmp_path / "b.db", mask=mask, no_reference="loan.book_id")


def test_a_wrong_mask_or_key_file_is_an_error_that_leaves_no_file(shop: Path, tmp_path: Path) -> None:
    with pytest.raises(sqluice.InputError, match="mask:1:36: table customer has no column nam") as failed:
        sqluice.copy(shop, tmp_path / "a.db", mask="CREATE TABLE customer (nam /* gen: name() */)")
    assert "did you mean name" in str(failed.value)
    with pytest.raises(sqluice.UsageError, match="customer.name has no mask and looks like"):
        sqluice.copy(shop, tmp_path / "a.db", mask="CREATE TABLE customer (id /* gen: permute() */)", strict_mask=True)
    short = tmp_path / "short"
    short.write_bytes(b"short")
    with pytest.raises(sqluice.UsageError, match="is too short") as failed:
        sqluice.copy(shop, tmp_path / "a.db", mask=MASK, key_file=short)
    assert "key_file" in str(failed.value) and "--key" not in str(failed.value)
    assert not (tmp_path / "a.db").exists()


INTERRUPTED = """
import signal, sys, sqluice
# A test run in the background would ignore SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)
print("ready", flush=True)
try:
    while True:
        sqluice.copy(sys.argv[1], sys.argv[2], compact=True, overwrite=True)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_ends_a_copy_and_leaves_the_source_unchanged(tmp_path: Path) -> None:
    source = tmp_path / "source.db"
    rows = tries(200_000, 500_000, 1_000_000)
    sqluice.generate(source, preset="user", rows=rows)
    for target in (tmp_path / "copy.db", source):
        process = subprocess.Popen([sys.executable, "-c", INTERRUPTED, source, target], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(random.uniform(0, 0.3))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert out == "interrupted\n", err
        assert set(os.listdir(tmp_path)) <= {"source.db", "copy.db"}
        assert query(source, "SELECT count(*), max(id) FROM user") == [(rows, rows)]
        assert sound(source)
