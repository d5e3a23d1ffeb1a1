"""Another SQLite library in the process: a database that it has open is opened by a child process instead.

The locks of a file belong to the process, and closing any descriptor of the file releases all of them. So a lock of the other library that is still
there afterwards shows that the package has not opened the file in this process.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import gc
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pytest
import sqluice
import sqluice.polars
from sqluice import _child, _open_files, _sqluice
from twin import query, sound, stored

pytestmark = pytest.mark.skipif(os.name == "nt", reason="locks of this system belong to handles")


@pytest.fixture
def host(db: Path) -> Iterator[sqlite3.Connection]:
    """A connection of `sqlite3` to a database in WAL mode, which has a lock on the file as long as it is open."""
    connection = sqlite3.connect(db)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE there (id INTEGER PRIMARY KEY, s TEXT)")
    connection.execute("INSERT INTO there VALUES (1, 'a')")
    connection.commit()
    yield connection
    connection.close()


def locks(path: Path) -> set[tuple[str, ...]]:
    """Returns the locks that this process has on a file. Linux may list a lock twice while other processes lock and unlock files."""
    about = os.stat(path)
    with open("/proc/locks", encoding="ascii") as listed:
        held = [line.split()[1:] for line in listed]
    return {(*lock[:3], *lock[5:]) for lock in held if lock[3] == str(os.getpid()) and lock[4].endswith(f":{about.st_ino}")}


def descriptors(path: Path) -> list[int]:
    about = os.stat(path)
    return [descriptor for descriptor in _open_files._descriptors() if _open_files._is_of(descriptor, (about.st_dev, about.st_ino))]


def stream(rows: sqluice.Rows) -> pyarrow.Table:
    return pyarrow.table(rows)


def writer(db: Path) -> None:
    with sqluice.Writer(db) as made:
        made.create_table("written", {"id": "INTEGER"})
        made.append([(1,), (2,)])
        made.append(pyarrow.table({"id": [3]}), "arrow")


def refused(call: Callable[[], object]) -> None:
    """Asserts that a call is refused because a library has the target open, which the call would replace as a whole."""
    with pytest.raises(sqluice.TargetError, match="has it open"):
        call()


# Calls of each function that opens a database, here one that `sqlite3` has open.
DOORS: dict[str, Callable[[Path, Path], Any]] = {
    "write": lambda db, folder: sqluice.write(db, [(2, "b")], "there", if_exists="append", columns=["id", "s"]),
    "write Arrow": lambda db, folder: sqluice.write(db, pyarrow.table({"a": [1]}), "arrow"),
    "write a frame": lambda db, folder: sqluice.write(db, pandas.DataFrame({"a": [1]}), "frame"),
    "write frames": lambda db, folder: sqluice.write(db, (pandas.DataFrame({"a": [n]}) for n in range(3)), "frames"),
    "polars": lambda db, folder: polars.DataFrame({"a": [1]}).sqluice.write(db, "polars"),  # type: ignore[attr-defined]
    "polars, lazy": lambda db, folder: polars.LazyFrame({"a": [1]}).sqluice.write(db, "lazy"),  # type: ignore[attr-defined]
    "Writer": lambda db, folder: writer(db),
    "load": lambda db, folder: sqluice.load(db, folder / "rows.csv"),
    "load a database": lambda db, folder: sqluice.load(folder / "new.db", db, format="sqlite"),
    "generate": lambda db, folder: sqluice.generate(db, preset="user", rows=10),
    "profile": lambda db, folder: sqluice.profile(db),
    "index": lambda db, folder: sqluice.index(db, "CREATE INDEX i ON there (s)"),
    "copy": lambda db, folder: sqluice.copy(db, folder / "copy.db"),
    "merge": lambda db, folder: sqluice.merge(folder / "merged.db", [db]),
    "merge into": lambda db, folder: refused(lambda: sqluice.merge(db, [folder / "other.db"])),
    "check": lambda db, folder: sqluice.check(db),
    "recover": lambda db, folder: sqluice.recover(db, folder / "recovered.db"),
    "pack": lambda db, folder: sqluice.pack(db, folder / "files"),
    "read": lambda db, folder: stream(sqluice.read(db, "there")),
    "basis": lambda db, folder: sqluice.read(db, "there").basis(),
    "export": lambda db, folder: sqluice.export(db, "there", to=folder / "out.csv"),
    "to_sql": lambda db, folder: pandas.DataFrame({"a": [1]}).to_sql("to_sql", sqlite3.connect(db), method=sqluice.pandas_method),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    (made / "files").mkdir(parents=True)
    (made / "files" / "a.txt").write_text("alpha")
    (made / "rows.csv").write_text("id,s\n1,a\n")
    sqluice.write(made / "other.db", [(1,)], "other", columns=["id"])
    return made


@pytest.mark.skipif(not os.path.exists("/proc/locks"), reason="this system does not list locks")
@pytest.mark.parametrize("door", DOORS)
def test_a_file_that_another_sqlite_library_has_open_is_not_opened_in_this_process(door: str, host: sqlite3.Connection, db: Path, folder: Path) -> None:
    before = locks(db), descriptors(db)
    assert before[0] and before[1]
    result = DOORS[door](db, folder)
    assert locks(db) == before[0]
    if door != "to_sql":
        assert descriptors(db) == before[1]
    del result
    # Both libraries can use the database afterwards.
    host.execute("INSERT INTO there VALUES (9, 'z')")
    host.commit()
    host.execute("PRAGMA wal_checkpoint")
    assert (9, "z") in query(db, "SELECT * FROM there") and sound(db)


def test_unpack_and_stores_do_not_open_the_file_in_this_process(db: Path, tmp_path: Path, folder: Path) -> None:
    sqluice.pack(db, folder / "files")
    host = sqlite3.connect(db)
    host.execute("PRAGMA journal_mode = WAL")
    host.execute("SELECT * FROM sqlar").fetchall()
    before = locks(db), descriptors(db)
    sqluice.unpack(db, tmp_path / "out")
    assert (tmp_path / "out" / "a.txt").read_text() == "alpha"
    store = sqluice.BlobStore(db)
    store["b.txt"] = b"beta"
    assert (dict(store.pairs()), store.size("a.txt")) == ({"a.txt": b"alpha", "b.txt": b"beta"}, 5)
    assert (locks(db), descriptors(db)) == before
    store.close()
    people = tmp_path / "people.db"
    sqluice.EntityStore(people).define("person", key="id", index=["age"]).write({"id": "ann", "age": 40})
    other = sqlite3.connect(people)
    other.execute("SELECT * FROM sqlite_schema").fetchall()
    seen = descriptors(people)
    person = sqluice.EntityStore(people).define("person", key="id", index=["age"])
    assert person.write({"id": "bob", "age": 20}) == sqluice.Written(1, 0, 0)
    assert [one["id"] for one in person.query(sqluice.field("age") >= 20, order="age")] == ["bob", "ann"]
    assert descriptors(people) == seen
    other.close()
    host.close()


class Forbidden:
    """A stub of the compiled module: any call but that of `descriptors` fails the test."""

    descriptors = staticmethod(_sqluice.descriptors)

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was called in this process")


@pytest.mark.parametrize("door", DOORS)
def test_a_file_with_an_idle_connection_without_locks_is_opened_by_a_child_process(door: str, db: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = sqlite3.connect(db)
    host.execute("CREATE TABLE there (id INTEGER PRIMARY KEY, s TEXT)")
    host.execute("INSERT INTO there VALUES (1, 'a')")
    host.commit()
    monkeypatch.setattr(_open_files, "_sqluice", Forbidden())
    DOORS[door](db, folder)
    host.close()


def test_files_that_the_package_itself_has_open_do_not_count_as_open_in_another_library(db: Path) -> None:
    store = sqluice.BlobStore(db)
    store["a"] = b"alpha"
    assert store["a"] == b"alpha"
    assert descriptors(db) and not _open_files.is_open_elsewhere(db)
    host = sqlite3.connect(db)
    host.execute("SELECT * FROM kv").fetchall()
    assert _open_files.is_open_elsewhere(db)
    host.close()
    assert not _open_files.is_open_elsewhere(db)
    store.close()
    assert descriptors(db) == []


def test_a_file_counts_as_open_by_the_package_until_the_reader_is_released(db: Path) -> None:
    sqluice.write(db, ((n,) for n in range(100_000)), "t", columns=["a"])
    reader = pyarrow.RecordBatchReader.from_stream(sqluice.read(db, "t"))
    reader.read_next_batch()
    assert not _open_files.is_open_elsewhere(db)
    del reader
    # Python objects of a stream are released when the module is called next.
    _sqluice.descriptors()
    assert not _open_files._is_ours(_open_files._file(db))  # type: ignore[arg-type]


@pytest.mark.parametrize("through", ["link", "hard link"])
def test_a_link_to_an_open_file_is_recognised_as_the_same_file(through: str, host: sqlite3.Connection, db: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    other.symlink_to(db) if through == "link" else other.hardlink_to(db)
    assert _open_files.is_open_elsewhere(other)
    host.close()
    assert not _open_files.is_open_elsewhere(other)


class Color(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Town:
    name: str
    height: float


# Functions that make data of each shape, called once for each call of the package.
DATA: dict[str, Callable[[], Any]] = {
    "tuples": lambda: [(1, "a", 1.5, b"x", None), (2, "b", None, b"", True)],
    "a generator": lambda: ((n, f"text {n}", n / 8, None, n % 2 == 0) for n in range(20_000)),
    "lists": lambda: [[1, 2, 3, 4, 5]],
    "mixed kinds": lambda: [(n if n % 3 else f"text {n}", 1, 2, 3, 4) for n in range(100)],
    "a kind that changes late": lambda: [(n if n < 50_000 else "late", 1, 2, 3, 4) for n in range(60_000)],
    "values of the standard library": lambda: [
        (datetime.datetime(2024, 2, 29, 1, 2, 3, 4), datetime.date(2024, 2, 29), decimal.Decimal("1.10"), uuid.UUID(int=7), [1, {"a": 2}])
    ],
    "values of NumPy": lambda: [(numpy.int64(1), numpy.float32(1.5), numpy.str_("a"), numpy.bool_(True), numpy.datetime64("2024-01-01"))],
    "dicts": lambda: [{"a": 1, "b": "x"}, {"b": "y", "a": None, "c": 3}],
    "dataclasses": lambda: [Town("Oslo", 23.5), Town("Rome", 21.0)],
    "a frame": lambda: pandas.DataFrame({"i": [1, 2], "f": [0.5, None], "s": ["a", None], "d": pandas.to_datetime(["2024-01-01", None])}),
    "a frame with many rows": lambda: pandas.DataFrame({"i": range(100_000), "s": [f"text {n}" for n in range(100_000)]}),
    "frames": lambda: (pandas.DataFrame({"i": [n, n + 0.5 * (n > 3)]}) for n in range(5)),
    "a frame of Arrow's types": lambda: pandas.DataFrame({"i": [1, None]}, dtype="int64[pyarrow]"),
    "an array": lambda: numpy.array([(1, 2.5), (2, 3.5)], dtype=[("a", "i4"), ("b", "f8")]),
    "a table": lambda: pyarrow.table({"i": [1, None, 3], "s": ["a", "b", None], "l": [[1], None, []], "t": [datetime.datetime(2024, 1, 1)] * 3}),
    "an empty table": lambda: pyarrow.table({"i": pyarrow.array([], pyarrow.int64())}),
    "batches": lambda: (pyarrow.record_batch({"i": [n, n + 1]}) for n in range(4)),
    "decimals": lambda: pyarrow.table({"d": pyarrow.array([decimal.Decimal("1.10"), None], pyarrow.decimal128(38, 10))}),
    "categories": lambda: pyarrow.table({"c": pyarrow.array(["a", "b", "a"]).dictionary_encode()}),
    "polars": lambda: polars.DataFrame({"i": [1, None], "s": ["ä", "b"], "d": [datetime.date(2024, 1, 1), None], "l": [[1, 2], []]}),
    "polars, lazy": lambda: polars.LazyFrame({"i": [1, 2]}).collect_batches(),
}
UNNAMED = ["tuples", "a generator", "lists", "mixed kinds", "a kind that changes late", "values of the standard library", "values of NumPy"]


@pytest.mark.parametrize("kind", DATA)
def test_a_child_process_stores_the_same_rows_as_this_process(kind: str, db: Path, tmp_path: Path) -> None:
    columns = list("abcde") if kind in UNNAMED else None
    plain, beside = tmp_path / "plain.db", tmp_path / "beside.db"
    host = sqlite3.connect(beside)
    host.execute("CREATE TABLE there (a)")
    host.commit()
    sqluice.write(plain, [(1,)], "there", columns=["a"])
    reports = [sqluice.write(path, DATA[kind](), "t", columns=columns, index=False if "frame" in kind else None) for path in (plain, beside)]
    assert stored(plain) == stored(beside)
    assert query(plain, "SELECT sql FROM sqlite_schema WHERE name = 't'") == query(beside, "SELECT sql FROM sqlite_schema WHERE name = 't'")
    assert reports[0].notes == reports[1].notes
    host.close()


def test_rows_without_column_names_take_those_of_the_existing_table(db: Path, host: sqlite3.Connection) -> None:
    # The child process has the table, so the package asks it for the names of columns while it reads the rows.
    assert sqluice.write(db, [(2, "b"), (3, "c")], "there", if_exists="append").rows == 2
    assert query(db, "SELECT * FROM there") == [(1, "a"), (2, "b"), (3, "c")]


def test_an_adapter_registered_in_this_process_converts_values_for_the_child_process(db: Path, host: sqlite3.Connection) -> None:
    sqlite3.register_adapter(Color, lambda color: f"color {color.value}")
    try:
        sqluice.write(db, [(Color.RED,)], "t", columns=["a"])
        assert stored(db) == [("color red", "text")]
    finally:
        del sqlite3.adapters[Color, sqlite3.PrepareProtocol]  # type: ignore[attr-defined]


REFUSED = {
    "short": [(1, "a"), (2,)],
    "object": [(1, datetime.timezone.utc)],
    "no row": [("a",) * 2, 7],
    "large": [(1, 2**70)],
    "surrogate": [(1, "\ud800")],
}


@pytest.mark.parametrize("rows", REFUSED.values(), ids=REFUSED)
def test_a_child_process_gives_the_same_errors_as_this_process(rows: Any, db: Path, tmp_path: Path, host: sqlite3.Connection) -> None:
    errors = []
    for path in (tmp_path / "plain.db", db):
        with pytest.raises(sqluice.Error) as raised:
            sqluice.write(path, rows, "t", columns=["a", "b"])
        errors.append((type(raised.value).__name__, re.sub(" at 0x[0-9a-f]+", "", str(raised.value)), raised.value.row, raised.value.column))
    assert errors[0] == errors[1]
    assert query(db, "SELECT name FROM sqlite_schema") == [("there",)]


def test_an_exception_of_the_iterator_is_raised_and_the_child_process_stores_nothing(db: Path, host: sqlite3.Connection) -> None:
    class Strange(Exception):
        pass

    def failing() -> Iterator[Any]:
        yield from ((n,) for n in range(30_000))
        raise Strange

    with pytest.raises(Strange):
        sqluice.write(db, failing(), "t", columns=["a"])
    assert query(db, "SELECT name FROM sqlite_schema") == [("there",)]


def test_a_progress_callback_gets_row_counts_of_the_child_process_and_may_end_the_run(db: Path, host: sqlite3.Connection) -> None:
    seen: list[sqluice.Progress] = []

    def slowly() -> Iterator[Any]:
        for n in range(200_000):
            if n % 50_000 == 0:
                time.sleep(0.1)
            yield (n,)

    sqluice.write(db, slowly(), "t", columns=["a"], progress=seen.append)
    assert any(progress.rows for progress in seen)

    def end(_: sqluice.Progress) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        sqluice.generate(db, "CREATE TABLE more (a TEXT /* gen: hex(16) */)", rows=50_000_000, progress=end)
    assert query(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'more'") == [(0,)]


def test_rows_of_a_sqlite3_cursor_can_be_written_to_the_same_database(db: Path, host: sqlite3.Connection) -> None:
    host.executemany("INSERT INTO there VALUES (?, ?)", ((n, f"text {n}") for n in range(2, 10_000)))
    host.commit()
    # The cursor keeps its snapshot while the child commits.
    assert sqluice.write(db, host.execute("SELECT * FROM there"), "copy").rows == 9_999
    assert query(db, "SELECT * FROM there EXCEPT SELECT * FROM copy") == []


def test_a_locked_database_is_an_error_after_the_busy_timeout(db: Path, host: sqlite3.Connection) -> None:
    host.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqluice.TargetError):
        sqluice.write(db, [(1,)], "t", columns=["a"], busy_timeout=0.1)


def test_a_write_waits_for_the_transaction_of_a_sqlite3_connection(db: Path, host: sqlite3.Connection) -> None:
    host.execute("INSERT INTO there VALUES (2, 'b')")
    rows: list[int] = []
    writer = threading.Thread(target=lambda: rows.append(sqluice.write(db, [(1,)], "t", columns=["a"], busy_timeout=30).rows))
    writer.start()
    writer.join(0.5)
    assert writer.is_alive() and rows == []
    host.commit()
    writer.join()
    assert rows == [1]
    assert query(db, "SELECT count(*) FROM there") == [(2,)]


def test_threads_can_write_while_sqlite3_has_the_database_open(db: Path, host: sqlite3.Connection) -> None:
    def one(number: int) -> None:
        sqluice.write(db, [(number, n) for n in range(1_000)], f"t{number}", columns=["a", "b"], busy_timeout=120)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [query(db, f"SELECT count(*) FROM t{number}") for number in range(8)] == [[(1_000,)]] * 8
    assert sound(db)


KILLED = """
import itertools, os, signal, sqlite3, sys, sqluice
signal.signal(signal.SIGINT, signal.default_int_handler)
db = sys.argv[1]
host = sqlite3.connect(db)
host.execute("SELECT * FROM there").fetchall()
def rows():
    for n in itertools.count():
        if n == 20_000:
            print("ready", flush=True)
        yield (n, f"text {n}")
