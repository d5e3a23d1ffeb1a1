"""Errors name the parameters of the function that was called, and have their place and hint as attributes."""

from __future__ import annotations

import errno
import importlib
import inspect
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest
import sqluice
import sqluice.distributed
from sqluice import _sqluice
from test_frames import need
from twin import query


def parameters(*functions: Any) -> set[str]:
    return {name for function in functions for name in inspect.signature(function).parameters}


TERMS = _sqluice.setting_terms()


@pytest.mark.parametrize(("setting", "terms"), TERMS, ids=[setting for setting, _ in TERMS])
def test_messages_call_every_setting_by_the_name_of_its_parameter(setting: str, terms: list[str | None]) -> None:
    known = parameters(sqluice.load, sqluice.write, sqluice.check, sqluice.pack, sqluice.unpack, sqluice.generate, sqluice.read, sqluice.export, sqluice.copy, sqluice.merge, sqluice.profile, sqluice.index, sqluice.recover)
    of_generate = parameters(sqluice.generate)
    of_write = parameters(sqluice.write) & parameters(sqluice.Writer, sqluice.Writer.create_table, sqluice.Writer.append)
    for number, term in enumerate(terms):
        if term is None:
            continue
        names = set(re.findall(r"(\w+)=", term) or re.findall(r"^`(\w+)`$", term))
        assert names and names <= known, term
        # The terms of `load` come first, then those of `generate`, `read` and `write`, each without and with a value.
        if number in (2, 3) and names & of_generate:
            assert names <= of_generate, term
        if number in (6, 7):
            assert names <= of_write, term
        if "=" in term:
            compile(f"f({term})", setting, "eval")


def test_messages_name_a_switch_as_an_argument_with_the_value_true() -> None:
    terms = dict(TERMS)
    switches = [
        name
        for name, parameter in inspect.signature(sqluice.load).parameters.items()
        if parameter.annotation == "bool" and name in terms
    ]
    assert {"skip_bad_files", "overwrite_reject", "add_columns", "lossy", "strict"} <= set(switches)
    assert {name: terms[name][0] for name in switches} == {name: f"{name}=True" for name in switches}


