"""`sqluice.distributed` without Ray, Spark or Dask: databases that many tasks write (shards) become one database, or a set of databases."""

from __future__ import annotations

import decimal
import json
import os
import pickle
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import chdir, closing
from pathlib import Path
from typing import Any

import pyarrow
import pytest
import sqluice
from effort import tries
from hypothesis import given
from hypothesis import strategies as st
from sqluice.distributed import Hash, Job, Parts, Range, Shard, read_manifest
from twin import query


def content(db: Path, table: str = "t") -> tuple[list[Any], list[Any]]:
    """Returns the statements, and the sorted rows with the classes of their values."""
    with closing(sqlite3.connect(db)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        values = ", ".join(f'"{name}", typeof("{name}")' for name in names)
        rows = connection.execute(f"SELECT {values} FROM {table}").fetchall()
        statements = connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY name").fetchall()
    return statements, sorted(rows, key=repr)


def run(job: Job, shares: Sequence[pyarrow.Table | list[pyarrow.RecordBatch]]) -> Any:
    """Runs tasks as Ray, Spark and Dask do: each task gets a pickled copy of the job."""
    job.begin()
    shards: list[Shard] = []
    for task, share in enumerate(shares):
        batches = share.to_batches() if isinstance(share, pyarrow.Table) else share
        shards += pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(job)).write(batches, task)))
    return job.commit(shards, shares[0].schema if isinstance(shares[0], pyarrow.Table) else None)


def run_twice(job: Job, shares: Sequence[pyarrow.Table], chance: random.Random) -> Any:
    """Runs tasks as `run` does, and a second round, in which tasks write their parts of the target in any order, some of them twice."""
    job.begin()
    shards = [shard for task, share in enumerate(shares) for shard in job.write(share.to_batches(), task)]
    places = job.plan(shards)
    chance.shuffle(places)
    placed = []
    for place in pickle.loads(pickle.dumps(places)):
        if chance.random() < 0.3:
            pickle.loads(pickle.dumps(job)).place(place)
        placed.append(pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(job)).place(place))))
    return job.commit(shards, shares[0].schema, placed)


def staged(folder: Path) -> list[str]:
    """Returns the hidden names in a folder: the staging folders that jobs have left."""
    return [name for name in os.listdir(folder) if name.startswith(".")]


def table(ids: Sequence[int], **more: Any) -> pyarrow.Table:
    return pyarrow.table({"id": list(ids), "area": [f"area {number % 7}" for number in ids], **more})


rows_of_any_kind = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
        st.one_of(st.none(), st.text()),
        st.one_of(st.none(), st.floats(allow_nan=False)),
        st.one_of(st.none(), st.binary()),
    ),
    max_size=60,
)


