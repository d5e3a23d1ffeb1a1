"""Faults of a server end the load: the error has the cause and no secret, and the target stays as it was."""

from __future__ import annotations

import os
import pty
import random
import shutil
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from effort import tries
from server import COMMAND, Done, Postgres, Server, load

PASSWORD = "hunter2-%ü"
WRONG = "wrong-pa55word"
ROWS = 20_000

PASSWORD_OF = {"postgres": "PGPASSWORD", "mariadb": "MYSQL_PWD"}


def fails(done: Done, cause: str, database: Path) -> None:
    """Asserts that a load fails by a cause, makes no file, and shows no password."""
    output = done.stdout + done.stderr
    assert done.returncode != 0, output
    assert cause in output, output
    assert not any(database.parent.glob(f"{database.name}*"))
    assert not any(secret in output for secret in (PASSWORD, WRONG)), output


def make_rows(server: Server) -> None:
    """Makes a database with a table of a few megabytes, and a user with a password."""
    series = f"generate_series(1, {ROWS}) n" if server.name == "postgres" else f"(SELECT seq AS n FROM seq_1_to_{ROWS}) s"
    server.make("faults", f"CREATE TABLE numbered (id integer, label varchar(200)); INSERT INTO numbered SELECT n, repeat('x', 100) FROM {series};")


def as_user(server: Server, user: str, database: str = "faults") -> str:
    """Returns the URL for another user."""
    return server.url(database).replace("postgres://postgres@", f"postgres://{user}@").replace("mysql://root@", f"mysql://{user}@")


@pytest.fixture
def passwords(server: Server) -> Iterator[Server]:
    """A server that asks the user ann for a password."""
    make_rows(server)
    if server.name == "postgres":
        rules = Path(server.place) / "data/pg_hba.conf"
        before = rules.read_text()
        rules.write_text("local all ann scram-sha-256\nlocal all bob reject\n" + before)
        server.sql(f"DROP ROLE IF EXISTS ann; CREATE ROLE ann LOGIN PASSWORD '{PASSWORD}'; SELECT pg_reload_conf();")
        server.sql("GRANT SELECT ON numbered TO ann;", "faults")
    else:
        server.sql(f"CREATE OR REPLACE USER ann@localhost IDENTIFIED BY '{PASSWORD}'; GRANT SELECT ON faults.* TO ann@localhost;")
    yield server
    if server.name == "postgres":
        rules.write_text(before)
        server.sql("REVOKE ALL ON numbered FROM ann;", "faults")
        server.sql("DROP ROLE ann; SELECT pg_reload_conf();")
    else:
        server.sql("DROP USER ann@localhost;")


def test_the_error_about_a_failed_login_names_the_cause_and_shows_no_password(passwords: Server, tmp_path: Path) -> None:
    server, database = passwords, tmp_path / "x.db"
    is_postgres = server.name == "postgres"
    password = PASSWORD_OF[server.name]
    for url, given, cause in [
        (as_user(server, "ann"), {password: WRONG}, "password authentication failed" if is_postgres else "Access denied"),
        (as_user(server, "ann"), {}, "asks for the password of ann" if is_postgres else "Access denied"),
        (as_user(server, "nobody_knows"), {password: WRONG}, "nobody_knows"),
        (as_user(server, "ann", "no_such_database"), {password: PASSWORD}, "no_such_database"),
        (server.url("faults").replace("@/", "@no-such-host.invalid/").split("?")[0], {password: PASSWORD}, "no-such-host.invalid"),
        (server.url("faults").split("?")[0] + ("?host" if is_postgres else "?socket") + "=/no/such/place", {password: PASSWORD}, "there is no such socket"),
        # A password in the URL would be in the list of processes, so it is refused, and the error does not repeat it.
        (as_user(server, f"ann:{WRONG}"), {}, "password"),
    ]:
        for flags in (["-v"], ["--json"], ["--dry-run"]):
            fails(load(*flags, database, url, environment=given), cause, database)
    loaded = load("-v", database, as_user(server, "ann"), environment={password: PASSWORD})
    assert loaded.returncode == 0, loaded.stderr
    assert PASSWORD not in loaded.stdout + loaded.stderr


def typed(words: list[object], answer: bytes, asked: bytes) -> tuple[int, bytes]:
    """Runs the command on a terminal, types the answer when it is asked for, and returns the exit status and all that the terminal shows."""
    process, terminal = pty.fork()
    if process == 0:
        os.execv(COMMAND, [str(COMMAND), *map(str, words)])
    shown = b""
    try:
        while asked not in shown:
            shown += os.read(terminal, 1024)
        os.write(terminal, answer)
        while read := os.read(terminal, 1024):
            shown += read
    except OSError:
        # Reading from the terminal fails when the command has ended.
        pass
    finally:
        os.close(terminal)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status), shown


