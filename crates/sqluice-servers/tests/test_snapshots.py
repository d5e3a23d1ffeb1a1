"""A load is one snapshot while other sessions write, empty, alter and rename the tables, or it ends with an error that names a table."""

from __future__ import annotations

import os
import random
import re
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from effort import tries
from server import MariaDb, Postgres, Server, load

ACCOUNTS = 25_000
BALANCE = 100
ROWS = 3000

# Pages that are nearly empty, or wide rows, make tables large enough for several connections.
POSTGRES = f"""
    CREATE TABLE account (id integer PRIMARY KEY, balance integer NOT NULL, padding text NOT NULL) WITH (fillfactor = 10);
    INSERT INTO account SELECT n, {BALANCE}, repeat('x', 100) FROM generate_series(1, {ACCOUNTS}) n;
    CREATE TABLE orders (id integer PRIMARY KEY, account integer NOT NULL REFERENCES account, items integer NOT NULL);
    CREATE TABLE items (order_id integer REFERENCES orders, number integer, PRIMARY KEY (order_id, number));
    CREATE TABLE emptied (id integer PRIMARY KEY);
    INSERT INTO emptied SELECT n FROM generate_series(1, {ROWS}) n;
    CREATE TABLE altered (id integer PRIMARY KEY, value integer);
    INSERT INTO altered SELECT n, n FROM generate_series(1, {ROWS}) n;
    CREATE TABLE renamed (id integer PRIMARY KEY);
    INSERT INTO renamed SELECT n FROM generate_series(1, {ROWS}) n;
    ANALYZE;
"""
POSTGRES_DDL = [
    f"BEGIN; TRUNCATE emptied; INSERT INTO emptied SELECT n FROM generate_series(1, {ROWS}) n; COMMIT;",
    "ALTER TABLE altered ALTER COLUMN value TYPE bigint; ALTER TABLE altered ALTER COLUMN value TYPE integer;",
    "ALTER TABLE account ADD COLUMN added double precision DEFAULT random(); ALTER TABLE account DROP COLUMN added;",
    "ALTER TABLE renamed RENAME TO renamed_again; ALTER TABLE renamed_again RENAME TO renamed;",
    "CREATE TABLE passing AS SELECT 1 AS id; DROP TABLE passing;",
]
MARIADB = f"""
    CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL, padding varchar(500) NOT NULL) CHARACTER SET latin1;
    INSERT INTO account SELECT seq, {BALANCE}, repeat('x', 400) FROM seq_1_to_{ACCOUNTS};
    CREATE TABLE orders (id int PRIMARY KEY, account int NOT NULL, items int NOT NULL, FOREIGN KEY (account) REFERENCES account (id));
    CREATE TABLE items (order_id int, number int, PRIMARY KEY (order_id, number), FOREIGN KEY (order_id) REFERENCES orders (id));
    CREATE TABLE emptied (id int PRIMARY KEY);
    INSERT INTO emptied SELECT seq FROM seq_1_to_{ROWS};
    CREATE TABLE altered (id int PRIMARY KEY, value int);
    INSERT INTO altered SELECT seq, seq FROM seq_1_to_{ROWS};
    CREATE TABLE renamed (id int PRIMARY KEY);
    INSERT INTO renamed SELECT seq FROM seq_1_to_{ROWS};
    ANALYZE TABLE account;
"""
MARIADB_DDL = [
    f"TRUNCATE emptied; INSERT INTO emptied SELECT seq FROM seq_1_to_{ROWS};",
    "ALTER TABLE altered MODIFY value bigint; ALTER TABLE altered MODIFY value int;",
    "ALTER TABLE altered ADD COLUMN added int DEFAULT 1, ALGORITHM=COPY; ALTER TABLE altered DROP COLUMN added, ALGORITHM=COPY;",
    "ALTER TABLE account FORCE;",
    "RENAME TABLE renamed TO renamed_again; RENAME TABLE renamed_again TO renamed;",
    "CREATE TABLE passing AS SELECT 1 AS id; DROP TABLE passing;",
]
TABLES = re.compile(r"\b(account|orders|items|emptied|altered|renamed|renamed_again|passing)\b")


def transactions(rnd: random.Random, first: int) -> str:
    """Returns transfers and orders. Each statement alone keeps the sum of the balances, because others may be refused."""
    sql = []
    for order in range(first, first + 50):
        one, other = rnd.sample(range(1, ACCOUNTS + 1), 2)
        count = rnd.randint(1, 4)
        items = ", ".join(f"({order}, {number})" for number in range(count))
        sql += [
            "BEGIN;",
            f"UPDATE account SET balance = balance + CASE id WHEN {one} THEN -5 ELSE 5 END WHERE id IN ({one}, {other});",
            f"INSERT INTO orders VALUES ({order}, {one}, {count});",
            f"INSERT INTO items VALUES {items};",
            "COMMIT;",
        ]
    return "\n".join(sql)


