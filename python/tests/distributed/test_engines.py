"""Ray, Spark and Dask with several workers: they write the database that one process would write, and read all of its rows."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow
import pytest
import sqluice
import sqluice.dask
import sqluice.ray
import sqluice.spark
from effort import tries

Write = Callable[..., None]


def content(db: Path, table: str = "t") -> tuple[list[Any], list[Any]]:
    """Returns the statements, and the sorted rows with the classes of their values."""
    with closing(sqlite3.connect(db)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        values = ", ".join(f'"{name}", typeof("{name}")' for name in names)
        rows = connection.execute(f"SELECT {values} FROM {table}").fetchall()
        statements = connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY name").fetchall()
    return statements, sorted(rows, key=repr)


def by_ray(data: pyarrow.Table, tasks: int, target: Path, **options: Any) -> None:
    import ray

    ray.data.from_arrow(shares(data, tasks)).write_datasink(sqluice.ray.SQLiteDatasink(target, "t", **options))


def frame_of_spark(session: Any, data: pyarrow.Table) -> Any:
    """Returns the data as a frame of Spark. By default, Spark would take timestamps without a time zone for moments."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return session.createDataFrame(data, schema=from_arrow_schema(data.schema, prefer_timestamp_ntz=True))


def by_spark(data: pyarrow.Table, tasks: int, target: Path, **options: Any) -> None:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    assert session is not None
    writer = frame_of_spark(session, data).repartition(tasks).write.format("sqluice").mode("append")
    writer = writer.option("path", str(target)).option("table", "t")
    for name, value in {"primaryKey": options.get("primary_key"), "index": ";".join(options.get("index", [])), "outputMode": options.get("mode")}.items():
        writer = writer.option(name, value) if value else writer
    writer.save()


def by_dask(data: pyarrow.Table, tasks: int, target: Path, **options: Any) -> None:
    import dask
    import dask.dataframe
    import pandas

    parts = [dask.delayed(share.to_pandas(types_mapper=pandas.ArrowDtype)) for share in shares(data, tasks)]
    frame = dask.dataframe.from_delayed(parts, meta=data.schema.empty_table().to_pandas(types_mapper=pandas.ArrowDtype))
    sqluice.dask.write(target, frame, "t", **options)


ENGINES: list[tuple[str, Write]] = [("ray", by_ray), ("spark", by_spark), ("dask", by_dask)]


def shares(data: pyarrow.Table, tasks: int) -> list[pyarrow.Table]:
    """Returns the rows for each task. The last tasks may get no rows."""
    size = -(-data.num_rows // tasks)
    return [data.slice(start * size, size) for start in range(tasks)]


def random_rows(chance: random.Random) -> pyarrow.Table:
    """Returns columns of every class, with NULLs. In some columns, all of the first values are NULL."""
    count = chance.choice([1, 5, 300, 5000])
    rare = chance.random() < 0.3
    ids = chance.sample(range(-(10**6), 10**12), count)

    def some(value: Callable[[], Any]) -> list[Any]:
        return [None if chance.random() < 0.2 or (rare and row < count * 0.8) else value() for row in range(count)]

    return pyarrow.table(
        {
            "id": pyarrow.array(ids, "int64"),
            "i": pyarrow.array(some(lambda: chance.randrange(-(2**63), 2**63)), "int64"),
            "text": pyarrow.array(some(lambda: "".join(chance.choices("aäß\U0001f40d '\"", k=chance.randrange(12)))), "string"),
            "real": pyarrow.array(some(lambda: chance.uniform(-1e9, 1e9)), "float64"),
            "blob": pyarrow.array(some(lambda: chance.randbytes(chance.randrange(20))), "binary"),
            "flag": pyarrow.array(some(lambda: chance.random() < 0.5), "bool"),
        }
    )


@pytest.mark.parametrize(("engine", "write"), ENGINES, ids=[name for name, _ in ENGINES])
def test_many_tasks_write_the_same_database_as_one_process(request: pytest.FixtureRequest, tmp_path: Path, engine: str, write: Write) -> None:
    request.getfixturevalue(engine)
    chance = random.Random(7)
    for lap in range(tries(2, 4, 20)):
        data = random_rows(chance)
        options: dict[str, Any] = {"primary_key": "id", "index": ["text", "real, i DESC"]} if chance.random() < 0.7 else {}
        sqluice.write(tmp_path / f"one-{lap}.db", data, "t", **options)
        wanted = content(tmp_path / f"one-{lap}.db")
        for tasks in [1, 2, 7]:
            target = tmp_path / f"{lap}-{tasks}.db"
            write(data, tasks, target, **options)
            assert content(target) == wanted, (engine, lap, tasks)
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []


@pytest.mark.parametrize(("engine", "write"), ENGINES, ids=[name for name, _ in ENGINES])
def test_a_primary_key_that_two_tasks_write_fails_the_job_and_leaves_no_file(request: pytest.FixtureRequest, tmp_path: Path, engine: str, write: Write) -> None:
    request.getfixturevalue(engine)
    data = pyarrow.table({"id": [1, 2, 3, 1], "x": ["a", "b", "c", "d"]})
    with pytest.raises(Exception, match=r"t\.id = 1 "):
        write(data, 4 if engine != "spark" else 1, tmp_path / "t.db", primary_key="id")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("engine", "write"), ENGINES, ids=[name for name, _ in ENGINES])
