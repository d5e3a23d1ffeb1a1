"""The functions for the verbs of the command: `load`, `generate`, `index`, `check`, `pack` and others, with their errors."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
import sqluice
from twin import query, sound

CSV = "id,name,height\n1,Oslo,23.5\n2,Rome,21\n"


def test_load_takes_files_and_their_options(db: Path, tmp_path: Path) -> None:
    file, lines = tmp_path / "town.csv", tmp_path / "lines.ndjson"
    file.write_text(CSV)
    lines.write_text('{"a": 1}\n{"a": 2, "b": "x"}\n')
    report = sqluice.load(db, [file, str(lines)], primary_key="id", index=["name"])
    assert [(table.name, table.rows) for table in report.tables] == [("town", 2), ("lines", 2)]
    assert query(db, "SELECT * FROM town") == [(1, "Oslo", 23.5), (2, "Rome", 21.0)]
    assert query(db, "SELECT * FROM lines") == [(1, None), (2, "x")]
    sqluice.load(db, file, if_exists="upsert", primary_key="id", limit=1)
    sqluice.load(db, file, table="u", format="csv", delimiter=",", header=False, columns=["a", "b", "c"], types={"a": "TEXT"}, null=["Rome"])
    assert query(db, "SELECT * FROM u") == [("id", "name", "height"), ("1", "Oslo", "23.5"), ("2", None, "21")]


def test_loads_of_a_folder_and_an_archive_report_files_that_were_left_out(db: Path, tmp_path: Path) -> None:
    folder, archive = tmp_path / "towns", tmp_path / "towns.zip"
    files = {"2024/town.csv": CSV, "2025/town.csv": CSV, "stops.txt": CSV, "README.txt": "A text.\n", "logo.png": "", ".lock": ""}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
            packed.writestr(name, text)
    for source in folder, archive:
        report = sqluice.load(db, source, overwrite=True)
        assert [table.name for table in report.tables] == ["2024_town", "2025_town", "stops"]
        left_out = {Path(file.name).name: file.why for file in report.left_out}
        assert left_out == {".lock": "hidden", "README.txt": "text without columns", "logo.png": "no known extension"}
        assert report.skipped == ()
    assert sqluice.load(db, archive / "2024/town.csv", table="one").rows == 2
    assert sqluice.load(db, f"{archive}/*/town.csv", table="all").rows == 4
    with archive.open("rb") as stream:
        assert sqluice.load(db, stream, overwrite=True).rows == 6
    with pytest.raises(sqluice.InputError, match="has no file 2026"):
        sqluice.load(db, f"{archive}/2026", overwrite=True)


def test_a_bad_row_is_an_error_with_file_and_line_or_is_rejected_on_request(db: Path, tmp_path: Path) -> None:
    file, rejects = tmp_path / "a.csv", tmp_path / "rejects"
    file.write_text("id,name\n1,a\nx\n3,c\n")
    with pytest.raises(sqluice.InputError) as raised:
        sqluice.load(db, file)
    assert (raised.value.file, raised.value.line) == (str(file), 3)
    assert str(raised.value).startswith(f"{file}:3")
    report = sqluice.load(db, file, reject=rejects)
    assert (report.rows, report.rejected) == (2, 1)


def test_rows_that_lack_fields_are_padded_and_quotes_may_be_strict(db: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text('Sales of May\nid;name;n\n1;x"y\n3;c;4\n')
    with pytest.raises(sqluice.InputError, match="after field 2") as raised:
        sqluice.load(db, file)
    assert raised.value.hint is not None and raised.value.hint.startswith("pad=True fills missing fields")
    with pytest.raises(sqluice.InputError, match="a quote inside a field") as raised:
        sqluice.load(db, file, strict_quotes=True)
    assert raised.value.hint is not None and "without strict_quotes=True" in raised.value.hint
    report = sqluice.load(db, file, pad=True)
    assert query(db, "SELECT * FROM a") == [(1, 'x"y', None), (3, "c", 4)]
    assert (report.tables[0].padded, report.inputs[0].padded) == (1, 1)
    csv = report.inputs[0].csv
    assert csv is not None and csv.preamble is not None
    assert (csv.preamble.lines, csv.preamble.first, csv.comments, csv.footer) == (1, "Sales of May", 0, None)
    assert "skip_lines=0 keeps all lines" in report.inputs[0].notes[0]


def test_parquet_is_loaded(db: Path, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]

    pq.write_table(pa.table({"a": [1, 2, None]}), tmp_path / "a.parquet")
    sqluice.load(db, tmp_path / "a.parquet")
    assert query(db, "SELECT * FROM a") == [(1,), (2,), (None,)]


SCHEMA = "CREATE TABLE t (id INTEGER PRIMARY KEY, age INTEGER NOT NULL -- gen: int(1, 5)\n)"


def test_profile_describes_a_database_and_generate_makes_one_like_it(db: Path, tmp_path: Path) -> None:
    sqluice.generate(db, preset="shop", rows=1_000, seed=7)
    described = sqluice.profile(db)
    assert (described.rows, described.tables[0].name, described.notes) == (3_110, "customers", ())
    assert ("orders", "status") in [(kept.table, kept.column) for kept in described.kept]
    assert ("customers", "email", "an e-mail address", "name") in [dataclasses.astuple(personal) for personal in described.personal]
    assert "\n-- It shows no values" in sqluice.profile(db, no_values=True, tables="items").text
    like, text = tmp_path / "like.db", tmp_path / "text.db"
    assert sqluice.generate(like, like=db, rows_scale=2).rows == 6_220
    assert sqluice.generate(text, described.text).rows == 3_110
    assert query(text, "SELECT count(DISTINCT status) FROM orders") == query(db, "SELECT count(DISTINCT status) FROM orders")
    with pytest.raises(sqluice.UsageError, match="no other one can be given"):
        sqluice.generate(tmp_path / "c.db", preset="shop", like=db)


def test_generate_makes_the_same_database_from_the_same_seed(db: Path, tmp_path: Path) -> None:
    first = sqluice.generate(db, SCHEMA, rows=1_000, seed=7)
    file = tmp_path / "schema.sql"
    file.write_text(SCHEMA)
    second = sqluice.generate(tmp_path / "b.db", file, rows={"t": 1_000}, seed=7)
    assert first.rows == 1_000 and first.checksum == second.checksum
    assert query(db, "SELECT count(*), min(age), max(age) FROM t") == [(1_000, 1, 5)]
    assert sqluice.generate(db, SCHEMA, rows=500, seed=7, if_exists="append").rows == 500
    assert sqluice.generate(None, preset="user", rows=10).target is None
    with pytest.raises(sqluice.UsageError):
        sqluice.generate(tmp_path / "c.db", rows=1)
    with pytest.raises(sqluice.InputError, match="schema|syntax"):
        sqluice.generate(tmp_path / "c.db", "CREATE TABEL t (a)", rows=1)


def test_the_rows_of_a_preset_follow_from_those_of_its_main_table(db: Path) -> None:
    assert sqluice.generate(db, preset="shop", rows=1_000).rows == 3_110
    with closing(sqlite3.connect(db)) as connection:
        (customers,) = connection.execute("SELECT count(DISTINCT customer_id) FROM orders").fetchone()
        assert 50 < customers <= 100
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_index_creates_indexes_and_refuses_a_unique_index_of_repeated_values(db: Path) -> None:
    sqluice.write(db, [(n % 7, n) for n in range(5_000)], "t", columns=["a", "b"])
    report = sqluice.index(db, ["CREATE INDEX i ON t (a)", "CREATE UNIQUE INDEX j ON t (b DESC)"])
    assert [(index.name, index.entries) for index in report.indexes] == [("i", 5_000), ("j", 5_000)]
    assert sound(db)
    with pytest.raises(sqluice.InputError, match="UNIQUE"):
        sqluice.index(db, "CREATE UNIQUE INDEX k ON t (a)")
    assert sqluice.index(db, "CREATE INDEX IF NOT EXISTS i ON t (a)").existing == ("i",)


def test_full_text_indexes_are_created_updated_merged_and_rebuilt(db: Path) -> None:
    with closing(sqlite3.connect(db)) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a, b)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [(n, f"word{n % 7} running", None if n % 3 else "Ünïcode") for n in range(500)])
        connection.commit()
    report = sqluice.index(db, fts="t(a, b)", tokenize="porter", triggers=True)
    (made,) = report.full_text
    assert (made.name, made.table, made.rows, report.indexes) == ("t_fts", "t", 500, ())
    with closing(sqlite3.connect(db)) as connection:
        connection.execute("INSERT INTO t VALUES (1000, 'word1', 'ran')")
        assert connection.execute("SELECT count(*) FROM t_fts('run')").fetchone() == (500,)
        assert connection.execute("SELECT count(*) FROM t_fts('unicode')").fetchone() == (167,)
        assert connection.execute("SELECT rowid FROM t_fts('ran')").fetchall() == [(1000,)]
        connection.commit()
    (merged,) = sqluice.index(db, fts_optimize="t_fts").full_text
    assert (merged.work, merged.merged_segments) == ("optimize", 2)
    (rebuilt,) = sqluice.index(db, fts_rebuild=["t_fts"]).full_text
    assert (rebuilt.work, rebuilt.rows) == ("rebuild", 501)
    with pytest.raises(sqluice.TargetError, match="t_fts"):
        sqluice.index(db, fts=["t(a)"])


def test_a_report_has_the_full_text_tables_whose_indexes_were_made(tmp_path: Path) -> None:
    db, rows = tmp_path / "x.db", tmp_path / "t.csv"
    schema = """CREATE TABLE t (a TEXT); CREATE VIRTUAL TABLE f USING fts5(a, content=t);
        CREATE TRIGGER i AFTER INSERT ON t BEGIN INSERT INTO f(rowid, a) VALUES (new.rowid, new.a); END"""
    # Few rows would go through the trigger.
    rows.write_text("a\n" + "".join(f"word{n}\n" for n in range(1000)))
    assert sqluice.load(db, rows, schema=schema).full_text == ("f",)
    report = sqluice.load(db, rows, if_exists="append")
    assert (report.full_text, report.existing and report.existing.full_text_behind) == (("f",), ())
    assert query(db, "SELECT rowid FROM f('word7')") == [(8,), (1008,)]


def test_full_text_indexes_have_the_options_that_were_given(db: Path) -> None:
    sqluice.write(db, [(n, f"word{n % 7}", "left out") for n in range(300)], "t", columns=["id", "a", "b"], primary_key="id")
    report = sqluice.index(
        db, fts="t(a, b UNINDEXED)", fts_name="words", prefix="2 3", fts_option=["detail=column", "columnsize=0"], fts_content="own"
    )
    assert [(made.name, made.write_path, made.rows, made.tokens) for made in report.full_text] == [("words", "sorted", 300, 300)]
    ((sql,),) = query(db, "SELECT sql FROM sqlite_schema WHERE name = 'words'")
    assert all(option in sql for option in ["prefix='2 3'", "detail='column'", "columnsize='0'", '"b" UNINDEXED']), sql
    assert query(db, "SELECT count(*) FROM words('wo*')") == [(300,)]
    assert query(db, "SELECT rowid, a, b FROM words('word3') LIMIT 1") == [(3, "word3", "left out")]
    assert query(db, "SELECT count(*) FROM words('left')") == [(0,)]
    assert sound(db)


def test_several_full_text_indexes_are_made_and_merged_at_once(db: Path) -> None:
    sqluice.write(db, [(n, f"word{n % 7}") for n in range(300)], "t", columns=["id", "a"], primary_key="id")
    sqluice.write(db, [(n, f"term{n % 5}") for n in range(200)], "u", columns=["id", "a"], primary_key="id")
    report = sqluice.index(db, fts=["t(a)", "u(a)"], triggers=True)
    assert [(made.name, made.rows) for made in report.full_text] == [("t_fts", 300), ("u_fts", 200)]
    with closing(sqlite3.connect(db)) as connection:
        for table in ["t", "u"]:
            connection.execute(f"INSERT INTO {table} VALUES (1000, 'newest')")
        connection.commit()
    report = sqluice.index(db, fts_optimize=["t_fts", "u_fts"])
    assert [(made.work, made.merged_segments) for made in report.full_text] == [("optimize", 2)] * 2
    assert query(db, "SELECT t.id FROM t JOIN t_fts('newest') f ON f.rowid = t.id") == [(1000,)]
    with pytest.raises(sqluice.UsageError, match="fts"):
        sqluice.index(db, fts=["t(a)", "u(a)"], fts_name="both")
    with pytest.raises(sqluice.Error, match="no_such"):
        sqluice.index(db, fts="t(a)", fts_name="other", tokenize="no_such")



def test_check_reports_a_sound_database_and_the_problems_of_a_damaged_one(db: Path) -> None:
    sqluice.write(db, [(n, "x" * 50) for n in range(5_000)], "t", columns=["a", "b"], index="a")
    report = sqluice.check(db, full=True)
    assert report and report.sound and report.rows == 5_000 and report.problems == ()
    assert report.remarks == () and report.unverified == ()
    with db.open("r+b") as file:
        file.seek(3 * 4096)
        file.write(b"\xff" * 64)
    broken = sqluice.check(db)
    assert not broken and broken.problem_count > 0 and broken.problems
    assert "problem" in repr(broken)


def test_recover_saves_the_rows_of_undamaged_pages_and_reports_the_lost_page(db: Path, tmp_path: Path) -> None:
    sqluice.write(db, [(n, "x" * 50) for n in range(5_000)], "t", columns=["a", "b"], index="a")
    sound = sqluice.recover(db, tmp_path / "sound.db")
    assert not sound.damaged and sound.rows == 5_000 and sound.lost_and_found == ()
    with db.open("r+b") as file:
        file.seek(3 * 4096)
        file.write(b"\xff" * 4096)
    report = sqluice.recover(db, tmp_path / "new.db")
    (table,) = report.tables
    assert report.damaged and 4_800 < report.rows == table.rows < 5_000
    assert table.lost_page_count == 1 and table.lost_pages[0].page == 4
    assert sqluice.check(tmp_path / "new.db", full=True)
    with pytest.raises(sqluice.TargetError):
        sqluice.recover(db, tmp_path / "new.db")
    assert "damaged" in repr(report)
    (witness,) = table.witnesses
    assert witness.columns == ("a",) and witness.rows == table.indexed_lost_rows == 5_000 - table.rows
    assert witness.rowids[0].last - witness.rowids[0].first + 1 == witness.rows
    (found,) = sqluice.recover(db, tmp_path / "more.db", from_indexes=True).lost_and_found
    assert found.of_table == "t" and found.rows == witness.rows
    with closing(sqlite3.connect(tmp_path / "more.db")) as connection:
        saved = connection.execute(f"SELECT count(*), min(a), max(a) FROM {found.table}").fetchone()
    assert saved == (witness.rows, witness.rowids[0].first - 1, witness.rowids[0].last - 1)


def test_a_folder_is_packed_and_unpacked(db: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("alpha")
    (folder / "sub" / "b.bin").write_bytes(bytes(10_000))
    report = sqluice.pack(db, folder, compress=True, exclude="*.tmp")
    assert (report.files, report.file_bytes) == (2, 10_005)
    assert sqluice.unpack(db, tmp_path / "out").files == 2
    assert (tmp_path / "out" / "a.txt").read_text() == "alpha"
    assert (tmp_path / "out" / "sub" / "b.bin").read_bytes() == bytes(10_000)
    assert sqluice.unpack(db, tmp_path / "some", include=["sub"]).files == 1
    sqluice.pack(tmp_path / "kv.db", folder, layout="kv")
    assert query(tmp_path / "kv.db", "SELECT k FROM kv ORDER BY k") == [("a.txt",), ("sub/b.bin",)]


def test_a_report_is_a_frozen_dataclass_with_a_readable_repr(db: Path) -> None:
    report = sqluice.write(db, [(1,)], "t", columns=["a"])
    assert dataclasses.asdict(report)["tables"][0]["name"] == "t"
    assert report.tables[0].action == "make" and report.tables[0].write_path == "pages"
    assert report.target == str(db) and report.bytes == db.stat().st_size
    assert repr(report).startswith(f"<Report: 1 row to {db}")
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.rows = 5  # type: ignore[misc]


def test_a_missing_file_or_folder_raises_the_os_error_of_python(db: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        sqluice.load(db, tmp_path / "nothing.csv")
    assert raised.value.errno == errno.ENOENT
    assert raised.value.filename == str(tmp_path / "nothing.csv")
    with pytest.raises(FileNotFoundError):
        sqluice.check(tmp_path / "nothing.db")
    with pytest.raises(OSError):
        sqluice.write(tmp_path / "no" / "folder.db", [(1,)], "t", columns=["a"])


def test_all_errors_are_subclasses_of_error(db: Path) -> None:
    for kind in (sqluice.InputError, sqluice.TargetError, sqluice.UsageError, sqluice.Interrupted):
        assert issubclass(kind, sqluice.Error)
    assert issubclass(sqluice.InputError, ValueError) and issubclass(sqluice.UsageError, ValueError)
    db.write_text("this is no database, and long enough to be seen as none " * 100)
    with pytest.raises(sqluice.Error) as raised:
        sqluice.write(db, [(1,)], "t", columns=["a"])
    assert raised.value.message and raised.value.file is None
    assert "--" not in str(raised.value)


def test_hints_name_parameters_of_python(db: Path) -> None:
    with pytest.raises(sqluice.UsageError) as raised:
        sqluice.write(db, [(1,)], "t", columns=["a"], memory=1)
    assert raised.value.hint == "give at least memory=24 << 20"


IN_USE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_database_that_stays_locked_is_refused_after_the_busy_timeout(db: Path) -> None:
    sqluice.write(db, [(1,)], "t", columns=["a"])
    other = subprocess.Popen([sys.executable, "-c", IN_USE, db], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None and other.stdout.readline() == "ready\n"
    with pytest.raises(sqluice.TargetError, match="in use|locked"):
        sqluice.write(db, [(2,)], "t", if_exists="append", busy_timeout=0.05)
    other.communicate("")
    sqluice.write(db, [(2,)], "t", if_exists="append")
    assert query(db, "SELECT * FROM t") == [(1,), (2,)]


@pytest.mark.parametrize("mode", ["BEGIN EXCLUSIVE", "BEGIN IMMEDIATE", "BEGIN; SELECT * FROM t"])
def test_writes_are_refused_during_a_transaction_of_sqlite3_in_the_same_process(db: Path, mode: str) -> None:
    sqluice.write(db, [(1,)], "t", columns=["a"])
    with closing(sqlite3.connect(db, isolation_level=None)) as other:
        begin, _, select = mode.partition(";")
        other.execute(begin)
        rows = other.execute(select) if select else None
        for call in (
            lambda: sqluice.write(db, [(2,)], "t", if_exists="append", busy_timeout=0.05),
            lambda: sqluice.write(db, [(2,)], "t", overwrite=True, columns=["a"], busy_timeout=0.05),
            lambda: sqluice.index(db, "CREATE INDEX i ON t (a)", busy_timeout=0.05),
        ):
            with pytest.raises(sqluice.TargetError, match="in use"):
                call()
        if mode != "BEGIN EXCLUSIVE":
            # Beside such a transaction another process may read.
            assert sqluice.check(db).problems == ()
        if rows is None:
            other.execute("INSERT INTO t VALUES (3)")
        else:
            # A query that is not read to its end keeps its lock.
            rows.fetchall()
        other.execute("COMMIT")
        # An idle connection does not block.
        sqluice.write(db, [(2,)], "t", if_exists="append")
        assert other.execute("SELECT count(*) FROM t").fetchone() == (2 if rows is not None else 3,)
    assert sound(db)


def test_the_package_works_without_numpy_pandas_pyarrow_polars_and_duckdb(db: Path) -> None:
    script = """