def test_a_password_is_asked_for_and_not_shown(passwords: Server, tmp_path: Path) -> None:
    url, database = as_user(passwords, "ann"), tmp_path / "x.db"
    words = ["load", "--ask-password", database, url]
    status, shown = typed(words, f"{WRONG}\n".encode(), b"Password for ")
    assert status == 1 and WRONG.encode() not in shown, shown
    assert b"password authentication failed" in shown or b"Access denied" in shown, shown
    # Ctrl-C
    status, shown = typed(words, b"\x03", b"Password for ")
    assert status == 130, (status, shown)
    status, shown = typed(words, f"{PASSWORD}\n".encode(), b"Password for ")
    assert status == 0 and PASSWORD.encode() not in shown, shown
    assert rows_of(database) == ROWS
    database.unlink()
    fails(load("--ask-password", database, url), "no terminal can ask for the password", database)
    fails(load("--ask-password", database, tmp_path / "x.csv"), "is for the URL of a server", database)


class Proxy:
    """A socket before that of a server, which cuts connections after a number of bytes of the server."""

    def __init__(self, server: Server, folder: Path):
        self.server = server
        self.of_server = f"{server.place}/.s.PGSQL.5432" if server.name == "postgres" else server.place
        self.path = folder / (".s.PGSQL.5432" if server.name == "postgres" else "s")
        self.bytes_left = 0
        self.bytes_seen = 0
        self.lock = threading.Lock()
        self.ends: list[socket.socket] = []
        self.copies: list[threading.Thread] = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen()
        self.thread = threading.Thread(target=self.accept)
        self.thread.start()

    def url(self, database: str) -> str:
        place = self.path.parent if self.server.name == "postgres" else self.path
        return self.server.url(database).replace(self.server.place, str(place))

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.of_server)
            self.ends += [client, server]
            for source, target in ((client, server), (server, client)):
                self.copies.append(threading.Thread(target=self.copy, args=(source, target, source is server)))
                self.copies[-1].start()

    def copy(self, source: socket.socket, target: socket.socket, is_counted: bool) -> None:
        try:
            while data := source.recv(1 << 16):
                if is_counted:
                    with self.lock:
                        allowed = min(len(data), self.bytes_left)
                        self.bytes_left -= allowed
                        self.bytes_seen += allowed
                    target.sendall(data[:allowed])
                    if allowed < len(data):
                        break
                else:
                    target.sendall(data)
        except OSError:
            pass
        self.hang_up(source, target)

    @staticmethod
    def hang_up(*ends: socket.socket) -> None:
        for end in ends:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self) -> None:
        self.hang_up(self.listener)
        self.thread.join()
        self.hang_up(*self.ends)
        for copy in self.copies:
            copy.join()
        for end in (self.listener, *self.ends):
            end.close()


@contextmanager
def proxy_of(server: Server, folder: Path) -> Iterator[Proxy]:
    folder.mkdir()
    proxy = Proxy(server, folder)
    try:
        yield proxy
    finally:
        proxy.close()


def rows_of(database: Path) -> int:
    made = sqlite3.connect(database)
    try:
        (rows,) = made.execute("SELECT count(*) FROM numbered").fetchone()
        assert made.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return int(rows)
    finally:
        made.close()


def test_a_load_whose_connection_is_cut_stores_all_rows_or_leaves_the_target_as_it_was(server: Server, tmp_path: Path) -> None:
    make_rows(server)
    rnd = random.Random(1)
    with proxy_of(server, tmp_path / "proxy") as proxy:
        proxy.bytes_left = 1 << 40
        before = tmp_path / "before.db"
        loaded = load("-q", before, proxy.url("faults"))
        assert loaded.returncode == 0, loaded.stderr
        total = proxy.bytes_seen
        assert total > 100 * ROWS
        cuts = [0, 1, 50, total - 200] + [rnd.randrange(total) for _ in range(tries(4, 10, 200))] + [rnd.randrange(5000) for _ in range(tries(4, 10, 200))]
        for cut in cuts:
            for appends in (False, True):
                folder = tmp_path / "target"
                folder.mkdir()
                database = folder / "x.db"
                if appends:
                    shutil.copy(before, database)
                proxy.bytes_left = cut
                loaded = load("-q", *(["--append"] if appends else []), database, proxy.url("faults"))
                if loaded.returncode == 0:
                    # All rows had arrived: only the end of the session was cut off.
                    assert cut > total - 1000
                    assert rows_of(database) == ROWS * (1 + appends)
                else:
                    assert "connect" in loaded.stderr, loaded.stderr
                    assert [file.name for file in folder.iterdir()] == (["x.db"] if appends else [])
                    assert not appends or rows_of(database) == ROWS
                shutil.rmtree(folder)