def test_the_databases_of_a_set_have_each_row_once(request: pytest.FixtureRequest, tmp_path: Path, engine: str, write: Write) -> None:
    request.getfixturevalue(engine)
    write(pyarrow.table({"id": range(100)}), 4, tmp_path / "all", mode="set")
    about = sqluice.distributed.read_manifest(str(tmp_path / "all"))
    assert about["rows"] == 100 and len(about["databases"]) > 1
    found = [row[0] for member in about["databases"] for row in content(tmp_path / "all" / member["file"])[1]]
    assert sorted(found) == list(range(100))


@pytest.fixture
def db(tmp_path: Path) -> Path:
    rows = 30_000
    data = {"id": range(rows), "text": [f"row {row}" for row in range(rows)], "real": [row / 8 for row in range(rows)]}
    sqluice.write(tmp_path / "in.db", pyarrow.table(data), "t", primary_key="id")
    return tmp_path / "in.db"


def test_ray_reads_each_row_once_and_only_the_requested_columns(ray: Any, db: Path) -> None:
    source = sqluice.ray.SQLiteDatasource(db, "t", columns=["text", "id"])
    found = ray.data.read_datasource(source, override_num_blocks=5)
    assert found.schema().names == ["text", "id"]
    assert sorted(row["id"] for row in found.iter_rows()) == list(range(30_000))


def test_rows_that_ray_has_sorted_are_concatenated(ray: Any, tmp_path: Path) -> None:
    found = ray.data.range(50_000, override_num_blocks=6).random_shuffle(seed=1).sort("id")
    sink = sqluice.ray.SQLiteDatasink(tmp_path / "t.db", "t", primary_key="id")
    found.write_datasink(sink)
    assert sink.committed is not None and sink.committed.rows == 50_000
    assert sink.committed.merge is not None and sink.committed.shards > 1
    [merged] = sink.committed.merge.tables
    assert merged.method == "concatenated"


def placed_by_ray(data: pyarrow.Table, target: Path, **options: Any) -> int:
    import ray

    sink = sqluice.ray.SQLiteDatasink(target, "t", **options)
    ray.data.from_arrow(shares(data, 4)).write_datasink(sink)
    assert sink.committed is not None
    return sink.committed.placed


def placed_by_spark(data: pyarrow.Table, target: Path, **options: Any) -> int:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    assert session is not None
    frame = session.createDataFrame(data).repartitionByRange(4, "id").sortWithinPartitions("id")
    return sqluice.spark.write(target, frame, "t", **options).placed


def placed_by_dask(data: pyarrow.Table, target: Path, **options: Any) -> int:
    import dask.dataframe

    return sqluice.dask.write(target, dask.dataframe.from_pandas(data.to_pandas(), npartitions=4), "t", **options).placed


@pytest.mark.parametrize(("engine", "write"), [("ray", placed_by_ray), ("spark", placed_by_spark), ("dask", placed_by_dask)])
def test_a_second_round_of_tasks_writes_the_same_database_as_one_process(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str, write: Callable[..., int]
) -> None:
    request.getfixturevalue(engine)
    ids = range(50_000)
    data = pyarrow.table({"id": ids, "text": [f"row {row % 997} " * (500 if row % 5000 == 0 else 1) for row in ids]})
    options: dict[str, Any] = {"primary_key": "id", "index": ["text"]}
    sqluice.write(tmp_path / "one.db", data, "t", **options)
    assert write(data, tmp_path / "many.db", second_round=True, **options) > 1
    assert content(tmp_path / "many.db") == content(tmp_path / "one.db")
    assert sorted(os.listdir(tmp_path)) == ["many.db", "one.db"]