@given(rows=rows_of_any_kind, tasks=st.sampled_from([1, 2, 7]), indexed=st.booleans(), data=st.data())
def test_many_tasks_write_the_database_that_one_process_would_write(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], tasks: int, indexed: bool, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("t")
    schema = pyarrow.schema([("id", "int64"), ("i", "int64"), ("text", "string"), ("real", "float64"), ("blob", "binary")])
    columns = list(zip(*rows, strict=True)) if rows else [[], [], [], []]
    whole = pyarrow.Table.from_arrays([pyarrow.array(column, field.type) for column, field in zip([range(len(rows)), *columns], schema, strict=True)], schema=schema)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), min_size=tasks - 1, max_size=tasks - 1)))
    shares = [whole.slice(start, end - start) for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    given = {"primary_key": "id", "index": ["text", "real DESC, i"]} if indexed else {}
    committed = run(Job(folder / "many.db", "t", **given), shares)  # type: ignore[arg-type]
    sqluice.write(folder / "one.db", whole, "t", **given)  # type: ignore[arg-type]
    assert content(folder / "many.db") == content(folder / "one.db")
    assert committed.rows == len(rows)
    assert staged(folder) == []


@given(
    shares=st.lists(st.lists(st.lists(st.one_of(st.none(), st.integers(0, 40)), max_size=6), max_size=4), min_size=1, max_size=3),
    sort=st.booleans(),
    policy=st.sampled_from(["ignore", "replace"]),
)
def test_rows_of_a_task_may_be_out_of_key_order_in_any_batch(
    tmp_path_factory: pytest.TempPathFactory, shares: list[list[list[int | None]]], sort: bool, policy: str
) -> None:
    folder = tmp_path_factory.mktemp("t")
    schema = pyarrow.schema([("id", "int64"), ("row", "int64")])
    tasks, batches_of_all = [], []
    for task, share in enumerate(shares):
        batches = []
        for keys in share:
            # Only the first task has rows without a key: an automatic key depends on earlier rows, and a task knows only its own rows.
            keys = [0 if key is None and task > 0 else key for key in keys]
            if sort and None not in keys:
                keys = sorted(keys, key=lambda key: key or 0)
            batches.append(pyarrow.record_batch([pyarrow.array(keys, "int64"), pyarrow.array(range(len(keys)), "int64")], schema=schema))
        tasks.append(batches)
        batches_of_all += batches
    whole = pyarrow.Table.from_batches(batches_of_all, schema)
    if whole.num_rows == 0:
        return
    run(Job(folder / "many.db", "t", primary_key="id", on_conflict=policy), tasks)  # type: ignore[arg-type]
    sqluice.write(folder / "one.db", whole, "t", primary_key="id", on_conflict=policy)  # type: ignore[arg-type]
    assert content(folder / "many.db") == content(folder / "one.db")
    assert staged(folder) == []


def test_rows_out_of_key_order_go_to_a_second_database_of_the_task(tmp_path: Path) -> None:
    job = Job(tmp_path / "t.db", "t", primary_key="id")
    job.begin()
    shards = job.write([*table(range(100)).to_batches(), *table(range(100, 200)).to_batches(), *table([3000, 250, 201]).to_batches()], 0)
    assert [(shard.run, shard.rows) for shard in shards] == [(0, 200), (1, 3)]
    assert job.commit(shards).rows == 203
    assert [row[0] for row in content(tmp_path / "t.db")[1]][-1:] == [99]
    # A set has a database for each task.
    of_set = Job(tmp_path / "set", "t", primary_key="id", mode="set")
    of_set.begin()
    [shard] = of_set.write([*table(range(100)).to_batches(), *table([3000, 250, 201]).to_batches()], 0)
    assert of_set.commit([shard]).rows == 103


@pytest.mark.parametrize("later", [pyarrow.table({"area": ["a"]}), pyarrow.table({"id": ["1"], "area": ["a"]}), pyarrow.table({"id": [1], "area": [2]})])
def test_a_batch_with_other_columns_than_the_first_of_the_task_is_refused(tmp_path: Path, later: pyarrow.Table) -> None:
    job = Job(tmp_path / "t.db", "t", primary_key="id")
    job.begin()
    with pytest.raises(sqluice.UsageError, match="a batch has other columns than the first"):
        job.write([table(range(10)), later], 0)
    job.abort()
    assert os.listdir(tmp_path) == []


def test_rows_of_tasks_in_key_order_are_concatenated_as_leaf_pages(tmp_path: Path) -> None:
    shares = [table(range(start, start + 20_000)) for start in range(0, 80_000, 20_000)]
    committed = run(Job(tmp_path / "t.db", "t", primary_key="id"), shares)
    [merged] = committed.merge.tables
    assert merged.method == "concatenated" and merged.relocated_leaves > merged.leaf_pages // 2
    assert content(tmp_path / "t.db")[1][:1] == [(0, "integer", "area 0", "text")]


def test_a_commit_ignores_databases_of_failed_attempts_and_refuses_two_attempts_of_a_task(tmp_path: Path) -> None:
    job = Job(tmp_path / "t.db", "t", primary_key="id")
    job.begin()
    batches = table(range(100)).to_batches()
    first, again = job.write(batches, 0), job.write(batches, 0)
    assert first[0].name != again[0].name
    with pytest.raises(sqluice.InputError, match="two attempts of task 0"):
        job.commit([*first, *again])
    assert not (tmp_path / "t.db").exists() and staged(tmp_path) == []
    job = Job(tmp_path / "t.db", "t", primary_key="id")
    job.begin()
    job.write(batches, 0)
    # A first attempt of the task failed half way.
    (Path(job.staging) / job.id / "000001-torn-0.db").write_bytes(b"half of a page")
    assert job.commit(job.write(batches, 0)).rows == 100
    assert staged(tmp_path) == []


def test_a_key_in_two_tasks_is_an_error_unless_on_conflict_decides(tmp_path: Path) -> None:
    shares = [table([1, 2]), table([2, 3])]
    with pytest.raises(sqluice.InputError, match=r"t\.id = 2 is in both"):
        run(Job(tmp_path / "t.db", "t", primary_key="id"), shares)
    assert os.listdir(tmp_path) == []
    assert run(Job(tmp_path / "t.db", "t", primary_key="id", on_conflict="ignore"), shares).merge.left_out_rows == 1


def test_a_column_without_values_in_some_tasks_has_the_type_of_the_other_tasks(tmp_path: Path) -> None:
    shares = [
        table([1, 2], x=pyarrow.array([None, None], pyarrow.null()), y=[1, 2]),
        table([3, 4], x=["a", None], y=[None, 4]),
        table([5], x=pyarrow.array([None], pyarrow.null()), y=[0.5]),
    ]
    run(Job(tmp_path / "t.db", "t", primary_key="id", index="x"), shares)
    whole = table([1, 2, 3, 4, 5], x=[None, None, "a", None, None], y=[1.0, 2.0, None, 4.0, 0.5])
    sqluice.write(tmp_path / "one.db", whole, "t", primary_key="id", index="x")
    assert content(tmp_path / "t.db") == content(tmp_path / "one.db")
    with pytest.raises(sqluice.InputError, match="column x is TEXT in task 0 and INTEGER in task 1"):
        run(Job(tmp_path / "other.db", "t"), [table([1], x=["a"]), table([2], x=[5])])
    with pytest.raises(sqluice.InputError, match="task 0 has the columns id, area, task 1 id, area, x"):
        run(Job(tmp_path / "other.db", "t"), [table([1]), table([2], x=[5])])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([[5], ["a"]], "TEXT"),
        ([["a"], [5]], "TEXT"),
        ([[0.5], ["a"]], "TEXT"),
        ([[5], [b"a"]], "BLOB"),
        ([[b"a"], ["a"]], "BLOB"),
    ],
)
def test_the_type_in_the_hint_about_mixed_types_can_store_all_values(tmp_path: Path, values: list[list[Any]], expected: str) -> None:
    shares = [table([number], x=share) for number, share in enumerate(values)]
    with pytest.raises(sqluice.InputError) as raised:
        run(Job(tmp_path / "t.db", "t"), shares)
    assert raised.value.hint == f"declare its type: types={{'x': '{expected}'}}"
    run(Job(tmp_path / "t.db", "t", types={"x": expected}), shares)
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        found = [row[0] for row in connection.execute("SELECT x FROM t ORDER BY id")]
    given = [share[0] for share in values]
    assert found == ([str(value) for value in given] if expected == "TEXT" else given)