def sessions(server: Server) -> list[str]:
    """Returns the numbers of the sessions of loads."""
    if server.name == "postgres":
        return server.sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'sqluice';").split()
    return server.sql("SELECT id FROM information_schema.processlist WHERE db = 'faults' AND id <> connection_id();").split()


def slow_query(server: Server) -> list[str]:
    """Returns the arguments for a query whose rows take minutes."""
    wait = "pg_sleep(0.01)::text" if server.name == "postgres" else "sleep(0.01)"
    return ["--query", f"SELECT id, label, {wait} AS waited FROM numbered", "--table", "numbered"]


@contextmanager
def slow_load(server: Server, database: Path) -> Iterator[subprocess.Popen[str]]:
    """Starts a load that waits for rows of the server."""
    words = [COMMAND, "load", "-q", *slow_query(server), database, server.url("faults")]
    process = subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while not sessions(server):
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        time.sleep(0.5)
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_load_whose_session_the_server_terminates_fails_and_leaves_no_file(server: Server, tmp_path: Path) -> None:
    make_rows(server)
    database = tmp_path / "x.db"
    with slow_load(server, database) as process:
        for number in sessions(server):
            server.try_sql(f"SELECT pg_terminate_backend({number});" if server.name == "postgres" else f"KILL {number};")
        out, err = process.communicate(timeout=60)
    done = subprocess.CompletedProcess([], process.returncode, out, err)
    # A server that is sending rows closes the connection without a message.
    cause = "administrator command" if "administrator command" in err else "connection"
    fails(done, cause, database)
    assert "cannot run the query" in err or "numbered" in err, err
    assert list(tmp_path.iterdir()) == []


def test_a_killed_load_leaves_no_session_and_no_incomplete_database(server: Server, tmp_path: Path) -> None:
    make_rows(server)
    database = tmp_path / "x.db"
    with slow_load(server, database) as process:
        process.kill()
        process.communicate()
    assert not database.exists()
    # The server notices the closed connection only when it sends rows, so the sessions may end later.
    deadline = time.monotonic() + 60
    while sessions(server):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    rnd = random.Random(2)
    for _ in range(tries(3, 6, 100)):
        words = [COMMAND, "load", "-q", "--overwrite", database, server.url("faults")]
        process = subprocess.Popen(list(map(str, words)))
        time.sleep(rnd.random() * 1.2)
        process.kill()
        process.wait()
        assert not database.exists() or rows_of(database) == ROWS


def test_a_full_disk_leaves_no_database(server: Server, tmp_path: Path) -> None:
    make_rows(server)
    database = tmp_path / "x.db"
    done = load("-q", "--temp-dir", tmp_path, database, server.url("faults"), before="trap '' XFSZ; ulimit -f 500")
    fails(done, "File too large", database)
    assert list(tmp_path.iterdir()) == []


def test_time_limits_of_the_server_for_statements_do_not_end_a_load(server: Server, tmp_path: Path) -> None:
    make_rows(server)
    if server.name == "postgres":
        server.sql("ALTER DATABASE faults SET statement_timeout = '1ms'; ALTER DATABASE faults SET idle_in_transaction_session_timeout = '1ms';")
        loaded = load("-q", tmp_path / "x.db", server.url("faults"))
    else:
        server.sql("SET GLOBAL max_statement_time = 0.001;")
        try:
            loaded = load("-q", tmp_path / "x.db", server.url("faults"))
        finally:
            server.sql("SET GLOBAL max_statement_time = 0;")
    assert loaded.returncode == 0, loaded.stderr
    assert rows_of(tmp_path / "x.db") == ROWS


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="the peak of a process is not known here")
def test_peak_memory_is_at_most_the_limit_plus_four_of_the_longest_rows_as_text(server: Server, tmp_path: Path) -> None:
    # Rows of 100 MB are tested only in a soak. Shorter rows must keep the same limit, and take less time.
    row_bytes, memory_bytes = tries(10_000_000, 10_000_000, 100_000_000), 64 << 20
    if server.name == "postgres":
        server.make("faults", f"CREATE TABLE large (id integer, v bytea); INSERT INTO large SELECT n, decode(repeat('00ff', {row_bytes // 2}), 'hex') FROM generate_series(1, 12) n;")
    else:
        server.sql("SET GLOBAL max_allowed_packet = 1073741824;")
        server.make("faults", f"CREATE TABLE large (id int, v longblob); INSERT INTO large SELECT seq, repeat(x'00ff', {row_bytes // 2}) FROM seq_1_to_12;")
    server.sql("CREATE TABLE small (id integer); INSERT INTO small VALUES (1);", "faults")
    errors = tmp_path / "errors"

    def peak_of(table: str, database: Path) -> tuple[int, int]:
        """Loads a table. Returns the exit status, and the bytes of the peak memory."""
        words = [COMMAND, "load", "-q", "--memory", "64MiB", "--table", table, database, server.url("faults")]
        with errors.open("wb") as file:
            process = subprocess.Popen(list(map(str, words)), stderr=file)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, usage.ru_maxrss * 1024

    # The memory of the program for a single row; a debug build is large.
    _, program_bytes = peak_of("small", tmp_path / "small.db")
    database = tmp_path / "x.db"
    status, peak_bytes = peak_of("large", database)
    server.sql("DROP TABLE large;", "faults")
    # A row may be too long for the memory. The load then fails with an error that says so.
    if status != 0:
        assert "longer than" in errors.read_text() and "--memory" in errors.read_text()
        assert not database.exists()
    else:
        made = sqlite3.connect(database)
        assert made.execute("SELECT count(*), min(length(v)) FROM large").fetchone() == (12, row_bytes)
        made.close()
    print(f"{server.name}: exit {status}, {peak_bytes / 1e6:.0f} MB, {program_bytes / 1e6:.0f} of them the program")
    # A byte is two digits in the text that the server sends.
    assert peak_bytes <= program_bytes + memory_bytes + 4 * 2 * row_bytes