def test_spark_reads_all_rows_in_the_requested_number_of_parts(spark: Any, db: Path) -> None:
    frame = spark.read.format("sqluice").option("path", str(db)).option("table", "t").option("parts", "5").load()
    assert frame.columns == ["id", "text", "real"] and frame.rdd.getNumPartitions() == 5
    assert frame.selectExpr("count(*)", "sum(id)", "max(real)").first()[:] == (30_000, 30_000 * 29_999 // 2, 29_999 / 8)


def test_dask_reads_all_rows_in_the_requested_number_of_parts(dask: Any, db: Path) -> None:
    frame = sqluice.dask.read(db, "t", columns=["id", "text"], npartitions=5)
    assert frame.npartitions == 5 and list(frame.columns) == ["id", "text"]
    assert frame["id"].sum().compute() == 30_000 * 29_999 // 2
    assert len(frame) == 30_000


def kinds() -> pyarrow.Table:
    """Returns columns of types that SQLite does not have."""
    moments = [0, 1_767_225_600_123_456, None]
    return pyarrow.table(
        {
            "id": pyarrow.array([1, 2, 3], "int64"),
            "flag": pyarrow.array([True, None, False], "bool"),
            "at": pyarrow.array(moments, pyarrow.timestamp("us", "UTC")),
            "local": pyarrow.array(moments, pyarrow.timestamp("us")),
        }
    )


@pytest.mark.parametrize(("engine", "write"), ENGINES, ids=[name for name, _ in ENGINES])
def test_timestamps_are_written_as_one_process_writes_them(request: pytest.FixtureRequest, tmp_path: Path, engine: str, write: Write) -> None:
    request.getfixturevalue(engine)
    data = kinds()
    sqluice.write(tmp_path / "one.db", data, "t", primary_key="id")
    write(data, 2, tmp_path / "many.db", primary_key="id")
    assert content(tmp_path / "many.db") == content(tmp_path / "one.db")


def test_the_write_function_for_spark_stores_timestamps_as_one_process_does(spark: Any, tmp_path: Path) -> None:
    sqluice.write(tmp_path / "one.db", kinds(), "t", primary_key="id")
    sqluice.spark.write(tmp_path / "t.db", frame_of_spark(spark, kinds()), "t", primary_key="id")
    assert content(tmp_path / "t.db") == content(tmp_path / "one.db")
    frame = spark.read.format("sqluice").option("path", str(tmp_path / "t.db")).option("table", "t").load()
    assert frame.count() == 3


def test_ray_makes_a_table_of_a_dataset_without_rows(ray: Any, tmp_path: Path) -> None:
    import ray as ray_itself

    whole = pyarrow.table({"id": range(10), "x": ["a"] * 10})
    sqluice.write(tmp_path / "one.db", whole.slice(0, 0), "t", primary_key="id")
    found = ray_itself.data.from_arrow(shares(whole, 2))
    for number, empty in enumerate([ray_itself.data.from_arrow(whole.slice(0, 0)), found.filter(lambda row: row["id"] < 0), found.limit(0)]):
        target = tmp_path / f"{number}.db"
        empty.write_datasink(sqluice.ray.SQLiteDatasink(target, "t", primary_key="id", types={"id": "INTEGER", "x": "TEXT"}))
        assert content(target) == content(tmp_path / "one.db")
    target = tmp_path / "known.db"
    ray_itself.data.from_arrow(whole.slice(0, 0)).write_datasink(sqluice.ray.SQLiteDatasink(target, "t", primary_key="id"))
    assert content(target) == content(tmp_path / "one.db")


def test_dask_reads_back_the_values_that_dask_wrote(dask: Any, tmp_path: Path) -> None:
    import dask.dataframe
    import pandas

    data = pandas.DataFrame(
        {
            "id": range(100),
            "flag": [row % 3 == 0 for row in range(100)],
            "at": pandas.date_range("2026-01-01", periods=100, freq="37min"),
            "in_utc": pandas.date_range("2026-01-01", periods=100, freq="1s", tz="UTC"),
            "text": [f"row {row}" for row in range(100)],
        }
    )
    frame = dask.dataframe.from_pandas(data, npartitions=3)
    written = sqluice.dask.write(tmp_path / "t.db", frame, "t", primary_key="id")
    for schema in [written.schema, frame]:
        found = sqluice.dask.read(tmp_path / "t.db", "t", npartitions=2, schema=schema)
        assert list(found.dtypes.astype(str)) == list(found.compute().dtypes.astype(str))
        result = found.compute().sort_values("id", ignore_index=True)
        for name in data.columns:
            assert list(result[name]) == list(data[name]), name