def test_errors_have_their_place_as_attributes(db: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("a,b\n1,2\n3\n")
    second.write_text("c,d\n1,2\n3\n")
    with pytest.raises(sqluice.InputError) as raised:
        sqluice.load(db, first)
    error = raised.value
    assert (error.kind, error.file, error.line, error.column, error.byte) == ("input", str(first), 3, 2, 9)
    assert error.parts == () and error.hint is not None
    with pytest.raises(sqluice.InputError) as several:
        sqluice.load(db, [first, second])
    assert [(part.file, part.line) for part in several.value.parts] == [(str(first), 3), (str(second), 3)]  # type: ignore[attr-defined]
    with pytest.raises(sqluice.UsageError) as usage:
        sqluice.load(db, first, name_from="x")  # type: ignore[arg-type]
    assert (usage.value.kind, sqluice.TargetError.kind, sqluice.Interrupted.kind) == ("usage", "target", "interrupted")


def test_only_overwrite_reject_replaces_an_existing_reject_file(db: Path, tmp_path: Path) -> None:
    rows, reject = tmp_path / "t.csv", tmp_path / "bad.csv"
    rows.write_text("a,b\n1,2\n3\n4,5\n6,7\n")
    reject.write_text("precious")
    for overwrite in (False, True):
        with pytest.raises(FileExistsError) as raised:
            sqluice.load(db, rows, reject=reject, overwrite=overwrite)
        assert "overwrite_reject=True" in str(raised.value)
        assert reject.read_text() == "precious"
    assert sqluice.load(db, rows, reject=reject, overwrite_reject=True).rejected == 1
    assert reject.read_text() != "precious"


def test_a_report_counts_replaced_and_ignored_rows(db: Path) -> None:
    columns = ["a", "b"]
    assert sqluice.write(db, [(1, 1), (2, 2)], "old", columns=columns, primary_key="a").replaced is None
    ignored = sqluice.write(db, [(1, 1), (3, 3)], "old", columns=columns, if_exists="append", on_conflict="ignore")
    assert (ignored.rows, ignored.ignored, ignored.tables[0].ignored) == (1, 1, 1) and "1 ignored" in repr(ignored)
    updated = sqluice.write(db, [(3, 4), (4, 4)], "old", columns=columns, if_exists="upsert", primary_key="a")
    assert (updated.rows, updated.tables[0].updated) == (2, 1)
    replaced = sqluice.generate(db, preset="user", rows=3, overwrite=True).replaced
    assert replaced is not None and replaced.unread is None
    assert [(table.name, table.rows, table.estimated) for table in replaced.tables] == [("old", 4, False)]
    near = sqluice.write(db, [(1,)], "users", columns=["a"], if_exists="append")
    assert near.notes == (f"table users is new: {db} has a table user, which gets no rows",)


def test_no_text_of_the_package_names_a_flag_of_the_command() -> None:
    for file in Path(sqluice.__file__).parent.glob("*.py"):
        found = re.findall(r"(?<![\w-])--[a-z][\w-]*", file.read_text())
        assert not found, file


@pytest.mark.flags_in_data
def test_table_and_column_names_that_look_like_flags_are_used_unchanged(db: Path) -> None:
    with pytest.raises(sqluice.InputError, match="--append") as raised:
        sqluice.write(db, [(object(),)], "--overwrite", columns=["--append"])
    assert raised.value.column == "--append"
    sqluice.write(db, [(1,)], "--overwrite", columns=["--append"])
    with pytest.raises(sqluice.UsageError) as usage:
        sqluice.write(db, [(1,)], "t", columns=["--append"], primary_key="--memory")
    assert '"--memory"' in usage.value.message and "--append" in str(usage.value)
    with pytest.raises(sqluice.TargetError, match="a table --overwrite"):
        sqluice.write(db, [(1,)], "--overwrite", columns=["--append"])


def test_the_error_about_an_upsert_without_a_primary_key_names_the_argument(db: Path) -> None:
    sqluice.write(db, [(1, 2)], "t", columns=["a", "b"])
    with pytest.raises(sqluice.UsageError, match="t has no PRIMARY KEY") as raised:
        sqluice.write(db, [(1, 2)], "t", if_exists="upsert")
    assert raised.value.hint is not None and 'primary_key=["A", "B"]' in raised.value.hint
    file = db.with_suffix(".csv")
    file.write_text("a,b\n1,2\n")
    with pytest.raises(sqluice.UsageError) as of_load:
        sqluice.load(db, file, table="t", if_exists="upsert")
    assert 'if_exists="upsert"' in str(of_load.value)


def test_the_error_about_a_missing_folder_names_the_folder(db: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    for write in (
        lambda: sqluice.write(missing / "x.db", [(1,)], "t", columns=["a"]),
        lambda: sqluice.generate(missing / "x.db", preset="user", rows=3),
        lambda: sqluice.pack(missing / "x.db", tmp_path),
    ):
        with pytest.raises(FileNotFoundError) as raised:
            write()
        assert raised.value.filename == str(missing) and str(missing) in str(raised.value)
    with pytest.raises(FileNotFoundError) as of_writer, sqluice.Writer(missing / "x.db") as writer:
        writer.append([(1,)], "t", columns=["a"])
    assert of_writer.value.filename == str(missing)
    with pytest.raises(FileNotFoundError) as schema:
        sqluice.generate(db, "missing.sql", rows=1)
    assert (schema.value.errno, schema.value.filename) == (errno.ENOENT, "missing.sql")


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_database_in_memory_is_refused_as_the_target(overwrite: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for write in (
        lambda: sqluice.write(":memory:", [(1,)], "t", columns=["a"], overwrite=overwrite),
        lambda: sqluice.generate(":memory:", preset="user", rows=3, overwrite=overwrite),
        lambda: sqluice.pack(":memory:", tmp_path, overwrite=overwrite),
        lambda: sqluice.BlobStore(":memory:"),
        lambda: sqluice.EntityStore(":memory:"),
    ):
        with pytest.raises(sqluice.UsageError, match="memory"):
            write()
    assert list(tmp_path.iterdir()) == []
    sqluice.write("./:memory:", [(1,)], "t", columns=["a"])
    assert query(tmp_path / ":memory:", "SELECT a FROM t") == [(1,)]


CSV = b"id,name\n1,Oslo\n2,Rome\n"


def test_file_objects_are_loaded(db: Path, tmp_path: Path) -> None:
    file = tmp_path / "town.csv"
    file.write_bytes(CSV)
    with file.open("rb") as opened:
        report = sqluice.load(db, opened)
    assert [(table.name, table.rows) for table in report.tables] == [("town", 2)]
    sqluice.load(db, BytesIO(CSV), table="of_bytes")
    sqluice.load(db, StringIO(CSV.decode()), table="of_text")
    sqluice.load(db, [BytesIO(CSV), file], table="both")
    for table, times in (("town", 1), ("of_bytes", 1), ("of_text", 1), ("both", 2)):
        assert query(db, f"SELECT * FROM {table}") == [(1, "Oslo"), (2, "Rome")] * times
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.db", "town.csv"]


def test_errors_name_a_file_object_by_its_class_and_not_by_a_temporary_path(db: Path, tmp_path: Path) -> None:
    bad = BytesIO(b"id,name\n1,a\n2\n")
    with pytest.raises(sqluice.InputError) as raised:
        sqluice.load(db, bad, table="t")
    assert raised.value.file == "<BytesIO>" and raised.value.line == 3 and "/" not in str(raised.value)
    with pytest.raises(sqluice.UsageError, match="has no name") as unnamed:
        sqluice.load(db, BytesIO(CSV))
    assert unnamed.value.hint is not None and "table=" in unnamed.value.hint
    with pytest.raises(sqluice.UsageError) as content:
        sqluice.load(db, CSV, table="t")  # type: ignore[arg-type]
    assert content.value.hint is not None and "io.BytesIO" in content.value.hint
    with pytest.raises(sqluice.UsageError, match="int"):
        sqluice.load(db, 5, table="t")  # type: ignore[arg-type]
    assert not db.exists()


SCHEMA = "CREATE TABLE t (id INTEGER PRIMARY KEY, age INTEGER NOT NULL)"


def test_the_argument_schema_takes_statements_or_the_path_of_a_file(db: Path, tmp_path: Path) -> None:
    file, rows = tmp_path / "my shop (1).sql", tmp_path / "t.csv"
    file.write_text(SCHEMA)
    rows.write_text("id,age\n1,5\n")
    for number, schema in enumerate([SCHEMA, str(file), file, "\n" + SCHEMA.lower()]):
        made = tmp_path / f"{number}.db"
        sqluice.generate(made, schema, rows=3)
        assert query(made, "SELECT count(*) FROM t") == [(3,)]
        sqluice.load(made, rows, schema=schema, overwrite=True)
        sqluice.write(made, [(2, 6)], "t", if_exists="append")
        assert query(made, "SELECT * FROM t") == [(1, 5), (2, 6)]
        sqluice.write(made, [(2, 6)], "t", schema=schema, overwrite=True)
        assert query(made, "SELECT * FROM t") == [(2, 6)]
    with pytest.raises(sqluice.InputError, match="syntax"):
        sqluice.generate(db, "CREATE TABLEAU t (a)", rows=1)


def test_the_preset_tpch_needs_a_scale_and_the_preset_user_refuses_one(db: Path) -> None:
    sqluice.generate(db, preset="tpch", scale=0.01)
    with closing(sqlite3.connect(db)) as connection:
        assert connection.execute("SELECT count(*) FROM orders").fetchone() == (15_000,)
    for more in ({}, {"scale": 0.01, "rows": 5}):
        with pytest.raises(sqluice.UsageError, match="scale"):
            sqluice.generate(db, preset="tpch", overwrite=True, **more)  # type: ignore[arg-type]
    with pytest.raises(sqluice.UsageError, match="scale"):
        sqluice.generate(db, preset="user", scale=1.0, overwrite=True)


WITH_NUL = "a\0b"


def test_a_column_name_with_a_nul_is_refused_for_every_kind_of_data(db: Path, tmp_path: Path) -> None:
    pa, pd, pl, np = need("pyarrow"), need("pandas"), need("polars"), need("numpy")
    parquet, arrow = tmp_path / "x.parquet", tmp_path / "x.arrow"
    table = pa.table({WITH_NUL: [1]})
    importlib.import_module("pyarrow.parquet").write_table(table, parquet)
    importlib.import_module("pyarrow.feather").write_feather(table, arrow)

    def with_writer(data: Any) -> None:
        with sqluice.Writer(db) as writer:
            writer.append(data, "t")

    def create() -> None:
        with sqluice.Writer(db) as writer:
            writer.create_table("t", {WITH_NUL: "INTEGER"})

    def by_job() -> None:
        job = sqluice.distributed.Job(tmp_path / "job.db", "t")
        job.begin()
        job.write(table.to_batches(), 0)

    dicts, frame, of_polars = [{WITH_NUL: 1}], pd.DataFrame({WITH_NUL: [1]}), pl.DataFrame({WITH_NUL: [1]})
    array = np.array([(1,)], dtype=[(WITH_NUL, "i8")])
    nested = [table.select([]).append_column("s", pa.array([{WITH_NUL: 1}])), pl.DataFrame({"s": [{WITH_NUL: 1}]})]
    for make in (
        *(lambda data=data: data for data in (dicts, frame, [frame], table, table.to_batches(), of_polars, [of_polars], array)),
        *(lambda data=data: iter(data) for data in (dicts, [frame], [table], [of_polars])),
        table.to_reader,
    ):
        refused_for_nul(lambda make=make: sqluice.write(db, make(), "t"))
        refused_for_nul(lambda make=make: with_writer(make()))
    for write in (
        lambda: sqluice.write(db, [(1,)], "t", columns=[WITH_NUL]),
        lambda: sqluice.write(db, pd.DataFrame({"a": [1]}), "t", index=True, index_label=WITH_NUL),
        create,
        by_job,
        *(lambda file=file: sqluice.load(db, file) for file in (parquet, arrow)),
        *(lambda data=data: sqluice.write(db, data, "t") for data in nested),
    ):
        refused_for_nul(write)
    assert not db.exists()


def refused_for_nul(write: Callable[[], Any]) -> None:
    with pytest.raises(sqluice.InputError, match="has a NUL character, which no name in SQLite can have") as raised:
        write()
    assert raised.value.column in (WITH_NUL, "s") and raised.value.hint == "rename it"


def test_errors_about_arrow_data_name_the_column_and_only_parameters_of_write(db: Path) -> None:
    pa = need("pyarrow")
    of_write = parameters(sqluice.write)
    cases: list[tuple[Any, dict[str, Any]]] = [
        (pa.array([1, 2**63], pa.uint64()), {}),
        (pa.array([1, None]), {"schema": "CREATE TABLE t (a NOT NULL)"}),
        (pa.array(["x"]), {"schema": {"a": "INTEGER"}, "strict": True}),
        (pa.array(["x"]), {"schema": {"a": "INTEGER"}, "primary_key": "a"}),
        (pa.array([2**40], pa.timestamp("s")), {}),
        (pa.array([[2**40]], pa.list_(pa.timestamp("s"))), {}),
        (pa.Array.from_buffers(pa.decimal128(3, 0), 1, [None, pa.py_buffer((5_000).to_bytes(16, "little"))]), {}),
        (pa.array([b"\xff"]).view(pa.string()), {}),
    ]
    for column, more in cases:
        for data in (pa.table({"a": column}), [pa.table({"a": column})], iter([pa.table({"a": column})])):
            with pytest.raises(sqluice.InputError) as raised:
                sqluice.write(db, data, "t", **more)
            message = str(raised.value)
            assert (raised.value.column, raised.value.file) == ("a", None) and raised.value.row is not None, message
            assert not re.match(r"\.?:", message) and ".: " not in message, message
            assert set(re.findall(r"(\w+)=", message)) <= of_write, message