@contextmanager
def writers(server: Server, *, alter_tables: bool) -> Iterator[Counter[str]]:
    """Runs sessions that write to the tables, and one that alters them. Gives the number of their batches."""
    stopped = threading.Event()
    batches: Counter[str] = Counter()
    words = server.client_words("bank")
    # A refused statement does not end a session.
    words = [*words, "-v", "ON_ERROR_STOP=0"] if server.name == "postgres" else [*words, "--force"]

    def run(sql: str) -> None:
        subprocess.run(words, input=sql, capture_output=True, text=True, check=False)

    def write(number: int) -> None:
        rnd, first = random.Random(number), number * 10_000_000
        while not stopped.is_set():
            run(transactions(rnd, first))
            first += 50
            batches["transactions"] += 1

    def alter() -> None:
        rnd = random.Random(7)
        while not stopped.is_set():
            run(rnd.choice(POSTGRES_DDL if server.name == "postgres" else MARIADB_DDL))
            batches["declarations"] += 1
            time.sleep(rnd.random() * 0.05)

    # Each session of each of the two phases has numbers of orders of its own.
    threads = [threading.Thread(target=write, args=(number + 2 * alter_tables,)) for number in (1, 2)]
    threads += [threading.Thread(target=alter)] if alter_tables else []
    for thread in threads:
        thread.start()
    try:
        yield batches
    finally:
        stopped.set()
        for thread in threads:
            thread.join()


def verify(database: Path, server: Server) -> None:
    """Verifies that the rows are those of one snapshot."""
    made = sqlite3.connect(database)
    try:

        def one(sql: str) -> tuple[int, ...]:
            row: tuple[int, ...] = made.execute(sql).fetchone()
            return row

        assert one("SELECT count(*), sum(balance) FROM account") == (ACCOUNTS, ACCOUNTS * BALANCE)
        assert made.execute("PRAGMA foreign_key_check").fetchall() == []
        differing = "SELECT count(*) FROM orders WHERE items <> (SELECT count(*) FROM items WHERE order_id = orders.id)"
        assert one(differing) == (0,)
        # MariaDB commits TRUNCATE before the rows that follow.
        assert one("SELECT count(*) FROM emptied")[0] in ((ROWS,) if server.name == "postgres" else (0, ROWS))
        assert one("SELECT count(*) FROM altered") == (ROWS,)
        names = {name for (name,) in made.execute("SELECT name FROM sqlite_schema WHERE name IN ('renamed', 'renamed_again')")}
        assert len(names) == 1
        assert one(f"SELECT count(*) FROM {names.pop()}") == (ROWS,)
    finally:
        made.close()


def loads_are_snapshots(server: Server, folder: Path, *arguments: str) -> None:
    """Loads the tables many times beside writers, and beside writers and statements that alter tables."""
    loads = int(os.environ.get("SERVERS_LOADS", "0")) or tries(2, 5, 50)
    for alter_tables in (True, False):
        outcomes: Counter[str] = Counter()
        with writers(server, alter_tables=alter_tables) as batches:
            for number in range(loads):
                database = folder / f"{number}.db"
                loaded = load("-q", *arguments, database, server.url("bank"))
                if loaded.returncode == 0:
                    verify(database, server)
                    database.unlink()
                else:
                    assert alter_tables, loaded.stderr
                    assert TABLES.search(loaded.stderr.splitlines()[0]), loaded.stderr
                assert list(folder.iterdir()) == []
                outcomes[loaded.stderr.strip() or "loaded"] += 1
        print(f"{server.name} {' '.join(arguments)}: {dict(outcomes)}, batches: {dict(batches)}")
        assert batches["transactions"] > 0
        assert (batches["declarations"] > 0) == alter_tables
        assert outcomes["loaded"] > loads // 2, outcomes


@pytest.mark.parametrize("connections", [1, 2])
def test_a_load_of_postgres_stores_one_snapshot_while_other_sessions_write(postgres: Postgres, tmp_path: Path, connections: int) -> None:
    postgres.make("bank", POSTGRES)
    planned = load("--dry-run", "--connections", connections, tmp_path / "x.db", postgres.url("bank"))
    assert ("2 connections read rows" in planned.stdout + planned.stderr) == (connections == 2), planned
    loads_are_snapshots(postgres, tmp_path, "--connections", str(connections))


@pytest.mark.parametrize(("connections", "isolation"), [(1, "REPEATABLE READ"), (1, "READ COMMITTED"), (2, "READ COMMITTED")])
def test_a_load_of_mariadb_stores_one_snapshot_while_other_sessions_write(mariadb: MariaDb, tmp_path: Path, connections: int, isolation: str) -> None:
    mariadb.make("bank", MARIADB)
    mariadb.sql(f"SET GLOBAL TRANSACTION ISOLATION LEVEL {isolation};")
    try:
        loads_are_snapshots(mariadb, tmp_path, "--connections", str(connections), *(["--lock"] if connections > 1 else []))
    finally:
        mariadb.sql("SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ;")