import json, sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in ('numpy', 'pandas', 'pyarrow', 'polars', 'duckdb'):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Nothing())
import datetime, decimal, sqlite3, uuid, sqluice
rows = [(1, 'a', 2.5, b'x', None, True, datetime.date(2024, 2, 29), decimal.Decimal('1.5'), uuid.UUID(int=1))]
report = sqluice.write(sys.argv[1], rows, 't', columns=list('abcdefghi'))
assert sqluice.check(sys.argv[1], full=True)
loaded = [name for name in sys.modules if name.partition('.')[0] in ('numpy', 'pandas', 'pyarrow', 'polars', 'duckdb')]
print(json.dumps([report.rows, loaded]))
"""
    done = subprocess.run([sys.executable, "-c", script, db], capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [1, []]
    assert query(db, "SELECT a, b, c, e, f, g, h FROM t") == [(1, "a", 2.5, None, 1, "2024-02-29", "1.5")]


def test_dates_booleans_and_numbers_are_converted_on_request(db: Path, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("placed;paid;open;price;units\n31.01.2024;ja;Y;1.234,50;1,000\n1.2.2024;nein;n;3,5;2\n;;;;\n")
    report = sqluice.load(
        db,
        file,
        date={"placed": "%d.%m.%Y"},
        boolean={"paid": ("ja", "nein"), "open": ("y", "n")},
        decimal_comma="price",
        thousands={"price": ".", "units": ","},
        keep_empty_rows=True,
    )
    assert query(db, "SELECT * FROM t") == [
        ("2024-01-31", 1, 1, 1234.5, 1000),
        ("2024-02-01", 0, 0, 3.5, 2),
        (None, None, None, None, None),
    ]
    columns = report.tables[0].columns
    assert [column.type for column in columns] == ["TEXT", "INTEGER", "INTEGER", "REAL", "INTEGER"]
    assert columns[0].conversion == "date %d.%m.%Y"
    file.write_text("cost,share\n($5.00),12.5%\n6.50 USD,3%\n")
    amounts = tmp_path / "amounts.db"
    sqluice.load(amounts, file, accounting="cost", percent=["share"])
    assert query(amounts, "SELECT cost, share FROM t") == [(-5.0, 0.125), (6.5, 0.03)]
    file.write_text("a,b\n31.02.2024,no\n")
    with pytest.raises(sqluice.InputError, match="'31.02.2024' in column a is not a date") as raised:
        sqluice.load(tmp_path / "b.db", file, date={"a": "%d.%m.%Y"}, boolean=["b"])
    assert (raised.value.file, raised.value.line) == (str(file), 2)
    with pytest.raises(sqluice.UsageError, match='date={"a": "%d.%q"}: "%q" is not a directive'):
        sqluice.load(tmp_path / "b.db", file, date={"a": "%d.%q"})
    with pytest.raises(sqluice.UsageError, match="`boolean` names the column"):
        sqluice.load(tmp_path / "b.db", file, boolean="c")


def test_copy_selects_rows_by_a_condition_or_a_sample(db: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(db)) as connection:
        connection.executescript(
            """CREATE TABLE customers (id INTEGER PRIMARY KEY, country TEXT);
            CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INT REFERENCES customers);
            INSERT INTO customers VALUES (1, 'NO'), (2, 'SE'), (3, NULL);
            INSERT INTO orders VALUES (1, 1), (2, 2), (3, 3), (4, 1)"""
        )
    small = tmp_path / "small.db"
    with pytest.raises(sqluice.InputError, match="kept rows refer to rows that are left out: 2 rows of orders"):
        sqluice.copy(db, small, where={"customers": "country = 'NO'"})
    report = sqluice.copy(db, small, where={"customers": "country = 'NO'"}, sample_children=True)
    assert report.selected is not None
    assert [(table.table, table.filtered, table.filtered_null, table.children) for table in report.selected.tables] == [
        ("customers", 2, 1, 0),
        ("orders", 0, 0, 2),
    ]
    assert query(small, "SELECT id FROM orders") == [(1,), (4,)]
    report = sqluice.copy(db, small, sample={"orders": 3}, seed=5, overwrite=True)
    assert query(small, "SELECT count(*) FROM orders") == [(3,)]
    sqluice.copy(db, small, sample={"customers": "0%"}, orphans="keep", overwrite=True)
    assert query(small, "SELECT (SELECT count(*) FROM customers), (SELECT count(*) FROM orders)") == [(0, 4)]


def test_the_error_about_an_unreachable_server_names_the_host_and_not_the_password(tmp_path: Path) -> None:
    with pytest.raises(sqluice.Error) as refused:
        sqluice.load(tmp_path / "x.db", "postgres://ann:secret@127.0.0.1:1/shop", where={"orders": "total > 10"}, connections=2)
    assert "127.0.0.1" in str(refused.value)
    assert "secret" not in str(refused.value)
    assert not (tmp_path / "x.db").exists()
    with pytest.raises(sqluice.Error, match="one snapshot|server"):
        sqluice.load(tmp_path / "x.db", tmp_path / "t.csv", schema_name="sales")