try:
    sqluice.write(db, rows(), "t", columns=["a", "b"], index="b")
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "kill"])
def test_an_interrupted_or_killed_run_leaves_the_database_as_it_was(how: signal.Signals, db: Path, host: sqlite3.Connection) -> None:
    host.close()
    process = subprocess.Popen([sys.executable, "-c", KILLED, db], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(random.uniform(0, 0.3))
    process.send_signal(how)
    out, err = process.communicate(timeout=60)
    assert (out, err) == ("interrupted\n" if how == signal.SIGINT else "", "")
    # The child of a killed process ends soon, too.
    ends = time.monotonic() + 60
    while sorted(os.listdir(db.parent)) != [db.name] and time.monotonic() < ends:
        time.sleep(0.1)
        query(db, "SELECT * FROM there")
    assert query(db, "SELECT name FROM sqlite_schema") == [("there",)] and sound(db)
    assert sqluice.write(db, [(1,)], "t", columns=["a"], busy_timeout=60).rows == 1


def test_a_killed_child_process_is_an_error(db: Path, host: sqlite3.Connection) -> None:
    with _open_files.used(db) as native:

        def kill(*_: Any) -> None:
            native._process.kill()

        with pytest.raises(sqluice.TargetError, match=r"ended early.*look before you repeat"):
            native.generate(os.fspath(db), None, {"rows": [("user", 50_000_000)], "preset": "user", "seed": 1}, kill)


@pytest.mark.parametrize(("name", "value"), [("frozen", True), ("executable", "/usr/bin/uwsgi"), ("executable", "")])
def test_a_file_open_in_another_library_is_refused_if_no_child_process_can_be_started(
    name: str, value: Any, db: Path, host: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, name, value, raising=False)
    with pytest.raises(sqluice.TargetError, match="close its connections first"):
        sqluice.write(db, [(1,)], "t", columns=["a"])
    host.close()
    assert sqluice.write(db, [(1,)], "t", columns=["a"]).rows == 1


def test_a_writer_refuses_to_commit_to_a_file_that_sqlite3_opened_after_the_first_rows(db: Path) -> None:
    sqluice.write(db, [(1,)], "there", columns=["a"])
    made = sqluice.Writer(db)
    made.append([(1,)], "t", columns=["a"])
    host = sqlite3.connect(db)
    made.append([(2,)])
    with pytest.raises(sqluice.TargetError, match="before the first rows"):
        made.commit()
    host.close()
    assert made.commit().rows == 2


def test_a_forked_process_does_not_end_the_child_process_of_its_parent(db: Path, host: sqlite3.Connection) -> None:
    with _open_files.used(db) as native:
        child = os.fork()
        if child == 0:
            native.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert json.loads(native.check(os.fspath(db), {"full": False}, None))["problems"] == []


def test_a_child_process_ends_although_a_forked_process_has_inherited_the_pipe(db: Path, host: sqlite3.Connection) -> None:
    with _open_files.used(db) as native:
        forked = os.fork()
        if forked == 0:
            signal.pause()
            os._exit(0)
    # A child that does not end by itself is killed.
    assert native._process.returncode == 0
    os.kill(forked, signal.SIGKILL)
    os.waitpid(forked, 0)


def test_child_processes_end_and_leave_no_open_descriptors(db: Path, host: sqlite3.Connection) -> None:
    before = set(os.listdir("/dev/fd"))
    for number in range(3):
        sqluice.write(db, [(1,)], f"t{number}", columns=["a"])
    assert pyarrow.table(sqluice.read(db, "t0")).num_rows == 1
    reader = pyarrow.RecordBatchReader.from_stream(sqluice.read(db, "t0"))
    del reader
    _sqluice.descriptors()
    # Objects of earlier tests may close their descriptors meanwhile.
    assert set(os.listdir("/dev/fd")) <= before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_the_child_process_imports_few_modules_of_the_package() -> None:
    # Without the other modules, the child starts several times as fast.
    code = _child._PROGRAM.replace("serve(sys.argv[2:])", "print(sorted(m for m in sys.modules if m.startswith('sqluice')))")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, os.path.dirname(_child.__file__)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "['sqluice', 'sqluice._child', 'sqluice._errors', 'sqluice._sqluice']\n"


def test_a_garbage_collection_while_open_files_are_listed_does_not_block(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Holder:
        pass

    sqluice.write(db, [(1,)], "t", columns=["a"])
    holder: Any = Holder()
    holder.itself = holder
    holder.use = _open_files.used(db)
    holder.use.__enter__()
    del holder

    def listed() -> Iterator[int]:
        gc.collect()
        return iter(())

    gc.disable()
    monkeypatch.setattr(_open_files, "_descriptors", listed)
    try:
        with _open_files.used(db) as native:
            assert native is sqluice._sqluice
    finally:
        gc.enable()
    assert not _open_files._is_ours(_open_files._file(db))  # type: ignore[arg-type]
