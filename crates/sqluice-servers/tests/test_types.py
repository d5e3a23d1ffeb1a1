"""A load stores values of all types as the server prints them, in the form that docs/guides/dumps.md gives each type."""

from __future__ import annotations

import decimal
import json
import math
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from server import MariaDb, Postgres, Server, load


@dataclass(frozen=True)
class Form:
    """The form of a type in SQLite, and the SQL that prints its values."""

    postgres: str
    mariadb: str
    read: Callable[[str], Any]
    """Reads a value that the server has printed."""


def number(text: str) -> decimal.Decimal:
    return decimal.Decimal(text)


def real(text: str) -> float | None:
    """Reads a float. SQLite has no NaN."""
    found = float(text)
    return None if math.isnan(found) else found


def unsigned(text: str) -> int | str:
    """Reads an unsigned integer, which is TEXT beyond 64 bits with a sign."""
    return int(text) if int(text) < 2**63 else text


# `format` prints a value as the server does: a cast of inet to text would add the mask. IS DISTINCT FROM tells NULL from a row of NULLs,
# for which IS NULL is true.
TEXT = Form("CASE WHEN v IS DISTINCT FROM NULL THEN format('%s', v) END", "v", str)
# PostgreSQL adds blanks to the end of a char(n), which a load leaves out.
UNPADDED = Form("rtrim(v::text, ' ')", "v", str)
INTEGER = Form("v::text", "v + 0", int)
UNSIGNED = Form("", "v + 0", unsigned)
REAL = Form("v::text", "v", real)
DECIMAL = Form("v::text", "v", number)
BOOLEAN = Form("v::integer::text", "v", int)
BLOB = Form("encode(v, 'hex')", "hex(v)", bytes.fromhex)
ARRAY = Form("to_json(v)::text", "", json.loads)
# Other years than those of four digits, and infinities, stay as the server prints them.
UTC = Form(
    "CASE WHEN v BETWEEN '0001-01-02' AND '9999-12-31' THEN regexp_replace((v AT TIME ZONE 'UTC')::text, '(\\.\\d{3})0*$', '\\1') || '+00:00' ELSE v::text END", "", str
)
GEOMETRY = Form("", "concat(hex(ST_SRID(v) % 256), '|', hex(ST_AsWKB(v)))", lambda text: bytes([int(text.split("|")[0], 16), 0, 0, 0]) + bytes.fromhex(text.split("|")[1]))

DIGITS = "1234567890" * 10