def test_tasks_and_batches_may_order_the_columns_differently(tmp_path: Path) -> None:
    first, other = table([1, 2], x=["a", "b"]), table([3, 4], x=["c", "d"]).select(["x", "id", "area"])
    sqluice.write(tmp_path / "one.db", pyarrow.concat_tables([first, other.select(["id", "area", "x"])]), "t", primary_key="id")
    for second_round in [False, True]:
        # The other order of columns is in a second task, or in a later batch of the same task.
        for name, shares in [("two", [first, other]), ("in-one", [[*first.to_batches(), *other.to_batches()]])]:
            db = tmp_path / f"{name}-{second_round}.db"
            job = Job(db, "t", primary_key="id", second_round=second_round)
            job.begin()
            shards = [shard for task, share in enumerate(shares) for shard in job.write(share if isinstance(share, list) else share.to_batches(), task)]
            job.commit(shards, placed=[job.place(place) for place in job.plan(shards)])
            assert content(db) == content(tmp_path / "one.db")


def test_a_table_without_rows_has_the_columns_given_as_types_and_is_an_error_without_them(tmp_path: Path) -> None:
    job = Job(tmp_path / "t.db", "t", types={"id": "INTEGER", "x": "TEXT"}, primary_key="id")
    job.begin()
    job.commit([])
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        assert [row[1:3] for row in connection.execute("PRAGMA table_info(t)")] == [("id", "INTEGER"), ("x", "TEXT")]
    job = Job(tmp_path / "other.db", "t")
    job.begin()
    with pytest.raises(sqluice.InputError, match="the columns are not known"):
        job.commit([])


