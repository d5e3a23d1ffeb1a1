"""Compares loading tables of PostgreSQL and MariaDB servers with the servers' clients and with other tools, in alternating rounds.

A load is compared with the server's own client, which reads the same rows over as many connections and discards them: for PostgreSQL COPY
in its binary format, for MariaDB a SELECT in quick mode. The tools db-to-sqlite and mysql-to-sqlite3 load fewer rows, and are compared by
rate. The loaded rows are counted and summed up before the time is recorded. Seconds on cores are those of the client's processes, without
the server's.
"""

from __future__ import annotations

import argparse
import os
import resource
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from house import House, Lap, Way, timed

COLUMNS = (
    "l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int, l_quantity decimal(15,2), l_extendedprice decimal(15,2), "
    "l_discount decimal(15,2), l_tax decimal(15,2), l_returnflag char(1), l_linestatus char(1), l_shipdate date, l_commitdate date, "
    "l_receiptdate date, l_shipinstruct char(25), l_shipmode char(10), l_comment varchar(44)"
)


def run(*command: str, text: str | None = None, into: Path | None = None) -> str:
    """Runs a command to its end. Writes its output to the file `into`, or returns it."""
    with open(into or os.devnull, "wb") as out:
        done = subprocess.run(command, input=text, stdout=out if into else subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed:\n{done.stderr[-2000:]}")
    return done.stdout or ""


def together(commands: list[list[str]]) -> None:
    """Runs commands at the same time, and discards their output."""
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
    if any([process.wait() != 0 for process in processes]):
        raise SystemExit(f"{commands[0][0]} failed")


def facts(db: Path, table: str = "lineitem") -> tuple[int, int]:
    """Returns the row count and the sum of a column, in hundredths, of a table. Then removes the database."""
    with closing(sqlite3.connect(db)) as connection:
        found: tuple[int, int] = connection.execute(f"SELECT count(*), sum(CAST(round(l_extendedprice * 100) AS INTEGER)) FROM {table}").fetchone()
    os.remove(db)
    return found


def forwarded(path: str) -> int:
    """Listens on a local TCP port and forwards connections to a Unix socket, which mysql-to-sqlite3 can't use. Returns the port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def copy(source: socket.socket, to: socket.socket) -> None:
        while data := source.recv(1 << 20):
            to.sendall(data)
        to.close()

    def serve() -> None:
        while True:
            client, _ = listener.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(path)
            for pair in ((client, server), (server, client)):
                threading.Thread(target=copy, args=pair, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    port: int = listener.getsockname()[1]
    return port


class Server:
    """A server with the table `lineitem`, and the table `few` with the first rows of it."""

    name: str
    # The server's client, and the other tool that loads tables of the server.
    client_name: str
    peer_name: str
    # The smallest ratio of rates, of sqluice to the other tool.
    wanted: float

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        query = {key: values[0] for key, values in parse_qs(urlsplit(url).query).items()}
        self.user = urlsplit(url).username or "root"
        self.socket = query.get("host") or query["socket"]

    def database(self) -> str:
        """Returns the URL of the database for sqluice."""
        beginning, _, query = self.url.partition("?")
        return f"{beginning.rstrip('/')}/bench?{query}"

    def client(self, *arguments: str, database: str = "bench") -> list[str]:
        raise NotImplementedError

    def fill(self, csv: Path, few: int) -> None:
        raise NotImplementedError

    def value(self, sql: str) -> str:
        raise NotImplementedError

    def reads(self, connections: int) -> list[list[str]]:
        """Returns commands that read the table with the server's client, one for each connection."""
        raise NotImplementedError

    def peer(self, db: Path) -> list[str]:
        raise NotImplementedError

    def facts(self, table: str) -> tuple[int, int]:
        rows, total = self.value(f"SELECT count(*), sum(l_extendedprice * 100) FROM {table}").replace("|", "\t").split("\t")
        return int(rows), round(float(total))


class Postgres(Server):
    name = "PostgreSQL"
    client_name = "psql"
    peer_name = "db-to-sqlite"
    wanted = 20.0

    def client(self, *arguments: str, database: str = "bench") -> list[str]:
        return ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", self.socket, "-U", self.user, "-d", database, *arguments]

    def value(self, sql: str) -> str:
        return run(*self.client("-At", "-c", sql)).strip()

    def fill(self, csv: Path, few: int) -> None:
        run(*self.client("-c", "CREATE DATABASE bench", database="postgres"))
        # UNLOGGED saves minutes of writing: the data need not survive a crash.
        run(*self.client("-c", f"CREATE UNLOGGED TABLE lineitem ({COLUMNS})"))
        run(*self.client("-c", f"\\copy lineitem FROM '{csv}' (FORMAT csv, HEADER)"))
        run(*self.client("-c", f"CREATE UNLOGGED TABLE few AS SELECT * FROM lineitem LIMIT {few}", "-c", "VACUUM ANALYZE"))

    def reads(self, connections: int) -> list[list[str]]:
        if connections == 1:
            return [self.client("-c", "COPY lineitem TO STDOUT (FORMAT binary)")]
        pages = int(self.value("SELECT relpages FROM pg_class WHERE relname = 'lineitem'"))
        cut = pages // 2
        halves = [f"ctid < '({cut},0)'", f"ctid >= '({cut},0)'"]
        return [self.client("-c", f"COPY (SELECT * FROM lineitem WHERE {half}) TO STDOUT (FORMAT binary)") for half in halves]

    def peer(self, db: Path) -> list[str]:
        return ["db-to-sqlite", f"postgresql+psycopg2://{self.user}@/bench?host={self.socket}", str(db), "--table", "few"]


class MariaDb(Server):
    name = "MariaDB"
    client_name = "mariadb"
    peer_name = "mysql-to-sqlite3"
    wanted = 12.0

    def client(self, *arguments: str, database: str = "bench") -> list[str]:
        return ["mariadb", "--no-defaults", "-u", self.user, "-S", self.socket, "--quick", "-NB", *arguments, database]

    def value(self, sql: str) -> str:
        return run(*self.client("-e", sql)).strip()

    def fill(self, csv: Path, few: int) -> None:
        run(*self.client("-e", "CREATE DATABASE bench", database="mysql"))
        # By the numbered key, two connections can each read half of the table.
        make = f"CREATE TABLE lineitem (id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, {COLUMNS})"
        names = ", ".join(column.split()[0] for column in COLUMNS.split(", "))
        load = f"LOAD DATA LOCAL INFILE '{csv}' INTO TABLE lineitem FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' IGNORE 1 LINES ({names})"
        run(*self.client("--local-infile=1", "-e", make), text=None)
        run(*self.client("--local-infile=1", "-e", load))
        run(*self.client("-e", f"CREATE TABLE few AS SELECT * FROM lineitem LIMIT {few}; ANALYZE TABLE lineitem, few"))

    def reads(self, connections: int) -> list[list[str]]:
        if connections == 1:
            return [self.client("-e", "SELECT * FROM lineitem")]
        cut = int(self.value("SELECT max(id) DIV 2 FROM lineitem"))
        return [self.client("-e", f"SELECT * FROM lineitem WHERE id {half} {cut}") for half in ("<", ">=")]

    def peer(self, db: Path) -> list[str]:
        port = str(forwarded(self.socket))
        return ["mysql2sqlite", "-f", str(db), "-d", "bench", "-u", self.user, "-h", "127.0.0.1", "-P", port, "-t", "few", "--quiet"]


def data(folder: Path, rows: int) -> Path:
    """Writes rows of TPC-H's lineitem to a CSV file, and returns its path."""
    db, csv = folder / "tpch.db", folder / "lineitem.csv"
    # The scale is at least 0.03, because at smaller scales a part has the same supplier twice.
    scale = max(rows / 6_000_000 * 1.01, 0.03)
    run("sqluice", "generate", str(db), "--preset", "tpch", "--scale", f"{scale:.4f}", "-q")
    run("sqluice", "export", str(db), "lineitem", "--limit", str(rows), "--to", str(csv), "-q")
    os.remove(db)
    csv.chmod(0o644)
    return csv


def compare(house: House, server: Server, folder: Path, rows: int, few: int) -> None:
    db = folder / "out.db"
    expected, expected_few = server.facts("lineitem"), server.facts("few")
    assert (expected[0], expected_few[0]) == (rows, few), (expected, expected_few)
    kind = server.name.lower()

    def lap(number: int, run: Callable[[], object], wanted: tuple[int, int] | None, table: str = "lineitem") -> Lap:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        lap = timed(number, run)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        lap.cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if wanted is not None and (found := facts(db, table)) != wanted:
            raise SystemExit(f"{server.name}: {found} instead of {wanted}")
        return lap

    ways: list[Way] = []
    for connections, words in ((1, "one connection"), (2, "two connections")):
        lock = ["--lock"] if connections > 1 and isinstance(server, MariaDb) else []
        command = ["sqluice", "load", str(db), server.database(), "--table", "lineitem", "--connections", str(connections), *lock, "-q"]
        reads = server.reads(connections)
        title = " ".join(["`sqluice load", *lock]) + f"`, {words}"

        def load(command: list[str] = command) -> Lap:
            return lap(rows, lambda: run(*command), expected)

        def read(reads: list[list[str]] = reads) -> Lap:
            return lap(rows, lambda: together(reads), None)

        ways.append(Way(f"{kind}-sqluice-{connections}", title, load))
        ways.append(Way(f"{kind}-client-{connections}", f"`{server.client_name}`, {words}", read))
    ways.append(Way(f"{kind}-peer", server.peer_name, lambda: lap(few, lambda: run(*server.peer(db)), expected_few, "few")))
    house.compare(server.name, ways)
    for connections, words, claim in ((1, "one connection", "at most 1.2"), (2, "two connections", "at most 1.6")):
        what = f"{server.name}: time with {words} to that of the client"
        house.ratio(what, "time", f"{kind}-sqluice-{connections}", f"{kind}-client-{connections}", claim)
    house.ratio(f"{server.name}: rate to that of {server.peer_name}", "rate", f"{kind}-sqluice-2", f"{kind}-peer", f"at least {server.wanted:g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000, help="of lineitem [default: 5000000]")
    parser.add_argument("--few", type=int, default=100_000, help="that the other tools load [default: 100000]")
    parser.add_argument("--rounds", type=int, default=3, help="[default: 3]")
    parser.add_argument("--only", choices=["mariadb", "postgres"], help="one of the servers")
    parser.add_argument("--dir", type=Path, help="where databases are made")
    args = parser.parse_args()
    kinds: dict[str, type[Server]] = {"postgres": Postgres, "mariadb": MariaDb}
    house, beside = House("servers", args.rounds, ["rows", "seconds", "rate", "cores"]), []
    with tempfile.TemporaryDirectory(dir=args.dir) as name:
        folder = Path(name)
        # The servers, which run as another user, must be able to read the folder.
        folder.chmod(0o755)
        csv = data(folder, args.rows)
        for kind, make in kinds.items():
            url = os.environ.get(f"{kind.upper()}_URL")
            if args.only in (None, kind):
                if url is None:
                    print(f"skipped: {make.name}, because {kind.upper()}_URL is not set", file=sys.stderr)
                    continue
                server = make(url, folder)
                server.fill(csv, args.few)
                beside.append(f"{make.name} {server.value('SHOW server_version' if kind == 'postgres' else 'SELECT version()').split()[0]}")
                compare(house, server, folder, args.rows, args.few)
    house.finish(run("sqluice", "--version").strip(), beside, {"rows": args.rows, "few": args.few})


if __name__ == "__main__":
    main()