POSTGRES: list[tuple[str, Form, list[str]]] = [
    ("smallint", INTEGER, ["-32768", "32767", "0"]),
    ("integer", INTEGER, ["-2147483648", "2147483647"]),
    ("bigint", INTEGER, ["-9223372036854775808", "9223372036854775807"]),
    ("oid", INTEGER, ["0", "4294967295"]),
    ("boolean", BOOLEAN, ["true", "false"]),
    ("real", REAL, ["'-3.4028235e38'", "'1e-45'", "'NaN'", "'Infinity'", "'-Infinity'", "0.1", "'-0'"]),
    ("double precision", REAL, ["'1.7976931348623157e308'", "'5e-324'", "'NaN'", "'Infinity'", "'-Infinity'", "0.1", "'-0'"]),
    ("numeric", TEXT, [DIGITS, f"-0.{DIGITS}", "'NaN'", "'Infinity'", "'-Infinity'", "0", "1.500", "1e100", "1e-100"]),
    ("numeric(4,0)", DECIMAL, ["-9999", "9999", "0"]),
    ("numeric(10,2)", DECIMAL, ["-99999999.99", "99999999.99", "0", "1.10"]),
    ("numeric(17,2)", DECIMAL, ["-999999999999999.99", "999999999999999.99", "0.10"]),
    ("numeric(18,0)", DECIMAL, ["-999999999999999999", "999999999999999999"]),
    ("numeric(40,20)", TEXT, ["'NaN'", "99999999999999999999.99999999999999999999", "-0.00000000000000000001"]),
    ("numeric(10,2)", DECIMAL, ["0.05"]),
    ("money", TEXT, ["'-92233720368547758.08'", "'92233720368547758.07'", "0"]),
    ("text", TEXT, ["''", "E'\\x01\\n\\r\\t\\\\N\\\\.'", "'é漢😀'", "'NULL'", "E'\\\\N'", "repeat('x', 300000)"]),
    ("varchar(5)", TEXT, ["''", "'a    '", "'é漢😀'"]),
    ("character(9)", UNPADDED, ["''", "'a'", "' a '", "'123456789'"]),
    ("name", TEXT, ["'pg_class'"]),
    ("text COLLATE \"C\"", TEXT, ["'b'", "'B'"]),
    ("bytea", BLOB, ["''", "'\\x00'", "'\\x5c272200ff0a0d'", "decode(repeat('00ff', 300000), 'hex')"]),
    ("date", TEXT, ["'4713-01-01 BC'", "'5874897-12-31'", "'infinity'", "'-infinity'", "'0001-01-01'", "'2024-02-29'"]),
    ("time", TEXT, ["'00:00'", "'24:00:00'", "'23:59:59.999999'"]),
    ("time with time zone", TEXT, ["'00:00+1559'", "'24:00:00-1559'", "'12:30:00.5+02'"]),
    ("timestamp", TEXT, ["'4713-01-01 00:00:00 BC'", "'294276-12-31 23:59:59.999999'", "'infinity'", "'-infinity'", "'2024-02-29 12:00'"]),
    ("timestamptz", UTC, ["'4713-01-01 00:00:00+00 BC'", "'294276-12-31 23:59:59.999999+00'", "'infinity'", "'-infinity'", "'2024-07-01 12:00+05:45'", "'1883-11-18 12:03:57+00'", "'2024-01-31 23:30:00.125-05'", "'2024-01-31 23:30:00.123456+14'"]),
    ("interval", TEXT, ["'-178000000 years'", "'178000000 years'", "'1 mon -2 days +03:04:05.678901'", "'0'"]),
    ("bit(3)", TEXT, ["B'000'", "B'101'"]),
    ("bit varying", TEXT, ["B''", "B'1'", "B'00000000000000000000000000000000000000000000000000000000000000000001'"]),
    ("uuid", TEXT, ["'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"]),
    ("json", TEXT, ["'{\"a\" :  [1e400, null, \"\\u00e9\\n\"]}'", "'null'", "'\"x\"'"]),
    ("jsonb", TEXT, ["'{\"b\": 1, \"a\": {\"k\": \"\\\\ \\\" é\"}}'", "'null'", f"'{DIGITS}'"]),
    ("jsonpath", TEXT, ["'$.a[*] ? (@ > 1)'"]),
    ("xml", TEXT, ["'<a b=\"c\">&lt;é</a>'"]),
    ("inet", TEXT, ["'0.0.0.0'", "'192.168.0.1/24'", "'2001:db8::1/64'", "'::ffff:1.2.3.4'"]),
    ("cidr", TEXT, ["'10.0.0.0/8'", "'2001:db8::/32'"]),
    ("macaddr", TEXT, ["'08:00:2b:01:02:03'"]),
    ("macaddr8", TEXT, ["'08:00:2b:01:02:03:04:05'"]),
    ("pg_lsn", TEXT, ["'16/B374D848'"]),
    ("tsvector", TEXT, ["''", "'a:1A fat:2B,4C cat:5D'", "$$'it''s' '\\\\'$$"]),
    ("tsquery", TEXT, ["'fat & (rat | !cat)'"]),
    ("point", TEXT, ["'(1.5,-2)'", "'(Infinity,NaN)'"]),
    ("line", TEXT, ["'{1,-1,0}'"]),
    ("box", TEXT, ["'(2,2),(0,0)'"]),
    ("path", TEXT, ["'[(0,0),(1,1)]'"]),
    ("polygon", TEXT, ["'((0,0),(1,1),(1,0))'"]),
    ("circle", TEXT, ["'<(1,2),3>'"]),
    ("int4range", TEXT, ["'empty'", "'(,)'", "'[1,5)'"]),
    ("numrange", TEXT, ["'[1.50,2.50]'", "'(,0]'"]),
    ("tsrange", TEXT, ["'[2024-01-01,infinity)'"]),
    ("int4multirange", TEXT, ["'{}'", "'{[1,3),[5,7)}'"]),
    ("own_range", TEXT, ["'[a,\"b,c\")'"]),
    ("own_enum", TEXT, ["'sad'", "'it''s'", "'x,y'"]),
    ("own_row", TEXT, ["ROW(1, 'a,b')::own_row", "ROW(NULL, NULL)::own_row", "ROW(-5, 'q\"q\\ ')::own_row"]),
    ("own_domain", INTEGER, ["1", "2147483647"]),
    ("integer[]", ARRAY, ["'{}'", "'{1,NULL,-2147483648}'", "'{{1,2},{3,4}}'"]),
    ("bigint[]", ARRAY, ["'{9223372036854775807,-9223372036854775808}'"]),
    ("boolean[]", ARRAY, ["'{true,false,NULL}'"]),
    ("text[]", ARRAY, ["'{}'", "ARRAY['', 'NULL', NULL, 'a,b', 'q\"q', 'back\\slash', '{x}', E'line\\nend', 'é漢😀']"]),
    ("double precision[]", ARRAY, ["'{1.5,-1e300}'"]),
    ("numeric(10,2)[]", ARRAY, ["'{1.50,-0.01}'"]),
    ("uuid[]", ARRAY, ["'{00000000-0000-0000-0000-000000000001}'"]),
    ("own_enum[]", ARRAY, ["ARRAY['it''s', 'x,y']::own_enum[]"]),
    ("date[]", ARRAY, ["'{2024-02-29,infinity}'"]),
    ("int4range[]", ARRAY, ["'{\"[1,3)\",empty}'"]),
]  # fmt: skip

