"""Compares writing SQLite databases from Ray and Spark, and reading them, with other ways, in alternating rounds.

sqluice's sinks are compared with sinks that receive the same blocks and only count the rows, and with the engine's own SQLite connector;
the commit of shards with a copy of their bytes. A second round, in which tasks merge the shards (one after another here), is compared
with the commit by one process that it replaces.
The rows that were written or read are counted before the time is recorded.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import statistics
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

# A claim: a way, the other way, "at least" (times the other's rate) or "at most" (times the other's time), and the factor.
Claim = tuple[str, str, str, float]


def timed(run: Callable[[], object]) -> float:
    began = time.monotonic()
    run()
    return time.monotonic() - began


def report(title: str, rows: dict[str, int], seconds: dict[str, list[float]], claims: list[Claim]) -> None:
    print(f"\n{title}", flush=True)
    for name, laps in seconds.items():
        median = statistics.median(laps)
        print(f"  {name:12} {rows[name]:13,} rows  {median:8.2f} s ({min(laps):.2f}..{max(laps):.2f})  {rows[name] / median:13,.0f} rows/s", flush=True)
    for what, beside, kind, bound in claims:
        pairs = list(zip(seconds[what], seconds[beside], strict=True))
        if kind == "at most":
            quantity, ratios = "time", [mine / other for mine, other in pairs]
            met = statistics.median(ratios) <= bound
        else:
            quantity, ratios = "rate", [(rows[what] / mine) / (rows[beside] / other) for mine, other in pairs]
            met = statistics.median(ratios) >= bound
        ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}..{max(ratios):.2f})"
        print(f"  {quantity} of {what} to {beside}: {ratio}, {kind} {bound:g}: {'met' if met else 'short'}", flush=True)


def rounds_of(ways: dict[str, Callable[[], None]], rounds: int) -> dict[str, list[float]]:
    """Runs all ways once in each round, in reverse order in every second round. Returns the seconds of each way."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for lap in range(rounds):
        for name in ways if lap % 2 == 0 else reversed(ways):
            seconds[name].append(timed(ways[name]))
    return seconds


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


def ray_sinks(folder: Path, rows: int, few: int, rounds: int) -> None:
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

    ways: dict[str, Callable[[], None]] = {"sqluice": ours, "counting": lambda: data(rows).write_datasink(Counting()), "write_sql": sql}
    # A first run that is not timed starts the workers.
    ways["counting"]()
    seconds = rounds_of(ways, rounds)
    claims: list[Claim] = [("sqluice", "counting", "at least", 0.6), ("sqluice", "write_sql", "at least", 50)]
    report("Ray, rows made in the workers, two integer columns", {"sqluice": rows, "counting": rows, "write_sql": few}, seconds, claims)


def ray_reads(folder: Path, rows: int, few: int, rounds: int) -> None:
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

    ways: dict[str, Callable[[], None]] = {
        "sqluice": lambda: consume(ray.data.read_datasource(sqluice.ray.SQLiteDatasource(large, "t")), rows),
        "read_sql": lambda: consume(ray.data.read_sql("SELECT * FROM t", Connect(small)), few),
    }
    seconds = rounds_of(ways, rounds)
    report("Ray, a table read", {"sqluice": rows, "read_sql": few}, seconds, [("sqluice", "read_sql", "at least", 10)])
    os.remove(large)
    os.remove(small)


def spark_sinks(folder: Path, rows: int, rounds: int) -> None:
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

    ways: dict[str, Callable[[], None]] = {"sqluice": ours, "counting": lambda: frame.write.format("counting").mode("append").save()}
    # A first run that is not timed starts Python in the workers.
    ways["counting"]()
    seconds = rounds_of(ways, rounds)
    session.stop()
    claims: list[Claim] = [("sqluice", "counting", "at least", 0.7)]
    report("Spark, rows made by Spark, two integer columns", {"sqluice": rows, "counting": rows}, seconds, claims)


SHARDS = 64