def test_an_existing_table_is_an_error_is_appended_to_or_is_overwritten(tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    run(Job(db, "t", primary_key="id"), [table([1, 2])])
    with pytest.raises(sqluice.TargetError, match="already has a table t"):
        Job(db, "t").begin()
    assert run(Job(db, "u", primary_key="id"), [table([1, 2])]).rows == 2
    run(Job(db, "v"), [table([])])
    assert content(db, "u")[1] and content(db, "v")[1] == []
    assert run(Job(db, "t", primary_key="id", if_exists="append"), [table([3]), table([4])]).rows == 2
    assert len(content(db)[1]) == 4
    run(Job(db, "t", primary_key="id", overwrite=True), [table([9])])
    assert len(content(db)[1]) == 1
    run(Job(db, "t", overwrite=True), [table([])])
    assert content(db)[1] == [] and staged(tmp_path) == []
    for options in ({"mode": "set", "if_exists": "append"}, {"partition_by": Hash("id", 2)}, {"mode": "other"}, {"if_exists": "replace"}, {"if_exists": "upsert"}):
        with pytest.raises(sqluice.UsageError):
            Job(db, "t", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("partition", [None, Hash("id", 3), Hash("area", 3), Range("id", [30, 60]), Range("area", ["area 3"])])
def test_the_manifest_of_a_set_of_databases_lists_row_counts_and_keys_of_each(tmp_path: Path, partition: Hash | Range | None) -> None:
    target = tmp_path / "all"
    shares = [table(random.Random(task).sample(range(task * 25, task * 25 + 25), 25)) for task in range(4)]
    committed = run(Job(target, "t", mode="set", primary_key="id", index="area", partition_by=partition), shares)
    about = read_manifest(str(target))
    assert (about["rows"], committed.rows) == (100, 100)
    assert sorted(os.listdir(target)) == sorted([*(member["file"] for member in about["databases"]), "manifest.json"])
    places: dict[Any, set[int]] = {}
    with closing(sqlite3.connect(":memory:")) as connection, chdir(target):
        for statement in [*about["attach"], about["view"]]:
            connection.execute(statement)
        assert connection.execute("SELECT count(*), count(DISTINCT id), min(id), max(id) FROM t").fetchone() == (100, 100, 0, 99)
    for member in about["databases"]:
        assert (target / member["file"]).stat().st_size == member["bytes"]
        rows = content(target / member["file"])[1]
        assert len(rows) == member["rows"]
        assert member["key"] == {"column": "id", "min": min(row[0] for row in rows), "max": max(row[0] for row in rows)}
        for row in rows:
            places.setdefault(row[0] if partition is None or partition.column == "id" else row[2], set()).add(member["partition"])
    assert all(len(found) == 1 for found in places.values())
    if isinstance(partition, Range) and partition.column == "id":
        assert {place: next(iter(found)) for place, found in places.items()} == {number: (number >= 30) + (number >= 60) for number in range(100)}
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in about["schema"]:
            connection.execute(statement)
    with pytest.raises(sqluice.TargetError, match="already exists"):
        Job(target, "t", mode="set").begin()
    run(Job(target, "t", mode="set", overwrite=True), [table([1])])
    assert read_manifest(str(target))["rows"] == 1 and staged(tmp_path) == []
    # A folder that is no set is not replaced.
    (tmp_path / "mine").mkdir()
    with pytest.raises(sqluice.InputError, match="is not a set"):
        Job(tmp_path / "mine", "t", mode="set", overwrite=True).begin()


DRIVER = """
import sys, time, pyarrow
from sqluice.distributed import Job
target, mode, when, each = sys.argv[1:4] + [int(sys.argv[4])]
job = Job(target, "t", mode=mode, primary_key="id", index="area")
job.begin()
shards = []
for task in range(4):
    ids = range(task * each, task * each + each)
    shards += job.write([pyarrow.record_batch({"id": list(ids), "area": [f"area {n % 7}" for n in ids]})], task)
print("written", flush=True)
if when == "before":
    time.sleep(60)
job.commit(shards)
print("committed", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("mode", ["one", "set"])
def test_a_killed_driver_leaves_a_complete_target_or_none(tmp_path: Path, mode: str) -> None:
    chance = random.Random(5)
    seen = set()
    each = tries(5_000, 20_000, 20_000)
    for lap in range(tries(3, 8, 100)):
        folder = tmp_path / str(lap)
        folder.mkdir()
        target = folder / ("all" if mode == "set" else "t.db")
        when = ["before", "during", "after"][lap % 3]
        with subprocess.Popen([sys.executable, "-c", DRIVER, target, mode, when, str(each)], stdout=subprocess.PIPE, text=True) as driver:
            assert driver.stdout is not None
            assert driver.stdout.readline() == "written\n"
            if when == "during":
                time.sleep(chance.uniform(0, 0.15))
            elif when == "after":
                assert driver.stdout.readline() == "committed\n"
            driver.send_signal(signal.SIGKILL)
        is_there = (target / "manifest.json" if mode == "set" else target).exists()
        seen.add(is_there)
        assert is_there or when != "after"
        assert not is_there or when != "before"
        if is_there:
            files = [target] if mode == "one" else sorted(target.glob("*.db"))
            assert sum(len(content(file)[1]) for file in files) == 4 * each
        elif mode == "set":
            assert not target.exists()
        # The next run removes the leftovers, and makes the database.
        job = Job(target, "t", mode=mode, overwrite=is_there)  # type: ignore[arg-type]
        assert run(job, [table([1])]).rows == 1
        assert os.listdir(folder) == [target.name]
    assert seen == {True, False}


# This program replaces a target, in a folder or in a store. Objects of the store appear whole, as those of S3 do, and stay when the program
# is killed. It is killed before its event number `lives`, if that is not 0. Events are Python's audit events of opening, making, renaming
# and removing files.
REPLACER = """
import os, shutil, signal, sys, fsspec, pyarrow
from fsspec.implementations.local import LocalFileSystem
from sqluice import _sqluice
from sqluice.distributed import Job

class Store(LocalFileSystem):
    protocol = "store"

    def pipe_file(self, path, value, **more):
        self._put(path, lambda made: open(made, "wb").write(value))

    def put_file(self, source, path, **more):
        self._put(path, lambda made: shutil.copyfile(source, made))

    def _put(self, path, make):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        made = os.path.join(sys.argv[6], str(os.getpid()))
        make(made)
        os.replace(made, path)

fsspec.register_implementation("store", Store, clobber=True)
target, mode, kind, first, lives = *sys.argv[1:5], int(sys.argv[5])
if kind == "two steps":
    _sqluice.exchange = lambda *names: False
job = Job(("store://" if kind == "store" else "") + target, "t", mode=mode, primary_key="id", overwrite=True)
left = [lives]

def dies(event, args):
    if event.startswith(("os.re", "os.rm", "shutil.rm", "os.mk", "open")) and not str(args[0]).endswith(".pyc"):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

if lives:
    sys.addaudithook(dies)
job.begin()
shards = [shard for task in range(4) for shard in job.write([pyarrow.record_batch({"id": [int(first) + task]})], task)]
job.commit(shards)
print("events", lives - left[0])
"""


def replaced(folder: Path, mode: str, kind: str, first: int, lives: int = 0) -> int | None:
    """Replaces a target by one with four rows. Returns the number of events so far, or None if the driver was killed before event `lives`."""
    (folder / "unfinished").mkdir(exist_ok=True)
    args = [str(folder / "in/target"), mode, kind, str(first), str(lives), str(folder / "unfinished")]
    ran = subprocess.run([sys.executable, "-c", REPLACER, *args], capture_output=True, text=True, check=False)
    if ran.returncode == -signal.SIGKILL:
        return None
    assert ran.returncode == 0, ran.stderr
    return int(ran.stdout.split()[-1])


def ids(target: Path, mode: str) -> list[int]:
    if mode == "one":
        return [row[0] for row in content(target)[1]]
    return [row[0] for member in read_manifest(str(target))["databases"] for row in content(target / member["file"])[1]]


@pytest.mark.parametrize("kind", ["one step", "two steps", "store"])
@pytest.mark.parametrize("mode", ["set", "one"])
def test_a_job_killed_while_replacing_a_target_leaves_the_old_or_the_new_rows(tmp_path: Path, mode: str, kind: str) -> None:
    (tmp_path / "in").mkdir()
    target = tmp_path / "in/target"
    before = 0
    assert replaced(tmp_path, mode, kind, before) is not None
    events = replaced(tmp_path, mode, kind, before, 10**6)
    assert events is not None and events > 20
    kills = tries(4, 12, 34)
    # The last events are those of the commit.
    chosen = [events - lap * min(events, 60) // kills for lap in range(kills)] if kills < 34 else range(events - kills, events + 1)
    seen = set()
    for lap, lives in enumerate(chosen, 1):
        replaced(tmp_path, mode, kind, 10 * lap, lives)
        # After a kill, either a reader or another job finds the leftovers first. Both are tested in turn.
        if lap % 2:
            found = ids(target, mode)
            assert found in (list(range(before, before + 4)), list(range(10 * lap, 10 * lap + 4))), (lives, found)
            seen.add(found[0] == before)
            before = found[0]
        else:
            job = Job(target, "t", mode=mode, overwrite=True)  # type: ignore[arg-type]
            job.begin()
            job.abort()
            before = ids(target, mode)[0]
            assert ids(target, mode) == list(range(before, before + 4))
    for left in tmp_path.glob("in/.target.sqluice-staging/*"):
        # For a minute, the next job spares a folder that another job may just have begun.
        os.utime(left, (0, 0))
    assert replaced(tmp_path, mode, kind, 10**6) is not None
    assert ids(target, mode) == list(range(10**6, 10**6 + 4))
    # Only the empty staging folder may stay: a real store has no folders.
    staging = tmp_path / "in/.target.sqluice-staging"
    assert not (kind == "store" and staging.exists()) or os.listdir(staging) == []
    assert [name for name in os.listdir(tmp_path / "in") if kind != "store" or name != staging.name] == ["target"]
    if mode == "set":
        files = {member["file"] for member in read_manifest(str(target))["databases"]}
        assert set(os.listdir(target)) == {*files, "manifest.json"}


def test_a_set_moved_aside_by_a_killed_job_is_moved_back_by_a_reader_or_the_next_job(tmp_path: Path) -> None:
    target = tmp_path / "all"
    for by_reader in [True, False]:
        run(Job(target, "t", mode="set", overwrite=True), [table([1]), table([2])])
        about = read_manifest(str(target))
        killed = tmp_path / f".all.sqluice-staging/killed {by_reader}"
        killed.mkdir(parents=True)
        (killed / "set").mkdir()
        (killed / "set/manifest.json").write_text((target / "manifest.json").read_text())
        os.rename(target, killed / "old")
        if not by_reader:
            with pytest.raises(sqluice.TargetError, match="already exists"):
                Job(target, "t", mode="set").begin()
        assert read_manifest(str(target)) == about
        assert all((target / member["file"]).exists() for member in about["databases"])


def test_a_reader_sees_the_old_set_while_a_job_replaces_the_set_in_two_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "all"
    run(Job(target, "t", mode="set"), [table([1])])
    monkeypatch.setattr("sqluice._sqluice.exchange", lambda first, second: False)
    job = Job(target, "t", mode="set", overwrite=True)
    job.begin()
    shards = job.write(table([2]).to_batches(), 0)
    rename, seen = os.rename, []

    def and_a_reader_comes(source: Any, to: Any) -> None:
        rename(source, to)
        if len(seen) < 2 and str(to).endswith("old"):
            seen.append(read_manifest(str(target))["rows"])

    monkeypatch.setattr(os, "rename", and_a_reader_comes)
    job.commit(shards)
    assert seen == [1, 1]
    assert ids(target, "set") == [2] and os.listdir(tmp_path) == ["all"]


def test_replacing_a_set_in_an_object_store_uses_new_names_and_keeps_foreign_files(tmp_path: Path) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.store.clear()
    url = "memory://out/all"
    run(Job(url, "t", mode="set"), [table([1]), table([2])])
    first = read_manifest(url)
    memory.pipe_file("/out/all/notes.txt", b"not of the set")
    # This file was left by a killed job. The next one belongs to a job that still runs.
    memory.pipe_file("/out/all/t-00000-abcdefabcdef.db", b"left")
    other = Job(url, "t", mode="set", overwrite=True)
    other.begin()
    memory.pipe_file(f"/out/all/t-00000-{other.id[:12]}.db", b"under way")
    run(Job(url, "t", mode="set", overwrite=True), [table([3]), table([4])])
    second = read_manifest(url)
    names = [{member["file"] for member in about["databases"]} for about in (first, second)]
    assert not names[0] & names[1]
    left = {"/out/all/notes.txt", f"/out/all/t-00000-{other.id[:12]}.db", "/out/all/manifest.json"}
    assert set(memory.find("/out/all")) == left | {f"/out/all/{name}" for name in names[1]}
    other.abort()


def test_a_job_removes_the_file_of_a_killed_job_from_an_object_store(tmp_path: Path) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.store.clear()
    memory.pipe_file("/out/all/t-00007.db", b"left")
    run(Job("memory://out/all", "t", mode="set"), [table([1])])
    assert sorted(memory.find("/out")) == ["/out/all/manifest.json", "/out/all/t-00000.db"]


def test_a_new_job_removes_the_temporary_file_of_a_killed_merge_into_the_same_target(tmp_path: Path) -> None:
    left, other = tmp_path / ".t.db.sqluice-tmp-4711-0", tmp_path / ".u.db.sqluice-tmp-4711-0"
    left.touch()
    other.touch()
    job = Job(tmp_path / "t.db", "t")
    job.begin()
    job.abort()
    assert list(tmp_path.iterdir()) == [other]


def test_a_second_job_on_the_same_target_does_not_disturb_a_running_one(tmp_path: Path) -> None:
    job = Job(tmp_path / "t.db", "t")
    job.begin()
    shards = job.write(table([1]).to_batches(), 0)
    other = Job(tmp_path / "t.db", "t")
    other.begin()
    other.abort()
    assert job.commit(shards).rows == 1
    assert os.listdir(tmp_path) == ["t.db"]
    with pytest.raises(sqluice.TargetError, match="the job is over"):
        job.write(table([1]).to_batches(), 0)


@pytest.mark.parametrize("mode", ["one", "set"])
def test_the_target_and_the_staging_folder_may_be_urls(tmp_path: Path, mode: str) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.store.clear()
    name = "out/t.db" if mode == "one" else "out/all"
    job = Job(f"memory://{name}", "t", mode=mode, primary_key="id")  # type: ignore[arg-type]
    assert run(job, [table([1, 2]), table([3])]).rows == 3
    files = sorted(found for found in memory.find("/out"))
    if mode == "one":
        assert files == ["/out/t.db"]
        memory.get_file("/out/t.db", str(tmp_path / "t.db"))
        assert len(content(tmp_path / "t.db")[1]) == 3
        run(Job(f"memory://{name}", "t", primary_key="id", if_exists="append"), [table([4])])
        memory.get_file("/out/t.db", str(tmp_path / "again.db"))
        assert len(content(tmp_path / "again.db")[1]) == 4
    else:
        assert files == ["/out/all/manifest.json", "/out/all/t-00000.db", "/out/all/t-00001.db"]
        assert read_manifest(f"memory://{name}")["rows"] == 3
    # The target is local, and the shards wait elsewhere.
    staging = "memory://waiting"
    assert run(Job(tmp_path / "local.db", "t", staging=staging), [table([1])]).rows == 1
    assert memory.find("/waiting") == []
    with pytest.raises(sqluice.TargetError, match="already exists"):
        Job(f"memory://{name}", "t", mode=mode).begin()  # type: ignore[arg-type]


def test_parts_of_a_table_have_all_rows_and_fail_if_the_table_has_changed(tmp_path: Path) -> None:
    db = tmp_path / "t.db"
    sqluice.write(db, table(range(600_000)), "t")
    parts = Parts(db, "t", ["area", "id"])
    assert parts.schema.names == ["area", "id"]
    tables = [pyarrow.concat_tables(pickle.loads(pickle.dumps(part)).tables()) for part in parts.cut(3)]
    assert pyarrow.concat_tables(tables)["id"].to_pylist() == list(range(600_000))
    assert min(part.num_rows for part in tables) > 100_000
    with closing(sqlite3.connect(db)) as connection:
        connection.execute("DELETE FROM t WHERE id = 5")
        connection.commit()
    with pytest.raises(sqluice.Error, match="changed"):
        list(parts.cut(7)[0].tables())


def test_the_statements_in_a_manifest_attach_the_databases_and_create_a_view_of_all_rows(tmp_path: Path) -> None:
    run(Job(tmp_path / "all", "it's \"t\"", mode="set"), [table([1]), table([2])])
    about = json.loads((tmp_path / "all/manifest.json").read_text())
    assert about["format"] == "sqluice-set" and len(about["databases"]) == 2
    with closing(sqlite3.connect(":memory:")) as connection, chdir(tmp_path / "all"):
        for statement in [*about["attach"], about["view"]]:
            connection.execute(statement)
        assert connection.execute('SELECT sum(id) FROM "it\'s ""t"""').fetchone() == (3,)


@given(rows=rows_of_any_kind, tasks=st.sampled_from([1, 2, 7]), keyed=st.booleans(), seed=st.integers(0, 2**32), large=st.booleans())
def test_a_second_round_of_tasks_writes_the_database_that_one_process_would_write(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], tasks: int, keyed: bool, seed: int, large: bool
) -> None:
    chance = random.Random(seed)
    folder = tmp_path_factory.mktemp("t")
    count = max(tasks, len(rows))
    # Some rows need overflow pages.
    blobs = [chance.randbytes(chance.randrange(9000 if large else 20)) for _ in range(count)]
    padded = [rows[number] if number < len(rows) else (None, None, None, None) for number in range(count)]
    whole = pyarrow.table(
        {
            "id": pyarrow.array(range(count), "int64"),
            "i": pyarrow.array([row[0] for row in padded], "int64"),
            "text": pyarrow.array([row[1] for row in padded], "string"),
            "blob": pyarrow.array(blobs, "binary"),
        }
    )
    shares = [whole.slice(task * count // tasks, (task + 1) * count // tasks - task * count // tasks) for task in range(tasks)]
    given: dict[str, Any] = {"primary_key": "id", "index": ["text", "i DESC"]} if keyed else {"index": "i"}
    committed = run_twice(Job(folder / "many.db", "t", second_round=True, **given), shares, chance)
    sqluice.write(folder / "one.db", whole, "t", **given)
    assert content(folder / "many.db") == content(folder / "one.db")
    assert committed.rows == count and committed.placed == (tasks if tasks > 1 else 0)
    assert sqluice.check(folder / "many.db", full=True).problems == ()
    assert staged(folder) == []


def test_rowids_written_by_a_second_round_of_tasks_are_in_the_order_of_the_tasks(tmp_path: Path) -> None:
    shares = [pyarrow.table({"x": [0, 1]}), pyarrow.table({"x": [2]}), pyarrow.table({"x": [3, 4]})]
    run_twice(Job(tmp_path / "t.db", "t", second_round=True), shares, random.Random(1))
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        found = connection.execute("SELECT rowid, x FROM t").fetchall()
    assert found == [(1, 0), (2, 1), (2**33 + 1, 2), (2**34 + 1, 3), (2**34 + 2, 4)]


def test_databases_of_tasks_with_overlapping_keys_are_merged_without_a_second_round(tmp_path: Path) -> None:
    shares = [table(range(0, 2000, 2)), table(range(1, 2000, 2))]
    committed = run_twice(Job(tmp_path / "t.db", "t", primary_key="id", second_round=True), shares, random.Random(1))
    assert committed.placed == 0 and committed.merge is not None
    assert len(content(tmp_path / "t.db")[1]) == 2000


def test_a_column_without_values_in_one_task_prevents_the_second_round_of_tasks(tmp_path: Path) -> None:
    shares = [table(range(9), x=pyarrow.nulls(9)), table(range(10, 19), x=range(9))]
    committed = run_twice(Job(tmp_path / "t.db", "t", primary_key="id", second_round=True), shares, random.Random(1))
    assert committed.placed == 0
    assert len(content(tmp_path / "t.db")[1]) == 18


def test_a_second_round_of_tasks_makes_or_replaces_a_target_and_is_left_out_of_an_append(tmp_path: Path) -> None:
    shares = [table(range(1000)), table(range(1000, 2000))]
    for overwrite, placed, rows in [(False, 2, 2000), (True, 2, 2000)]:
        job = Job(tmp_path / "t.db", "t", primary_key="id", overwrite=overwrite, second_round=True)
        assert run_twice(job, shares, random.Random(1)).placed == placed
        assert len(content(tmp_path / "t.db")[1]) == rows
    job = Job(tmp_path / "t.db", "t", primary_key="id", if_exists="append", second_round=True)
    assert run_twice(job, [table(range(3000, 3009)), table(range(4000, 4009))], random.Random(1)).placed == 0
    assert len(content(tmp_path / "t.db")[1]) == 2018


def test_a_task_that_runs_after_the_commit_writes_nothing_to_the_target(tmp_path: Path) -> None:
    shares = [table(range(1000)), table(range(1000, 2000))]
    job = Job(tmp_path / "t.db", "t", primary_key="id", second_round=True)
    job.begin()
    shards = [shard for task, share in enumerate(shares) for shard in job.write(share.to_batches(), task)]
    places = job.plan(shards)
    # This process has the unfinished file open, as a late task may.
    [unfinished] = tmp_path.glob(".t.db.sqluice-staging/*/target.db")
    with open(unfinished, "r+b"):
        job.commit(shards, placed=[job.place(place) for place in places])
        with closing(sqlite3.connect(tmp_path / "t.db")) as connection, connection:
            connection.execute("UPDATE t SET area = 'changed'")
        before = (tmp_path / "t.db").read_bytes()
        # The shard that the task would read is gone, too, so the task fails.
        with pytest.raises((sqluice.Error, FileNotFoundError)):
            job.place(places[0])
    assert (tmp_path / "t.db").read_bytes() == before
    assert staged(tmp_path) == []


def test_a_failed_or_aborted_second_round_of_tasks_leaves_no_files(tmp_path: Path) -> None:
    shares = [table([1, 2], x=["a", "b"]), table([3, 4], x=["b", "c"])]
    with pytest.raises(sqluice.InputError, match="t.x = 'b'"):
        run_twice(Job(tmp_path / "t.db", "t", primary_key="id", unique="x", second_round=True), shares, random.Random(1))
    assert os.listdir(tmp_path) == []
    job = Job(tmp_path / "t.db", "t", primary_key="id", second_round=True)
    job.begin()
    shards = [shard for task, share in enumerate(shares) for shard in job.write(share.to_batches(), task)]
    job.place(job.plan(shards)[0])
    job.abort()
    assert os.listdir(tmp_path) == []


PLACING = """
import pickle, sys
job, place = pickle.loads(bytes.fromhex(sys.argv[1]))
print("begins", flush=True)
while True:
    job.place(place)
"""


def test_a_second_round_of_tasks_whose_workers_were_killed_stores_all_rows(tmp_path: Path) -> None:
    chance = random.Random(7)
    each = 30_000
    shares = [table(range(task * each, task * each + each), x=["some text"] * each) for task in range(3)]
    for lap in range(tries(1, 3, 100)):
        target = tmp_path / f"{lap}.db"
        job = Job(target, "t", primary_key="id", second_round=True)
        job.begin()
        shards = [shard for task, share in enumerate(shares) for shard in job.write(share.to_batches(), task)]
        places = job.plan(shards)
        for place in places:
            text = pickle.dumps((job, place)).hex()
            with subprocess.Popen([sys.executable, "-c", PLACING, text], stdout=subprocess.PIPE, text=True) as worker:
                assert worker.stdout is not None and worker.stdout.readline() == "begins\n"
                time.sleep(chance.uniform(0, 0.2))
                worker.send_signal(signal.SIGKILL)
        job.commit(shards, placed=[job.place(place) for place in places])
        with closing(sqlite3.connect(target)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert connection.execute("SELECT count(*), sum(id) FROM t").fetchone() == (3 * each, 3 * each * (3 * each - 1) // 2)
        assert staged(tmp_path) == []


def test_a_second_round_of_tasks_is_refused_for_urls_and_for_sets_of_databases(tmp_path: Path) -> None:
    with pytest.raises(sqluice.UsageError, match="no URLs"):
        Job("memory://t.db", "t", second_round=True)
    with pytest.raises(sqluice.UsageError, match="a set has no second round"):
        Job(tmp_path / "t", "t", mode="set", second_round=True)


def test_whole_decimals_of_38_digits_are_text_with_a_note_unless_declared_integer(tmp_path: Path) -> None:
    batch = pyarrow.record_batch({"a": pyarrow.array([decimal.Decimal(45)], pyarrow.decimal128(38, 0))})
    for types, declares, notes in ({}, "TEXT", 1), ({"a": "INTEGER"}, "INTEGER", 0):
        job = Job(tmp_path / f"{declares}.db", "t", types=types)
        job.begin()
        committed = job.commit([shard for task in range(2) for shard in job.write([batch], task)])
        assert query(tmp_path / f"{declares}.db", "SELECT type FROM pragma_table_info('t')") == [(declares,)]
        assert len(committed.notes) == notes and all('types={"a": "INTEGER"}' in note for note in committed.notes)
