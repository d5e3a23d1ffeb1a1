"""Random databases: a load of the server gives the same database as a load of its dump."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
from itertools import zip_longest
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from server import Server, load

FIRST = int(os.environ.get("SERVERS_FIRST_SEED", "1"))
COUNT = int(os.environ.get("SERVERS_SEEDS", "0"))


def seeds(server_dumps: ModuleType) -> range:
    """Returns the seeds of this run: SERVERS_SEEDS of them from SERVERS_FIRST_SEED on, or as many as the effort allows."""
    return range(FIRST, FIRST + (COUNT or server_dumps.tries(4, 6, 200)))


def more(server: Any, rnd: random.Random, tables: list[Any]) -> str:
    """Returns statements that give tables indexes, constraints and comments."""
    sql = []
    is_postgres = server.name == "postgres"
    for at, table in enumerate(tables):
        name = server.name_of(table.name)
        # Values of these types can be compared, and fit into an index.
        keys = [key for key in table.columns if key in {"si", "int", "big", "num", "dbl", "d", "ts", "u", "en", "i", "bg", "ub", "dc", "db", "dt", "yr"}]
        for number in range(rnd.randrange(3)):
            chosen = rnd.sample(keys, min(len(keys), rnd.randint(1, 2)))
            columns = ", ".join(server.name_of(key) + rnd.choice(["", "", " DESC"]) for key in [*chosen, "id"])
            where = rnd.choice(["", "", " WHERE id > 3"]) if is_postgres else ""
            index = server.name_of(rnd.choice([f"index{at}_{number}", f"a ON b{at}_{number}", f'q"{at}_{number}', f"ünd{at}_{number}"]))
            sql.append(f"CREATE {rnd.choice(['', 'UNIQUE '])}INDEX {index} ON {name} ({columns}){where};")
        # MariaDB allows no CHECK of AUTO_INCREMENT columns, so the CHECK is on another column.
        counted = [key for key in ("int", "i") if key in table.columns]
        if counted and rnd.random() < 0.5:
            column = server.name_of(counted[0])
            sql.append(f"ALTER TABLE {name} ADD CONSTRAINT other{at} CHECK ({column} IS NULL OR {column} <> {rnd.randint(1000, 2000)});")
        if rnd.random() < 0.3:
            text = server_text(rnd)
            sql.append(f"COMMENT ON TABLE {name} IS {text};" if is_postgres else f"ALTER TABLE {name} COMMENT = {text};")
        if keys and is_postgres and rnd.random() < 0.3:
            sql.append(f"COMMENT ON COLUMN {name}.{server.name_of(keys[0])} IS {server_text(rnd)};")
    return "\n".join(sql)


def server_text(rnd: random.Random) -> str:
    return rnd.choice(["'plain'", "'it''s'", "'two; parts -- here'", "'/* a */'", "'ü'"])


def dump(server: Any, to: Path) -> None:
    commands = {
        "postgres": f"pg_dump -h {server.home} -U postgres made",
        "mariadb": f"mariadb-dump --no-defaults -uroot -S {server.home / 's'} --hex-blob --default-character-set=utf8mb4 made",
    }
    with to.open("wb") as file:
        subprocess.run(commands[server.name].split(), stdout=file, check=True)


def content(database: Path) -> tuple[list[Any], dict[str, list[str]]]:
    """Returns the schema of a database, and the rows of its tables. The order of tables does not count, and types of values do."""
    made = sqlite3.connect(database)
    try:
        schema = made.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name").fetchall()
        tables = [name for kind, name, _, _ in schema if kind == "table"]
        quoted = [(name, name.replace('"', '""')) for name in tables]
        return schema, {name: sorted(map(repr, made.execute(f'SELECT * FROM "{table}"'))) for name, table in quoted}
    finally:
        made.close()


def first_difference(found: Any, wanted: Any) -> str:
    """Compares the content of two databases. Returns the first object or row that differs; nothing if none does."""
    for one, other in zip_longest(found[0], wanted[0]):
        if one != other:
            return f"the server gives {one}, and its dump gives {other}"
    for table, rows in wanted[1].items():
        for one, other in zip_longest(found[1][table], rows):
            if one != other:
                return f"the server gives {table} the row {one}, and its dump gives {other}"
    return ""


@pytest.mark.parametrize("kind", ["MariaDb", "Postgres"])
def test_a_load_of_a_server_makes_the_same_database_as_a_load_of_its_dump(kind: str, server_dumps: ModuleType, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    running: Server = request.getfixturevalue(kind.lower())
    place = Path(running.place)
    server = getattr(server_dumps, kind)(place if kind == "Postgres" else place.parent)
    differences = []
    for seed in seeds(server_dumps):
        rnd = random.Random(seed)
        server_dumps.texts = rnd.choice([server_dumps.TEXTS, server_dumps.TEXTS + server_dumps.WIDE])
        tables = server.fill(rnd)
        server.client(more(server, rnd, tables), "made")
        text, of_dump = tmp_path / "dump.sql", tmp_path / "dump.db"
        dump(server, text)
        of_dump.unlink(missing_ok=True)
        loaded = load("-q", of_dump, text)
        assert loaded.returncode == 0, f"seed {seed}: {loaded.stderr}"
        for arguments in ([], ["--connections", "3"], ["--connections", "2", "--lock"]):
            if "--lock" in arguments and kind == "Postgres":
                continue
            made = tmp_path / "made.db"
            made.unlink(missing_ok=True)
            loaded = load("-q", *arguments, made, server.url("made"))
            try:
                assert loaded.returncode == 0, loaded.stderr
                assert (different := first_difference(content(made), content(of_dump))) == "", different
                server_dumps.compare(server, tables, made)
                for table in tables:
                    server_dumps.compare_next_number(server, table, made)
            except (AssertionError, server_dumps.Different) as different:
                differences.append(f"seed {seed}, {' '.join(arguments)}: {different}"[:3000])
                print(differences[-1])
    assert differences == []