def commits(folder: Path, rows: int, rounds: int) -> None:
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

    seconds: dict[str, list[float]] = {"commit": [], "copy": []}
    for _ in range(rounds):
        for shard in shards:
            (kept / shard.name).read_bytes()
        again, staged = begun()
        for shard in shards:
            os.link(kept / shard.name, staged / shard.name)
        seconds["commit"].append(timed(lambda job=again: job.commit(shards)))  # type: ignore[misc]
        check(count(db), each * SHARDS)

        def copy() -> None:
            with open(folder / "copy", "wb") as out:
                for shard in shards:
                    with open(kept / shard.name, "rb") as file:
                        shutil.copyfileobj(file, out, 8 << 20)
                out.flush()
                os.fsync(out.fileno())

        seconds["copy"].append(timed(copy))
        os.remove(folder / "copy")
    number = each * SHARDS
    report(f"The commit of {SHARDS} shards with an index on text", {"commit": number, "copy": number}, seconds, [("commit", "copy", "at most", 2.0)])


def cpu_seconds(run: Callable[[], object]) -> float:
    """Returns the CPU seconds of all threads of this process, which vary less than the time on a busy machine."""
    began = time.process_time()
    run()
    return time.process_time() - began


def second_rounds(folder: Path, rows: int, rounds: int, index: str | None) -> None:
    db = folder / "t.db"
    shards_count = 16
    each = rows // shards_count
    names = pyarrow.array([f"area {number:05}" for number in range(1000)])

    def written(second_round: bool) -> tuple[Job, list[Shard], float]:
        job = Job(db, "t", primary_key="id", index=index, second_round=second_round)
        job.begin()
        shards: list[Shard] = []
        seconds = spent = 0.0
        for task in range(shards_count):
            ids = numpy.arange(task * each, task * each + each)
            table = pyarrow.table({"id": ids, "area": names.take(pyarrow.array(ids * 7919 % 1000))})
            began, began_cpu = time.monotonic(), time.process_time()
            shards += job.write(table.to_batches(), task)
            seconds += time.monotonic() - began
            spent += time.process_time() - began_cpu
        cpu["write, count" if second_round else "write"].append(spent)
        return job, shards, seconds

    seconds: dict[str, list[float]] = {"write": [], "commit": [], "write, count": [], "places": [], "commit rest": []}
    cpu: dict[str, list[float]] = {name: [] for name in seconds}

    def lap(name: str, run: Callable[[], object]) -> None:
        cpu[name].append(cpu_seconds(lambda: seconds[name].append(timed(run))))

    for _ in range(rounds):
        job, shards, took = written(False)
        seconds["write"].append(took)
        staged_bytes = sum(shard.bytes for shard in shards)
        lap("commit", lambda: job.commit(shards))  # noqa: B023
        check(count(db), each * shards_count)
        job, shards, took = written(True)
        seconds["write, count"].append(took)
        places = job.plan(shards)
        placed: list[Placed] = []
        lap("places", lambda: placed.extend([job.place(place) for place in places]))  # noqa: B023
        lap("commit rest", lambda: job.commit(shards, placed=placed))  # noqa: B023
        target_bytes = os.path.getsize(db)
        check(count(db), each * shards_count)
    about = "no index" if index is None else "an index on text"
    title = f"A second round of {shards_count} shards, {about}: {staged_bytes:,} bytes of shards, {target_bytes:,} of the target"
    report(title, dict.fromkeys(seconds, each * shards_count), seconds, [])
    print("  seconds of CPU: " + ", ".join(f"{name} {statistics.median(laps):.2f}" for name, laps in cpu.items()), flush=True)


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
    with tempfile.TemporaryDirectory(dir=args.dir) as name:
        folder = Path(name)
        if only & {"ray", "read"}:
            import ray

            ray.init(num_cpus=2, include_dashboard=False, object_store_memory=4 << 30, _node_ip_address="127.0.0.1", log_to_driver=False)
            ray.data.DataContext.get_current().enable_progress_bars = False
            if "ray" in only:
                ray_sinks(folder, args.rows, args.few, args.rounds)
            if "read" in only:
                ray_reads(folder, args.read_rows, 10 * args.few, args.rounds)
            ray.shutdown()
        if "spark" in only:
            spark_sinks(folder, args.rows, args.rounds)
        if "commit" in only:
            commits(folder, args.rows, args.rounds)
        if "second" in only:
            second_rounds(folder, args.rows, args.rounds, None)
            second_rounds(folder, args.rows, args.rounds, "area")


if __name__ == "__main__":
    main()
