"""Compares writing SQLite databases from Ray and Spark, and reading them, with other ways, in alternating rounds.

sqluice's sinks are compared with sinks that receive the same blocks and only count the rows, and with the engine's own SQLite connector;
the commit of shards with a copy of their bytes. A second round, in which tasks merge the shards (one after another here), is compared
with the commit by one process that it replaces. The rows that were written or read are counted before the time is recorded. Seconds on
cores were measured only where all work runs in this process.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import sqluice
from sqluice.distributed import Job, Placed, Shard

from house import House, Lap, Way, timed


def check(found: int, wanted: int) -> None:
    if found != wanted:
        raise SystemExit(f"{found:,} rows instead of {wanted:,}")


def count(db: Path) -> int:
    with closing(sqlite3.connect(db)) as connection:
        found: int = connection.execute("SELECT count(*) FROM t").fetchone()[0]
    os.remove(db)
    return found


class Connect:
    """A function that opens a database. A class, so that Ray can pickle it."""

    def __init__(self, db: Path) -> None:
        self.db = str(db)

    def __call__(self) -> sqlite3.Connection:
        return sqlite3.connect(self.db, timeout=60)


def ray_sinks(house: House, folder: Path, rows: int, few: int) -> None:
    import ray
    import sqluice.ray
    from ray.data import Datasink
    from ray.data.block import BlockAccessor

    class Counting(Datasink):  # type: ignore[misc,type-arg]
        def write(self, blocks: Any, ctx: Any) -> int:
            return sum(BlockAccessor.for_block(block).to_arrow().num_rows for block in blocks)

        def on_write_complete(self, result: Any) -> None:
            check(sum(result.write_returns), rows)

    def made(batch: dict[str, Any]) -> pyarrow.Table:
        return pyarrow.table({"id": batch["id"], "value": batch["id"] * 7919 % 1_000_003})

    def data(number: int) -> Any:
        return ray.data.range(number).map_batches(made, batch_size=None)

    db = folder / "ray.db"

    def ours() -> None:
        data(rows).write_datasink(sqluice.ray.SQLiteDatasink(db, "t", primary_key="id"))
        check(count(db), rows)

    def sql() -> None:
        with closing(sqlite3.connect(db)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, value INTEGER)")
        data(few).write_sql("INSERT INTO t VALUES (?, ?)", Connect(db))
        check(count(db), few)

    def counting() -> None:
        data(rows).write_datasink(Counting())

    # A first run that is not timed starts the workers.
    counting()
    ways = [
        Way("ray-sqluice", "`SQLiteDatasink`, durable", lambda: timed(rows, ours)),
        Way("ray-counting", "a sink that counts", lambda: timed(rows, counting)),
        Way("ray-sql", "`write_sql`", lambda: timed(few, sql)),
    ]
    house.compare("Ray, rows made in the workers", ways)
    house.ratio("rate of the sink of Ray to one that counts", "rate", "ray-sqluice", "ray-counting", "at least 0.6")
    house.ratio("rate of the sink of Ray to `write_sql`", "rate", "ray-sqluice", "ray-sql", "at least 50")


def ray_reads(house: House, folder: Path, rows: int, few: int) -> None:
    import ray
    import sqluice.ray

    def make(name: str, number: int) -> Path:
        ids = numpy.arange(number)
        sqluice.write(folder / name, pyarrow.table({"id": ids, "value": ids * 7919 % 1_000_003}), "t", primary_key="id")
        return folder / name

    large, small = make("large.db", rows), make("small.db", few)

    def counted(batch: pyarrow.Table) -> pyarrow.Table:
        return pyarrow.table({"rows": [batch.num_rows]})

    def consume(data: Any, wanted: int) -> None:
        # The count is computed in the workers that have the blocks, so that no block goes through the driver.
        counts = data.map_batches(counted, batch_size=None, batch_format="pyarrow").sum("rows")
        check(int(counts), wanted)

    def ours() -> None:
        consume(ray.data.read_datasource(sqluice.ray.SQLiteDatasource(large, "t")), rows)

    def sql() -> None:
        consume(ray.data.read_sql("SELECT * FROM t", Connect(small)), few)

    ways = [
        Way("read-sqluice", "`SQLiteDatasource`", lambda: timed(rows, ours)),
        Way("read-sql", "`read_sql`", lambda: timed(few, sql)),
    ]
    house.compare("Ray, a table read and counted", ways)
    house.ratio("rate of Ray's read to `read_sql`", "rate", "read-sqluice", "read-sql", "at least 10")
    os.remove(large)
    os.remove(small)


def spark_sinks(house: House, folder: Path, rows: int) -> None:
    import sqluice.spark
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage

    class CountingWriter(DataSourceArrowWriter):
        def write(self, iterator: Any) -> WriterCommitMessage:
            found = sum(batch.num_rows for batch in iterator)
            assert found > 0
            return WriterCommitMessage()

    class Counting(DataSource):
        @classmethod
        def name(cls) -> str:
            return "counting"

        def writer(self, schema: Any, overwrite: bool) -> DataSourceArrowWriter:
            return CountingWriter()

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    sqluice.spark.register(session)
    session.dataSource.register(Counting)
    db = folder / "spark.db"
    frame = session.range(rows, numPartitions=4).selectExpr("id", "id * 7919 % 1000003 AS value")

    def ours() -> None:
        frame.write.format("sqluice").mode("append").option("path", str(db)).option("table", "t").option("primaryKey", "id").save()
        check(count(db), rows)

    def counting() -> None:
        frame.write.format("counting").mode("append").save()

    # A first run that is not timed starts Python in the workers.
    counting()
    ways = [
        Way("spark-sqluice", '`df.write.format("sqluice")`, durable', lambda: timed(rows, ours)),
        Way("spark-counting", "an Arrow sink that counts", lambda: timed(rows, counting)),
    ]
    house.compare("Spark, rows made by Spark", ways)
    session.stop()
    house.ratio("rate of the sink of Spark to one that counts", "rate", "spark-sqluice", "spark-counting", "at least 0.7")


SHARDS = 64


def commits(house: House, folder: Path, rows: int) -> None:
    kept = folder / "shards"
    kept.mkdir()
    db = folder / "t.db"

    def begun() -> tuple[Job, Path]:
        job = Job(db, "t", primary_key="id", index="area")
        job.begin()
        return job, Path(job.staging) / job.id

    job, staged = begun()
    each = rows // SHARDS
    names = pyarrow.array([f"area {number:05}" for number in range(1000)])
    shards = []
    for task in range(SHARDS):
        ids = numpy.arange(task * each, task * each + each)
        table = pyarrow.table({"id": ids, "area": names.take(pyarrow.array(ids * 7919 % 1000))})
        shards += job.write(table.to_batches(), task)
    for shard in shards:
        shutil.move(staged / shard.name, kept / shard.name)
    job.abort()

    number = each * SHARDS

    def warm() -> None:
        for shard in shards:
            (kept / shard.name).read_bytes()

    def commit() -> Lap:
        warm()
        job, staged = begun()
        for shard in shards:
            os.link(kept / shard.name, staged / shard.name)
        lap = timed(number, lambda: job.commit(shards))
        check(count(db), number)
        return lap

    def copied() -> None:
        with open(folder / "copy", "wb") as out:
            for shard in shards:
                with open(kept / shard.name, "rb") as file:
                    shutil.copyfileobj(file, out, 8 << 20)
            out.flush()
            os.fsync(out.fileno())

    def copy() -> Lap:
        warm()
        lap = timed(number, copied)
        os.remove(folder / "copy")
        return lap

    ways = [
        Way("commit", f"commit of {SHARDS} shards into one database", commit),
        Way("copy", "a copy of the bytes of the shards, synced", copy),
    ]
    house.compare("Shards with an index on text", ways)
    house.ratio("time of the commit to the copy", "time", "commit", "copy", "at most 2")


def measured(rows: int, run: Callable[[], object]) -> Lap:
    """Runs a function in this process, and measures its time, and the CPU seconds of all threads, which vary less on a busy machine."""
    began = time.process_time()
    lap = timed(rows, run)
    lap.cpu_seconds = time.process_time() - began
    return lap


def second_rounds(house: House, folder: Path, rows: int, index: str | None) -> dict[str, int]:
    """Compares a commit by one process with a second round, in which tasks write the shards' rows to their places in the database (one after
    another here). Returns the bytes of the shards and of the database."""
    db = folder / "t.db"
    shards_count = 16
    each = rows // shards_count
    total = each * shards_count
    names = pyarrow.array([f"area {number:05}" for number in range(1000)])

    def written(second_round: bool) -> tuple[Job, list[Shard], Lap]:
        job = Job(db, "t", primary_key="id", index=index, second_round=second_round)
        job.begin()
        shards: list[Shard] = []
        whole = Lap(total, 0.0)
        for task in range(shards_count):
            ids = numpy.arange(task * each, task * each + each)
            table = pyarrow.table({"id": ids, "area": names.take(pyarrow.array(ids * 7919 % 1000))})
            lap = measured(each, lambda: shards.extend(job.write(table.to_batches(), task)))  # noqa: B023
            whole.seconds += lap.seconds
            whole.cpu_seconds += lap.cpu_seconds
        return job, shards, whole

    part = "an index on text" if index else "no index"
    name = "second-index" if index else "second"
    rounds = []
    for _ in house.rounds:
        laps = {}
        job, shards, laps[f"{name}-write"] = written(False)
        shards_bytes = sum(shard.bytes for shard in shards)
        laps[f"{name}-commit"] = measured(total, lambda: job.commit(shards))  # noqa: B023
        check(count(db), total)
        job, shards, laps[f"{name}-counted"] = written(True)
        placed: list[Placed] = []
        laps[f"{name}-places"] = measured(total, lambda: placed.extend([job.place(place) for place in job.plan(shards)]))  # noqa: B023
        laps[f"{name}-rest"] = measured(total, lambda: job.commit(shards, placed=placed))  # noqa: B023
        target_bytes = os.path.getsize(db)
        check(count(db), total)
        rounds.append(laps)
    titles = {
        f"{name}-write": f"{shards_count} shards written",
        f"{name}-commit": "their commit by one process",
        f"{name}-counted": "shards written for a second round",
        f"{name}-places": "all places written by tasks, one after another",
        f"{name}-rest": "the commit after that",
    }
    house.add(f"A second round, {part}", titles, rounds)
    return {f"{name}-shards-bytes": shards_bytes, f"{name}-target-bytes": target_bytes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000, help="that are written [default: 20000000]")
    parser.add_argument("--read-rows", type=int, default=100_000_000, help="of the table that Ray reads [default: 100000000]")
    parser.add_argument("--few", type=int, default=200_000, help="for write_sql, ten times as many for read_sql [default: 200000]")
    parser.add_argument("--rounds", type=int, default=3, help="[default: 3]")
    parser.add_argument("--only", choices=["ray", "read", "spark", "commit", "second"], action="append", help="some of the comparisons")
    parser.add_argument("--dir", type=Path, help="where databases are made")
    args = parser.parse_args()
    only = set(args.only or ["ray", "read", "spark", "commit", "second"])
    house, beside = House("distributed", args.rounds, ["rows", "seconds", "rate", "cores"]), [f"pyarrow {pyarrow.__version__}"]
    about = {"rows": args.rows, "read_rows": args.read_rows, "few": args.few}
    with tempfile.TemporaryDirectory(dir=args.dir) as name:
        folder = Path(name)
        if only & {"ray", "read"}:
            import ray

            beside.append(f"Ray {ray.__version__}")
            ray.init(num_cpus=2, include_dashboard=False, object_store_memory=4 << 30, _node_ip_address="127.0.0.1", log_to_driver=False)
            ray.data.DataContext.get_current().enable_progress_bars = False
            if "ray" in only:
                ray_sinks(house, folder, args.rows, args.few)
            if "read" in only:
                ray_reads(house, folder, args.read_rows, 10 * args.few)
            ray.shutdown()
        if "spark" in only:
            import pyspark

            beside.append(f"PySpark {pyspark.__version__}")
            spark_sinks(house, folder, args.rows)
        if "commit" in only:
            commits(house, folder, args.rows)
        if "second" in only:
            about |= second_rounds(house, folder, args.rows, None)
            about |= second_rounds(house, folder, args.rows, "area")
    house.finish(f"sqluice {sqluice.__version__}, the Python package (SQLite {sqluice.sqlite_version})", beside, about)


if __name__ == "__main__":
    main()