MARIADB: list[tuple[str, Form, list[str]]] = [
    ("tinyint", INTEGER, ["-128", "127"]),
    ("tinyint unsigned", INTEGER, ["0", "255"]),
    ("tinyint(1)", INTEGER, ["0", "1", "127"]),
    ("smallint", INTEGER, ["-32768", "32767"]),
    ("mediumint unsigned zerofill", INTEGER, ["0", "7", "16777215"]),
    ("int", INTEGER, ["-2147483648", "2147483647"]),
    ("bigint", INTEGER, ["-9223372036854775808", "9223372036854775807"]),
    ("bigint unsigned", UNSIGNED, ["0", "9223372036854775807", "9223372036854775808", "18446744073709551615"]),
    ("bigint zerofill", UNSIGNED, ["7"]),
    ("decimal(65,30)", DECIMAL, [f"-{'9' * 35}.{'9' * 30}", f"{'9' * 35}.{'9' * 30}", f"0.{'0' * 29}1", "0"]),
    ("decimal(10,2)", DECIMAL, ["-99999999.99", "99999999.99", "0.10"]),
    ("decimal(17,2)", DECIMAL, ["-999999999999999.99", "0.10"]),
    ("decimal(18,0)", DECIMAL, ["999999999999999999"]),
    ("float", REAL, ["-3.40282e38", "1.1", "0", "1.17549e-38"]),
    ("double", REAL, ["-1.7976931348623157e308", "2.2250738585072014e-308", "0.1", "1e300"]),
    ("bit(1)", INTEGER, ["b'0'", "b'1'"]),
    ("bit(9)", INTEGER, ["0", "5", "511"]),
    ("bit(64)", UNSIGNED, ["0", "9223372036854775807", "18446744073709551615"]),
    ("year", INTEGER, ["0", "1901", "2155"]),
    ("date", TEXT, ["'0000-00-00'", "'2024-00-00'", "'1000-01-01'", "'9999-12-31'"]),
    ("time(6)", TEXT, ["'-838:59:59.999999'", "'838:59:59.999999'", "'-00:00:00.000001'", "0"]),
    ("time", TEXT, ["'-838:59:59'", "'100:00:00'"]),
    ("datetime(6)", TEXT, ["'0000-00-00 00:00:00'", "'9999-12-31 23:59:59.999999'", "'1000-01-01'"]),
    ("timestamp(3) NULL", TEXT, ["'0000-00-00 00:00:00'", "'1970-01-01 00:00:01'", "'2038-01-19 03:14:07.999'", "'2024-03-31 02:30:00'"]),
    ("char(10)", TEXT, ["''", "'a   '", "' lead'", "'é漢😀'"]),
    ("varchar(300)", TEXT, ["''", "'trail   '", "'it''s \"q\" \\\\ \\0 \\n \\r \\Z \\t é漢😀'", "'NULL'", "'\\\\N'"]),
    ("varchar(50) CHARACTER SET latin1", TEXT, ["'é¿ÿ€'", "''"]),
    ("varchar(50) CHARACTER SET latin1 COLLATE latin1_bin", TEXT, ["'A'", "'a'", "'ß'"]),
    ("varchar(50) CHARACTER SET utf16", TEXT, ["'é漢😀'"]),
    ("varchar(50) CHARACTER SET cp1251", TEXT, ["'Ж'"]),
    ("varchar(50) COLLATE utf8mb4_bin", TEXT, ["'A'", "'a'"]),
    ("varchar(50) CHARACTER SET binary", BLOB, ["x'e900ff'", "''"]),
    ("longtext", TEXT, ["''", "repeat('ab\\n''\\\\é', 50000)"]),
    ("binary(4)", BLOB, ["''", "x'00ff27'", "'ab'"]),
    ("varbinary(300)", BLOB, ["''", "x'005c27220a0d1aff'", "'NULL'"]),
    ("tinyblob", BLOB, ["''", "x'ff'"]),
    ("longblob", BLOB, ["''", "x'00'", "repeat(x'00ff', 300000)"]),
    ("enum('a','it''s','x,y')", TEXT, ["'a'", "'it''s'", "'x,y'", "'none'"]),
    ("set('a','b','c')", TEXT, ["''", "'a'", "'a,b,c'"]),
    ("json", TEXT, ["'{}'", "'{\"a\": \"é\\\\\"x\"}'", "'null'"]),
    ("uuid", TEXT, ["'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"]),
    ("inet6", TEXT, ["'::'", "'2001:db8::1'", "'::ffff:1.2.3.4'"]),
    ("inet4", TEXT, ["'0.0.0.0'", "'255.255.255.255'"]),
    ("point", GEOMETRY, ["point(0,0)", "point(-1.5,1e300)"]),
    ("geometry", GEOMETRY, ["ST_GeomFromText('POLYGON((0 0,1 0,1 1,0 0))', 7)", "ST_GeomFromText('GEOMETRYCOLLECTION EMPTY')", "ST_GeomFromText('LINESTRING(0 0,1 1)')"]),
    ("multipolygon", GEOMETRY, ["ST_GeomFromText('MULTIPOLYGON(((0 0,1 0,1 1,0 0)))')"]),
]  # fmt: skip

