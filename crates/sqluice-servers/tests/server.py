"""Clients of the servers of the tests, and the command that loads their databases."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

ROOT = Path(__file__).resolve().parents[3]
COMMAND = Path(os.environ.get("SQLUICE", Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/sqluice")).absolute()

Done = subprocess.CompletedProcess[str]


def load(*arguments: object, environment: Mapping[str, str] | None = None, before: str = "") -> Done:
    """Runs `sqluice load`. `before` is a line of the shell, such as one that sets limits."""
    words = [str(COMMAND), "load", *map(str, arguments)]
    if before:
        words = ["bash", "-c", f'{before}; exec "$@"', "bash", *words]
    return subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, **(environment or {})}, timeout=300)


class Server:
    """A server that runs already."""

    name: str

    def __init__(self, url: str):
        split = urlsplit(url)
        self.place = next(iter(parse_qs(split.query).values()))[0]
        """The folder (PostgreSQL) or the path (MariaDB) of the socket."""
        self.template = url

    def url(self, database: str, **settings: str) -> str:
        """Returns the URL of a database, with more settings."""
        begin, end = self.template.split("/?")
        return f"{begin}/{database}?{'&'.join([end, *(f'{key}={value}' for key, value in settings.items())])}"

    def client_words(self, database: str) -> list[str]:
        raise NotImplementedError

    def try_sql(self, sql: str, database: str = "") -> Done:
        """Runs statements, and returns what the client says."""
        return subprocess.run(self.client_words(database), input=sql, capture_output=True, text=True, check=False)

    def sql(self, sql: str, database: str = "") -> str:
        """Runs statements, and returns what they print: values that tabs separate."""
        done = self.try_sql(sql, database)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def make(self, database: str, sql: str = "") -> None:
        """Makes an empty database, and runs statements in it."""
        self.sql(f"DROP DATABASE IF EXISTS {database};\nCREATE DATABASE {database};")
        self.sql(sql, database)


class Postgres(Server):
    name = "postgres"

    def client_words(self, database: str) -> list[str]:
        host = ["-h", self.place, "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-X"]
        return ["psql", *host, "-qAtF", "\t", "-d", database or "postgres", "-f", "-"]


class MariaDb(Server):
    name = "mariadb"

    def client_words(self, database: str) -> list[str]:
        options = ["--no-defaults", "-uroot", "-S", self.place, "--default-character-set=utf8mb4", "-NB"]
        return ["mariadb", *options, *([database] if database else [])]
