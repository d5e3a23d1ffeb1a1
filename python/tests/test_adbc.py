"""The ADBC driver: it stores and returns what the Arrow project's driver (adbc_driver_sqlite) does, and keeps to the caller's transactions."""

from __future__ import annotations

import datetime
import decimal
import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import adbc_driver_manager
import adbc_driver_manager.dbapi
import adbc_driver_sqlite.dbapi
import adbc_driver_sqluice
import adbc_driver_sqluice.dbapi
import pandas
import polars
import pyarrow
import pytest
import sqluice
from twin import query, sound, stored

MOMENT = datetime.datetime(2024, 2, 29, 1, 2, 3, 450_000)
TABLE = pyarrow.table({"i": [1, 2, None], "r": [0.5, None, 2.0], "s": ["ä", None, ""], "b": [b"x", b"", None]})

COLUMNS: dict[str, pyarrow.Array] = {
    "booleans": pyarrow.array([True, None, False]),
    **{f"int{bits}": pyarrow.array([1, None, -5], f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": pyarrow.array([1, None, 5], f"uint{bits}") for bits in (8, 16, 32, 64)},
    "half": pyarrow.array([1.5, None], pyarrow.float32()).cast(pyarrow.float16()),
    "float": pyarrow.array([1.5, None, float("inf")], pyarrow.float32()),
    "double": pyarrow.array([0.1, None, -0.0]),
    "nan": pyarrow.array([float("nan")]),
    "text": pyarrow.array(["a", None, "", "a\0b"]),
    "large text": pyarrow.array(["a", None], pyarrow.large_string()),
    "text views": pyarrow.array(["a", None, "longer than twelve bytes"], pyarrow.string_view()),
    "binary": pyarrow.array([b"a", None, b""]),
    "large binary": pyarrow.array([b"a", None], pyarrow.large_binary()),
    "fixed": pyarrow.array([b"ab", None], pyarrow.binary(2)),
    "nulls": pyarrow.nulls(2),
    "dates": pyarrow.array([datetime.date(2024, 2, 29), None, datetime.date(1600, 1, 1)]),
    **{f"timestamps {unit}": pyarrow.array([MOMENT.replace(microsecond=0), None, datetime.datetime(1960, 1, 1)], pyarrow.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
    "fractions": pyarrow.array([MOMENT, datetime.datetime(1960, 1, 1, 0, 0, 0, 1)], pyarrow.timestamp("us")),
    "zones": pyarrow.array([MOMENT, None], pyarrow.timestamp("us", "Europe/Oslo")),
    "dictionaries": pyarrow.array(["x", None, "x"]).dictionary_encode(),
    "no rows": pyarrow.array([], pyarrow.int64()),
}


def connect(db: Path | str, **settings: Any) -> Any:
    return adbc_driver_sqluice.dbapi.connect(str(db), **settings)


@pytest.fixture
def connection(db: Path) -> Iterator[Any]:
    with connect(db) as made:
        yield made


def ingested(module: Any, db: Path, data: Any, **how: Any) -> int:
    with module.connect(str(db)) as made, made.cursor() as cursor:
        rows: int = cursor.adbc_ingest("t", data, **how)
        made.commit()
        return rows


@pytest.mark.parametrize("kind", COLUMNS)
def test_values_are_stored_as_by_adbc_driver_sqlite(kind: str, tmp_path: Path) -> None:
    found = []
    for module in (adbc_driver_sqlite.dbapi, adbc_driver_sqluice.dbapi):
        db = tmp_path / f"{module.__name__}.db"
        rows = ingested(module, db, pyarrow.table({"c": COLUMNS[kind]}))
        with module.connect(str(db)) as made, made.cursor() as cursor:
            cursor.execute("SELECT * FROM t")
            read = cursor.fetch_arrow_table()
            schema = made.adbc_get_table_schema("t")
        shown = query(db, "SELECT c, typeof(c), hex(c) FROM t")
        sql = query(db, "SELECT sql FROM sqlite_schema")[0][0]
        found.append([rows, repr(shown), sql, read, schema])
        assert sound(db)
    assert found[0] == found[1]


@pytest.mark.parametrize("value", [decimal.Decimal("1.5"), datetime.time(1), datetime.timedelta(1), [1], {"a": 1}], ids=str)
def test_types_that_sqlite_lacks_are_refused_by_name(value: Any, connection: Any, db: Path) -> None:
    with connection.cursor() as cursor, pytest.raises(adbc_driver_manager.NotSupportedError, match="column 1 has the type .* cast it"):
        cursor.adbc_ingest("t", pyarrow.table({"c": [value]}))
    connection.commit()
    assert query(db, "SELECT name FROM sqlite_schema") == []


def test_an_integer_beyond_64_bits_is_refused(connection: Any) -> None:
    with connection.cursor() as cursor, pytest.raises(adbc_driver_manager.DataError, match="18446744073709551615 is too large"):
        cursor.adbc_ingest("t", pyarrow.table({"c": pyarrow.array([1, 2**64 - 1], "uint64")}))


@pytest.mark.parametrize("mode", ["create", "append", "replace", "create_append"])
@pytest.mark.parametrize("there", [False, True])
def test_ingest_modes_store_or_refuse_the_same_rows_as_adbc_driver_sqlite(mode: Any, there: bool, tmp_path: Path) -> None:
    found = []
    for module in (adbc_driver_sqlite.dbapi, adbc_driver_sqluice.dbapi):
        db = tmp_path / f"{module.__name__}.db"
        if there:
            ingested(module, db, TABLE)
        try:
            found.append([ingested(module, db, TABLE[::-1], mode=mode), stored(db)])
        except adbc_driver_manager.Error as error:
            found.append([bool(error), stored(db) if there else None])
    assert found[0] == found[1]


def test_ingested_columns_are_matched_by_name(db: Path) -> None:
    ingested(adbc_driver_sqluice.dbapi, db, pyarrow.table({"a": [1], "b": ["x"], "c": [2.5]}))
    ingested(adbc_driver_sqluice.dbapi, db, pyarrow.table({"c": [3.5], "a": [2]}), mode="append")
    assert query(db, "SELECT * FROM t") == [(1, "x", 2.5), (2, None, 3.5)]
    with pytest.raises(adbc_driver_manager.Error, match="no column named d"):
        ingested(adbc_driver_sqluice.dbapi, db, pyarrow.table({"d": [1]}), mode="append")


def test_rows_go_to_a_temporary_table_or_to_the_named_catalog(connection: Any, db: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with connection.cursor() as cursor:
        cursor.adbc_ingest("t", TABLE, temporary=True)
        cursor.adbc_ingest("t", TABLE[:1], catalog_name="main")
        cursor.execute("SELECT (SELECT count(*) FROM temp.t), (SELECT count(*) FROM main.t)")
        assert cursor.fetchall() == [(3, 1)]
    connection.commit()
    connection.adbc_connection.set_autocommit(True)
    with connection.cursor() as cursor:
        cursor.execute("ATTACH ? AS other", (str(other),))
    with connection.cursor() as cursor:
        cursor.adbc_ingest("t", TABLE[:2], catalog_name="other")
    assert [query(db, "SELECT count(*) FROM t"), query(other, "SELECT count(*) FROM t")] == [[(1,)], [(2,)]]


def test_other_connections_see_ingested_rows_after_a_commit_and_none_after_a_rollback(connection: Any, db: Path) -> None:
    with connection.cursor() as cursor, connect(db) as second, second.cursor() as other:
        cursor.adbc_ingest("t", TABLE)
        assert query(db, "SELECT name FROM sqlite_schema") == []
        other.execute("SELECT name FROM sqlite_schema")
        assert other.fetchall() == []
        second.rollback()
        connection.rollback()
        assert query(db, "SELECT name FROM sqlite_schema") == []
        cursor.adbc_ingest("t", TABLE)
        connection.commit()
        other.execute("SELECT count(*) FROM t")
        assert other.fetchall() == [(3,)]


def test_the_drop_of_a_table_and_an_ingestion_of_new_rows_are_one_transaction(connection: Any, db: Path) -> None:
    ingested(adbc_driver_sqluice.dbapi, db, TABLE)
    with connection.cursor() as cursor:
        # pandas replaces a table by these two calls.
        cursor.execute("DROP TABLE t")
        cursor.adbc_ingest("t", TABLE[:1], mode="create")
        assert query(db, "SELECT count(*) FROM t") == [(3,)]
        connection.rollback()
        assert query(db, "SELECT count(*) FROM t") == [(3,)]
        cursor.execute("DROP TABLE t")
        cursor.adbc_ingest("t", TABLE[:1], mode="create")
        connection.commit()
    assert query(db, "SELECT count(*) FROM t") == [(1,)]


def test_a_rollback_to_a_savepoint_removes_rows_that_were_ingested_later(connection: Any, db: Path) -> None:
    with connection.cursor() as cursor:
        cursor.adbc_ingest("t", TABLE)
        cursor.execute("SAVEPOINT mine")
        cursor.adbc_ingest("t", TABLE, mode="append")
        cursor.execute("ROLLBACK TO mine")
        connection.commit()
    assert query(db, "SELECT count(*) FROM t") == [(3,)]


def test_a_failed_ingestion_keeps_earlier_changes_of_the_transaction(connection: Any, db: Path) -> None:
    def failing() -> Iterator[pyarrow.RecordBatch]:
        yield from pyarrow.table({"a": [1, 2]}).to_batches()
        raise ValueError("mine")

    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE kept (a PRIMARY KEY)")
        cursor.execute("INSERT INTO kept VALUES (1)")
        reader = pyarrow.RecordBatchReader.from_batches(pyarrow.schema({"a": "int64"}), failing())
        with pytest.raises(adbc_driver_manager.Error, match="mine"):
            cursor.adbc_ingest("t", reader)
        with pytest.raises(adbc_driver_manager.IntegrityError, match="UNIQUE"):
            cursor.adbc_ingest("kept", pyarrow.table({"a": [2, 1]}), mode="append")
        connection.commit()
    assert query(db, "SELECT * FROM kept") == [(1,)]
    assert query(db, "SELECT name FROM sqlite_schema WHERE type = 'table'") == [("kept",)]


def test_a_connection_that_has_run_no_statement_does_not_lock_the_file(connection: Any, db: Path) -> None:
    with connect(db) as second, second.cursor() as cursor:
        cursor.adbc_ingest("t", TABLE)
        second.commit()
    assert sqluice.write(db, [(1,)], "u", columns=["a"], busy_timeout=0).rows == 1
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM t")
        assert cursor.fetchall() == [(3,)]


def test_pragmas_and_ingestions_take_effect_at_once_in_autocommit(db: Path) -> None:
    with connect(db, autocommit=True) as made, made.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode = WAL")
        assert cursor.fetchall() == [("wal",)]
        cursor.adbc_ingest("t", TABLE)
        assert query(db, "SELECT count(*) FROM t") == [(3,)]
        with pytest.raises(adbc_driver_manager.ProgrammingError, match="no transaction is active"):
            made.adbc_connection.commit()


def test_two_results_of_one_connection_can_be_read_in_turns(connection: Any) -> None:
    with connection.cursor() as cursor:
        cursor.adbc_ingest("t", pyarrow.table({"a": range(10_000)}))
    first, second = connection.cursor(), connection.cursor()
    first.execute("SELECT a FROM t")
    second.execute("SELECT -a FROM t")
    readers = [first.fetch_record_batch(), second.fetch_record_batch()]
    assert readers[0].read_next_batch().num_rows == 1024
    assert [reader.read_all().num_rows for reader in readers] == [8_976, 10_000]
    first.close()
    second.close()


def test_the_result_of_a_query_can_be_ingested_by_the_same_connection(connection: Any, db: Path) -> None:
    with connection.cursor() as cursor, connection.cursor() as reading:
        cursor.adbc_ingest("t", pyarrow.table({"a": range(5_000)}))
        reading.execute("SELECT a FROM t")
        cursor.adbc_ingest("copy", reading.fetch_record_batch())
        connection.commit()
    assert query(db, "SELECT count(*), sum(a) FROM copy") == [(5_000, 12_497_500)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 AS a, 2.5 AS b, 'c' AS c, x'00' AS d, NULL AS e",
        "VALUES (NULL), (1), (2.5)",
        "VALUES (1), ('a')",
        "VALUES (x'00'), ('a'), (1)",
        "SELECT 1 WHERE 0",
        "PRAGMA user_version",
    ],
)
def test_results_have_the_types_of_adbc_driver_sqlite(sql: str) -> None:
    tables = []
    for module in (adbc_driver_sqlite.dbapi, adbc_driver_sqluice.dbapi):
        with module.connect() as made, made.cursor() as cursor:
            cursor.execute(sql)
            tables.append(cursor.fetch_arrow_table())
    assert tables[0] == tables[1]


def test_a_value_of_another_kind_after_the_first_batch_is_an_error(connection: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 3000) SELECT iif(a = 2500, 'x', a) AS a FROM n")
        with pytest.raises(pyarrow.ArrowInvalid, match="Type mismatch in column a"):
            cursor.fetch_arrow_table()
        cursor.adbc_statement.set_options(**{adbc_driver_sqluice.StatementOptions.BATCH_ROWS.value: 4_000})
        cursor.execute("WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 3000) SELECT iif(a = 2500, 'x', a) AS a FROM n")
        assert cursor.fetch_arrow_table()["a"].type == pyarrow.string()


def test_parameters_are_bound_row_by_row_in_order_or_by_name(connection: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE t (a, b)")
        cursor.executemany("INSERT INTO t VALUES (?, ?)", [(1, "x"), (2, None)])
        assert cursor.rowcount == 2
        cursor.executemany("INSERT INTO t VALUES (?, ?)", pyarrow.record_batch({"x": [3], "y": ["z"]}))
        cursor.execute("SELECT a, b FROM t WHERE a > ? ORDER BY a", (1,))
        assert cursor.fetchall() == [(2, None), (3, "z")]
        with pytest.raises(adbc_driver_manager.ProgrammingError, match="expected 1 but found 2"):
            cursor.execute("SELECT ?", (1, 2))
    with connection.cursor() as cursor:
        cursor.adbc_statement.set_options(**{adbc_driver_sqluice.StatementOptions.BIND_BY_NAME.value: "true"})
        cursor.execute("SELECT :b - $a", pyarrow.record_batch({"a": [1], "b": [5]}))
        assert cursor.fetchall() == [(4,)]


@pytest.mark.parametrize("sql", ["", "SELEC 1", "SELECT 1; SELECT 2", "SELECT nope", "INSERT INTO nope VALUES (1)"])
def test_invalid_statements_are_refused(sql: str, connection: Any) -> None:
    with connection.cursor() as cursor, pytest.raises(adbc_driver_manager.ProgrammingError, match="sqluice"):
        cursor.execute(sql)


def test_listed_tables_and_columns_equal_those_of_adbc_driver_sqlite(tmp_path: Path) -> None:
    db = tmp_path / "a.db"
    with sqlite3.connect(db) as made:
        made.executescript("""
            CREATE TABLE parent (a, b TEXT NOT NULL DEFAULT 'x', PRIMARY KEY (b, a));
            CREATE TABLE child (id INTEGER PRIMARY KEY, c, d REFERENCES parent (b), FOREIGN KEY (c, d) REFERENCES parent (a, b));
            CREATE VIEW seen AS SELECT id FROM child;
            INSERT INTO parent VALUES (1, 'y');
        """)
    made.close()
    for ask in (
        lambda one: one.adbc_get_objects(depth="all").read_all(),
        lambda one: one.adbc_get_objects(depth="tables").read_all(),
        lambda one: one.adbc_get_objects(depth="db_schemas").read_all(),
        lambda one: one.adbc_get_objects(depth="catalogs").read_all(),
        lambda one: one.adbc_get_objects(depth="all", table_name_filter="ch%", column_name_filter="c").read_all(),
        lambda one: one.adbc_get_objects(depth="tables", table_types_filter=["view"]).read_all(),
        lambda one: one.adbc_get_objects(depth="tables", table_name_filter="SELECT * FROM child").read_all(),
        lambda one: one.adbc_get_objects(depth="all", catalog_filter="nope").read_all(),
        lambda one: one.adbc_get_table_schema("parent"),
        lambda one: sorted(one.adbc_get_table_types()),
        lambda one: one.adbc_current_catalog,
    ):
        answers = []
        for module in (adbc_driver_sqlite.dbapi, adbc_driver_sqluice.dbapi):
            with module.connect(str(db)) as one:
                answers.append(ask(one))
        assert list(map(plain, answers)) == [plain(answers[0])] * 2


def plain(answer: Any) -> Any:
    """Returns the answer without automatic indexes, which adbc_driver_sqlite lists among the tables."""
    if not isinstance(answer, pyarrow.Table):
        return answer
    catalogs = answer.to_pylist()
    for schema in (schema for catalog in catalogs for schema in catalog["catalog_db_schemas"] or ()):
        if schema["db_schema_tables"] is not None:
            schema["db_schema_tables"] = [table for table in schema["db_schema_tables"] if table["table_type"] != "index"]
    return catalogs


def test_the_driver_reports_names_and_version_and_a_missing_table_as_not_found(connection: Any) -> None:
    info = connection.adbc_get_info()
    assert (info["vendor_name"], info["vendor_version"], info["driver_name"]) == ("SQLite", sqluice.sqlite_version, "sqluice")
    with pytest.raises(adbc_driver_manager.ProgrammingError) as raised:
        connection.adbc_get_table_schema("nope")
    assert raised.value.status_code == adbc_driver_manager.AdbcStatusCode.NOT_FOUND


@pytest.mark.parametrize("form", ["{}", "file:{}", "file:{}?mode=rwc", "sqluice://{}", "sqlite://{}"])
def test_all_documented_forms_of_a_uri_are_accepted(form: str, db: Path) -> None:
    ingested(adbc_driver_sqluice.dbapi, Path(form.format(db)) if form == "{}" else form.format(db), TABLE)  # type: ignore[arg-type]
    assert query(db, "SELECT count(*) FROM t") == [(3,)]


def test_connections_of_one_database_object_share_an_unnamed_database_in_memory() -> None:
    with adbc_driver_sqluice.connect() as database:
        with adbc_driver_manager.AdbcConnection(database) as one, adbc_driver_manager.AdbcStatement(one) as statement:
            statement.set_sql_query("CREATE TABLE t AS SELECT 1 AS a")
            statement.execute_update()
        with adbc_driver_manager.AdbcConnection(database) as two, adbc_driver_manager.AdbcStatement(two) as statement:
            statement.set_sql_query("SELECT a FROM t")
            stream, _ = statement.execute_query()
            assert pyarrow.RecordBatchReader._import_from_c(stream.address).read_all().to_pylist() == [{"a": 1}]
    with connect(":memory:") as alone, alone.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM sqlite_schema")
        assert cursor.fetchall() == [(0,)]


@pytest.mark.parametrize("if_exists", ["fail", "append", "replace"])
def test_polars_and_pandas_write_through_the_driver(if_exists: Any, db: Path, connection: Any) -> None:
    frame = polars.DataFrame({"i": [1, 2], "s": ["a", None]})
    frame.write_database("t", connection, if_table_exists=if_exists, engine="adbc")
    assert query(db, "SELECT * FROM t") == [(1, "a"), (2, None)]
    if if_exists != "fail":
        frame.write_database("t", connection, if_table_exists=if_exists, engine="adbc")
        assert len(query(db, "SELECT * FROM t")) == (4 if if_exists == "append" else 2)
    table = pandas.DataFrame({"i": [1, 2], "s": ["a", None]})
    table.to_sql("u", connection, index=False, if_exists=if_exists)
    table.to_sql("u", connection, index=False, if_exists="replace")
    assert query(db, "SELECT * FROM u") == [(1, "a"), (2, None)]
    assert pandas.read_sql("SELECT i FROM u", connection)["i"].to_list() == [1, 2]
    # The rollback ends the transaction that has read: it would prevent the commit of the connection that polars opens.
    connection.rollback()
    frame.write_database("v", f"sqluice://{db}", engine="adbc")
    assert query(db, "SELECT count(*) FROM v") == [(2,)]


@pytest.mark.skipif(os.name == "nt", reason="locks of this system belong to handles")
def test_a_file_that_another_sqlite_library_of_the_process_has_open_is_refused(db: Path) -> None:
    sqluice.write(db, [(1,)], "t", columns=["a"])
    host = sqlite3.connect(db)
    host.execute("SELECT * FROM t").fetchall()
    with pytest.raises(adbc_driver_manager.Error, match="is already open in this process through another SQLite"):
        connect(db)
    host.close()
    connect(db).close()


def test_sqluice_write_is_refused_during_a_transaction_of_a_driver_connection(db: Path, connection: Any) -> None:
    with connection.cursor() as cursor:
        cursor.adbc_ingest("t", TABLE)
        connection.commit()
        assert sqluice.write(db, [(7, 7.0, "s", b"")], "t", if_exists="append").rows == 1
        cursor.execute("INSERT INTO t (i) VALUES (8)")
        with pytest.raises(sqluice.TargetError, match="in use"):
            sqluice.write(db, [(9, 7.0, "s", b"")], "t", if_exists="append", busy_timeout=0.05)
        connection.commit()
    assert pyarrow.table(sqluice.read(db, "t", columns=["i"]))["i"].to_pylist() == [1, 2, None, 7, 8]


def locks(db: Path) -> list[str]:
    """Returns the locks that this process has on a file."""
    inode, process = f":{os.stat(db).st_ino}", str(os.getpid())
    held = [line.split() for line in Path("/proc/locks").read_text("ascii").splitlines()]
    return sorted(" ".join(lock[1:4] + lock[6:]) for lock in held if lock[4] == process and lock[5].endswith(inode))


INTRUDER = """
import sqlite3, sys
sqlite3.connect(sys.argv[1], timeout=0).execute("INSERT INTO t (i) VALUES (100)").connection.commit()
"""


@pytest.mark.skipif(not os.path.exists("/proc/locks"), reason="this system does not list locks")
@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_functions_of_sqluice_do_not_release_locks_of_a_driver_connection(mode: str, db: Path) -> None:
    sqluice.write(db, TABLE, "t")
    query(db, f"PRAGMA journal_mode = {mode}")
    rows = query(db, "SELECT count(*) FROM t")[0][0]
    with connect(db) as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO t (i) VALUES (8)")
        before = locks(db)
        assert before
        with pytest.raises(sqluice.TargetError, match="in use"):
            sqluice.write(db, TABLE, "t", if_exists="append", busy_timeout=0.05)
        assert pyarrow.table(sqluice.read(db, "t")).num_rows == rows
        sqluice.check(db)
        assert locks(db) == before
        # Another process can't write during the transaction.
        other = subprocess.run([sys.executable, "-c", INTRUDER, db], stderr=subprocess.PIPE, text=True)
        assert "database is locked" in other.stderr
        connection.commit()
    assert query(db, "SELECT count(*), max(i) FROM t") == [(rows + 1, 8)] and sound(db)


def test_threads_with_connections_of_their_own_store_all_rows(db: Path) -> None:
    with connect(db) as shared, shared.cursor() as cursor:
        cursor.execute("CREATE TABLE t (a, b)")
        shared.commit()
    failures: list[BaseException] = []

    def run(work: Callable[[], None]) -> threading.Thread:
        def guarded() -> None:
            try:
                work()
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=guarded)
        thread.start()
        return thread

    def write(number: int) -> None:
        for lap in range(5):
            with connect(db) as made, made.cursor() as cursor:
                cursor.execute("PRAGMA busy_timeout = 60000")
                made.rollback()
                cursor.adbc_ingest("t", pyarrow.table({"a": [number] * 100, "b": [lap] * 100}), mode="append")
                made.commit()

    for thread in [run(lambda number=number: write(number)) for number in range(8)]:  # type: ignore[misc]
        thread.join()
    assert failures == []
    assert query(db, "SELECT count(*), count(DISTINCT a) FROM t") == [(4_000, 8)]
    assert sound(db)


def test_cancel_ends_a_running_query(connection: Any) -> None:
    with connection.cursor() as cursor:
        threading.Timer(0.3, cursor.adbc_cancel).start()
        with pytest.raises((adbc_driver_manager.Error, OSError), match="interrupt"):
            cursor.execute("WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n) SELECT max(a) FROM n")
            cursor.fetchall()


KILLED = """
import sys, pyarrow, adbc_driver_sqluice.dbapi as dbapi
def batches():
    for n in range(1_000_000):
        if n == 50:
            print("ready", flush=True)
        yield pyarrow.record_batch({"a": range(n * 1000, n * 1000 + 1000)})
with dbapi.connect(sys.argv[1]) as connection, connection.cursor() as cursor:
    cursor.adbc_ingest("t", pyarrow.RecordBatchReader.from_batches(pyarrow.schema({"a": "int64"}), batches()), mode="append")
    connection.commit()
"""


def test_a_process_killed_during_an_ingestion_leaves_only_committed_rows(db: Path) -> None:
    ingested(adbc_driver_sqluice.dbapi, db, pyarrow.table({"a": [1]}))
    process = subprocess.Popen([sys.executable, "-c", KILLED, db], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.kill()
    process.communicate()
    assert query(db, "SELECT * FROM t") == [(1,)] and sound(db)


# This many rows are written as pages.
MANY = pyarrow.table({"a": range(50_000), "b": [f"text {row}" for row in range(50_000)]})


OBSERVER = """
import json, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
print(json.dumps(connection.execute(sys.argv[2]).fetchall()))
"""


def elsewhere(db: Path, sql: str) -> list[list[Any]]:
    """Runs a query in another process, whose SQLite does not share the locks of this one."""
    seen = subprocess.run([sys.executable, "-c", OBSERVER, db, sql], stdout=subprocess.PIPE, text=True, check=True)
    rows: list[list[Any]] = json.loads(seen.stdout)
    return rows


@pytest.fixture(params=["delete", "wal"])
def many(request: pytest.FixtureRequest, db: Path) -> Iterator[Any]:
    """Yields a connection to a file with a table, in each journal mode."""
    query(db, f"PRAGMA journal_mode = {request.param}")
    query(db, "CREATE TABLE old AS SELECT 1 AS a")
    with connect(db) as made:
        yield made


def test_rows_written_as_pages_are_visible_to_others_only_after_the_commit(many: Any, db: Path) -> None:
    with many.cursor() as cursor, connect(db) as second, second.cursor() as other:
        before = os.path.getsize(db)
        cursor.adbc_ingest("t", MANY)
        cursor.execute("SELECT count(*), sum(a) FROM t")
        assert cursor.fetchall() == [(50_000, 1_249_975_000)]
        other.execute("SELECT name FROM sqlite_schema")
        assert other.fetchall() == [("old",)]
        second.rollback()
        many.rollback()
        assert elsewhere(db, "SELECT name FROM sqlite_schema") == [["old"]] and os.path.getsize(db) == before
        cursor.adbc_ingest("t", MANY)
        many.commit()
        other.execute("SELECT count(*), sum(a) FROM t")
        assert other.fetchall() == [(50_000, 1_249_975_000)]


def test_rows_written_as_pages_follow_savepoints_and_rollbacks(many: Any, db: Path) -> None:
    with many.cursor() as cursor:
        cursor.adbc_ingest("t", MANY)
        cursor.execute("SAVEPOINT mine")
        cursor.adbc_ingest("t", MANY, mode="append")
        cursor.execute("DROP TABLE old")
        cursor.execute("ROLLBACK TO mine")
        many.commit()
        cursor.adbc_ingest("t", MANY[:30_000], mode="replace")
        assert elsewhere(db, "SELECT count(*) FROM t") == [[50_000]]
        many.rollback()
        assert elsewhere(db, "SELECT count(*) FROM t") == [[50_000]]
        cursor.adbc_ingest("t", MANY[:30_000], mode="replace")
        many.commit()
    assert elsewhere(db, "SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM old)") == [[30_000, 1]]


def test_rows_written_as_pages_are_lost_if_the_connection_closes_before_the_commit(many: Any, db: Path) -> None:
    with many.cursor() as cursor:
        cursor.adbc_ingest("t", MANY)
    many.close()
    assert elsewhere(db, "SELECT name FROM sqlite_schema") == [["old"]]
    ingested(adbc_driver_sqluice.dbapi, db, MANY)
    assert elsewhere(db, "SELECT count(*) FROM t") == [[50_000]]


def test_threads_with_connections_of_their_own_store_all_rows_as_pages(many: Any, db: Path) -> None:
    with many.cursor() as cursor:
        cursor.execute("CREATE TABLE t (a, b)")
        many.commit()
    failures: list[BaseException] = []

    def write() -> None:
        try:
            for _ in range(3):
                with connect(db) as made, made.cursor() as cursor:
                    cursor.execute("PRAGMA busy_timeout = 120000")
                    made.rollback()
                    cursor.adbc_ingest("t", MANY, mode="append")
                    made.commit()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert elsewhere(db, "SELECT count(*), count(DISTINCT a) FROM t") == [[24 * 50_000, 50_000]]


def test_a_cancelled_ingestion_of_many_rows_leaves_no_table(many: Any, db: Path) -> None:
    with many.cursor() as cursor:

        def batches() -> Iterator[pyarrow.RecordBatch]:
            for number in range(1000):
                if number == 30:
                    cursor.adbc_cancel()
                yield from MANY[:10_000].to_batches()

        reader = pyarrow.RecordBatchReader.from_batches(MANY.schema, batches())
        with pytest.raises((adbc_driver_manager.Error, OSError), match="interrupt"):
            cursor.adbc_ingest("t", reader)
        assert elsewhere(db, "SELECT name FROM sqlite_schema") == [["old"]]
        cursor.adbc_ingest("t", MANY)
        many.commit()
    assert elsewhere(db, "SELECT count(*) FROM t") == [[50_000]]


FULL = """
import resource, sys, pyarrow, adbc_driver_sqluice.dbapi as dbapi
table = pyarrow.table({"a": range(500_000)})
with dbapi.connect(sys.argv[1]) as connection, connection.cursor() as cursor:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
    try:
        cursor.adbc_ingest("t", table)
        connection.commit()
    except dbapi.Error as error:
        print("failed")
    connection.rollback()
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    cursor.adbc_ingest("t", table[:20_000])
    connection.commit()
"""


@pytest.mark.skipif(os.name == "nt", reason="this system has no such limit")
def test_a_full_disk_fails_an_ingestion_and_keeps_earlier_rows(many: Any, db: Path) -> None:
    many.close()
    process = subprocess.run([sys.executable, "-c", FULL, db], stdout=subprocess.PIPE, text=True, check=True)
    assert process.stdout == "failed\n"
    assert elsewhere(db, "SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM old)") == [[20_000, 1]]


KILLED_LATER = """
import sys, pyarrow, adbc_driver_sqluice.dbapi as dbapi
table = pyarrow.table({"a": range(100_000)})
with dbapi.connect(sys.argv[1]) as connection, connection.cursor() as cursor:
    cursor.adbc_ingest("t", table)
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_a_process_killed_before_the_commit_leaves_none_of_the_rows_written_as_pages(many: Any, db: Path) -> None:
    many.close()
    process = subprocess.Popen([sys.executable, "-c", KILLED_LATER, db], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.kill()
    process.communicate()
    assert elsewhere(db, "SELECT name FROM sqlite_schema") == [["old"]]
    ingested(adbc_driver_sqluice.dbapi, db, MANY)
    assert elsewhere(db, "SELECT count(*) FROM t") == [[50_000]]


def test_a_manifest_lets_driver_managers_find_the_driver_by_its_name(db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "drivers"
    made = subprocess.run([sys.executable, "-m", "adbc_driver_sqluice", "--folder", folder], stdout=subprocess.PIPE, text=True, check=True)
    assert made.stdout == f"{folder / 'sqluice.toml'}\n"
    monkeypatch.setenv("ADBC_DRIVER_PATH", str(folder))
    with adbc_driver_manager.dbapi.connect(driver="sqluice", db_kwargs={"uri": str(db)}) as connection, connection.cursor() as cursor:
        assert connection.adbc_get_info()["driver_name"] == "sqluice"
        cursor.adbc_ingest("t", TABLE)
        connection.commit()
    assert query(db, "SELECT count(*) FROM t") == [(3,)]


def test_a_manifest_that_cannot_be_written_is_an_error_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    command = [sys.executable, "-m", "adbc_driver_sqluice", "--folder", tmp_path / "file"]
    failed = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    assert failed.returncode == 1 and "name another folder: --folder FOLDER" in failed.stderr
    printed = subprocess.run(command[:3], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert "[Driver]\nshared = " in printed


@pytest.mark.parametrize("value", [None, "bar", 3, b"a\0b"], ids=str)
def test_the_error_about_an_unknown_option_shows_the_value(value: Any, connection: Any) -> None:
    shown = {None: "=(NULL)", "bar": "='bar'", 3: "=3"}.get(value, "=(3 bytes)")
    with pytest.raises(adbc_driver_manager.NotSupportedError, match=f"Unknown connection option foo{re.escape(shown)}"):
        connection.adbc_connection.set_options(foo=value)
    with connection.cursor() as cursor, pytest.raises(adbc_driver_manager.NotSupportedError, match=f"Unknown statement option foo{re.escape(shown)}"):
        cursor.adbc_statement.set_options(foo=value)