OWN_TYPES = """
    CREATE TYPE own_enum AS ENUM ('sad', 'it''s', 'x,y');
    CREATE TYPE own_row AS (a integer, b text);
    CREATE TYPE own_range AS RANGE (subtype = text);
    CREATE DOMAIN own_domain AS integer CHECK (VALUE > 0);
"""


def fill(server: Server, types: list[tuple[str, Form, list[str]]]) -> None:
    """Makes a table of each type. The first row is NULL."""
    sql = []
    for at, (declared, _, values) in enumerate(types):
        sql.append(f"CREATE TABLE t{at} (id integer PRIMARY KEY, v {declared});")
        rows = ", ".join(f"({row}, {value})" for row, value in enumerate(["NULL", *values]))
        sql.append(f"INSERT INTO t{at} VALUES {rows};")
    before = OWN_TYPES if server.name == "postgres" else "SET sql_mode = '';"
    server.make("types", before + "\n".join(sql))


def printed(server: Server, types: list[tuple[str, Form, list[str]]]) -> list[list[str | None]]:
    """Returns the values of each table as the server prints them."""
    found = []
    for at, (_, form, _) in enumerate(types):
        if server.name == "postgres":
            lines = server.sql(f"SELECT json_build_array({form.postgres}) FROM t{at} ORDER BY id;", "types").splitlines()
            found.append([json.loads(line)[0] for line in lines])
        else:
            # The client would print some characters of a text with escapes, so values are printed as hexadecimal digits.
            value = f"hex(convert(cast({form.mariadb} AS char) USING utf8mb4))"
            lines = server.sql(f"SET time_zone = '+00:00'; SELECT {value} FROM t{at} ORDER BY id;", "types").splitlines()
            found.append([None if line == "NULL" else bytes.fromhex(line).decode() for line in lines])
    return found