def test_errors_about_row_security_and_missing_rights_name_a_remedy(postgres: Postgres, tmp_path: Path) -> None:
    make_rows(postgres)
    postgres.try_sql("DROP OWNED BY limited;", "faults")
    postgres.sql("DROP ROLE IF EXISTS limited; CREATE ROLE limited LOGIN;")
    url, database = as_user(postgres, "limited"), tmp_path / "x.db"
    denied = load(database, url)
    fails(denied, "GRANT SELECT", database)
    postgres.sql("GRANT SELECT ON numbered TO limited; ALTER TABLE numbered ENABLE ROW LEVEL SECURITY; CREATE POLICY few ON numbered USING (id <= 10);", "faults")
    filtered = load(database, url)
    fails(filtered, "--row-security", database)
    assert "GRANT" not in filtered.stderr
    loaded = load("-q", "--row-security", database, url)
    assert loaded.returncode == 0, loaded.stderr
    assert rows_of(database) == 10
    postgres.sql("DROP OWNED BY limited;", "faults")
    postgres.sql("DROP ROLE limited;")


def test_a_condition_for_a_table_that_is_left_out_is_refused(server: Server, tmp_path: Path) -> None:
    server.make("faults", "CREATE TABLE a (id int); CREATE TABLE b (id int); INSERT INTO a VALUES (1), (2); INSERT INTO b VALUES (1);")
    database = tmp_path / "x.db"
    refused = load("--table", "b", "--where", "a=id = 1", database, server.url("faults"))
    fails(refused, "the table a has a condition for its rows, and is not among the tables to load", database)
    loaded = load("-q", "--table", "b", "--table", "a", "--where", "a=id = 1", database, server.url("faults"))
    assert loaded.returncode == 0, loaded.stderr
    made = sqlite3.connect(database)
    assert made.execute("SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)").fetchone() == (1, 1)
    made.close()


def test_columns_of_the_same_name_in_a_query_get_numbers(server: Server, tmp_path: Path) -> None:
    server.make("faults", "CREATE TABLE a (id int); INSERT INTO a VALUES (1);")
    query = "SELECT x.id, y.id + 1 AS id, z.id + 2 AS id_2 FROM a x, a y, a z"
    loaded = load("-q", "--query", query, "--table", "joined", tmp_path / "x.db", server.url("faults"))
    assert loaded.returncode == 0, loaded.stderr
    made = sqlite3.connect(tmp_path / "x.db")
    assert made.execute("SELECT id, id_2, id_2_2 FROM joined").fetchall() == [(1, 2, 3)]
    made.close()


def test_an_index_of_any_name_is_loaded_with_the_tables_of_a_schema(postgres: Postgres, tmp_path: Path) -> None:
    names = ["a ON b", "x TABLE y", "plain"]
    indexes = " ".join(f'CREATE INDEX "{name}" ON s.t (id);' for name in names)
    postgres.make("faults", f"CREATE SCHEMA s; CREATE TABLE s.t (id int); CREATE TABLE other (id int); CREATE INDEX left_out ON other (id); {indexes}")
    loaded = load("-q", "--schema-name", "s", tmp_path / "x.db", postgres.url("faults"))
    assert loaded.returncode == 0, loaded.stderr
    made = sqlite3.connect(tmp_path / "x.db")
    assert {name for (name,) in made.execute("SELECT name FROM sqlite_schema WHERE type = 'index'")} == set(names)
    made.close()