def differences(
    server: Server, types: list[tuple[str, Form, list[str]]], database: Path, query: str = "SELECT v FROM t{at} ORDER BY id"
) -> list[str]:
    """Compares the tables of a database with those of the server. `query` gives the values of a type."""
    found = []
    made = sqlite3.connect(database)
    for at, ((declared, form, _), values) in enumerate(zip(types, printed(server, types), strict=True)):
        stored = [value for (value,) in made.execute(query.format(at=at, count=len(values)))]
        assert len(stored) == len(values), declared
        assert values[0] is None
        for value, of_server in zip(stored, values, strict=True):
            wanted = None if of_server is None else form.read(of_server)
            if form is ARRAY and isinstance(value, str):
                value = json.loads(value)
            if form is DECIMAL and isinstance(value, int | float | str):
                value = decimal.Decimal(str(value))
            if (type(value), value) != (type(wanted), wanted) and not (wanted == value and form is DECIMAL):
                found.append(f"{declared}: {value!r:.150} is stored, and the server prints {of_server!r:.150}")
    made.close()
    return found


def test_values_of_each_type_of_postgres_are_stored_as_the_server_prints_them(postgres: Postgres, tmp_path: Path) -> None:
    fill(postgres, POSTGRES)
    # Moments are in UTC, whatever the time zone of the server.
    postgres.sql("ALTER DATABASE types SET timezone = 'America/New_York'; ALTER DATABASE types SET datestyle = 'SQL, DMY';")
    postgres.sql("ALTER DATABASE types SET intervalstyle = 'iso_8601'; ALTER DATABASE types SET bytea_output = 'escape';")
    database = tmp_path / "types.db"
    loaded = load("-q", database, postgres.url("types"))
    assert loaded.returncode == 0, loaded.stderr
    postgres.sql("ALTER DATABASE types RESET datestyle; ALTER DATABASE types RESET intervalstyle; ALTER DATABASE types RESET bytea_output;")
    assert differences(postgres, POSTGRES, database) == []


def test_values_of_each_type_of_mariadb_are_stored_as_the_server_prints_them(mariadb: MariaDb, tmp_path: Path) -> None:
    fill(mariadb, MARIADB)
    database = tmp_path / "types.db"
    mariadb.sql("SET GLOBAL time_zone = '+05:00'; SET GLOBAL sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH';")
    try:
        loaded = load("-q", database, mariadb.url("types"))
    finally:
        mariadb.sql("SET GLOBAL time_zone = '+00:00'; SET GLOBAL sql_mode = DEFAULT;")
    assert loaded.returncode == 0, loaded.stderr
    assert differences(mariadb, MARIADB, database) == []


@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
def test_values_of_each_type_in_a_query_are_stored_as_the_server_prints_them(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    server: Server = request.getfixturevalue(kind)
    types = POSTGRES if kind == "postgres" else MARIADB
    fill(server, types)
    # The values of all types are the columns of one query.
    longest = max(len(values) for _, _, values in types)
    server.sql(f"CREATE TABLE numbers (id integer PRIMARY KEY); INSERT INTO numbers VALUES {', '.join(f'({row})' for row in range(longest + 1))};", "types")
    columns = ", ".join(f"t{at}.v AS v{at}" for at in range(len(types)))
    joins = " ".join(f"LEFT JOIN t{at} ON t{at}.id = numbers.id" for at in range(len(types)))
    query = f"SELECT numbers.id, {columns} FROM numbers {joins}"
    loaded = load("-q", "--query", query, "--table", "joined", tmp_path / "joined.db", server.url("types"))
    assert loaded.returncode == 0, loaded.stderr
    assert differences(server, types, tmp_path / "joined.db", "SELECT v{at} FROM joined WHERE id < {count} ORDER BY id") == []
