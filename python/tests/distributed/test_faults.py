"""Workers that are killed, tasks that run twice, drivers that are killed: the target is absent or complete, and no row is there twice."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqluice.ray
from effort import tries

ROWS = 40_000


def rounds() -> int:
    return tries(1, 3, 100)


def check(db: Path) -> None:
    with closing(sqlite3.connect(db)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*), count(DISTINCT id), sum(id) FROM t").fetchone() == (ROWS, ROWS, ROWS * (ROWS - 1) // 2)


def test_rows_of_tasks_whose_workers_are_killed_are_stored_once(ray: Any, tmp_path: Path) -> None:
    def dies_now_and_then(batch: Any) -> Any:
        mark = tmp_path / f"died-{batch['id'][0]}-{lap}"
        if random.Random(int(batch["id"][0]) + lap).random() < 0.5 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return batch

    for lap in range(rounds()):
        target = tmp_path / f"{lap}.db"
        found = ray.data.range(ROWS, override_num_blocks=8).map_batches(dies_now_and_then, batch_size=5000)
        found.write_datasink(sqluice.ray.SQLiteDatasink(target, "t", primary_key="id"))
        check(target)
        assert not (tmp_path / f".{lap}.db.sqluice-staging").exists()
    assert list(tmp_path.glob("died-*"))


def test_rows_of_a_task_that_runs_twice_are_stored_once(ray: Any, tmp_path: Path) -> None:
    # A local class is sent to the workers by value.
    class WritesTwice(sqluice.ray.SQLiteDatasink):
        """A sink whose tasks write all rows twice, as if Ray had started a second attempt after the first had ended."""

        def write(self, blocks: Any, ctx: Any) -> Any:
            kept = list(blocks)
            sqluice.ray.SQLiteDatasink.write(self, iter(kept), ctx)
            return sqluice.ray.SQLiteDatasink.write(self, iter(kept), ctx)

    ray.data.range(ROWS, override_num_blocks=8).write_datasink(WritesTwice(tmp_path / "t.db", "t", primary_key="id"))
    check(tmp_path / "t.db")
    assert os.listdir(tmp_path) == ["t.db"]


DRIVER = """
import sys, ray, sqluice.ray
ray.init(num_cpus=2, include_dashboard=False, object_store_memory=1 << 28, _node_ip_address="127.0.0.1", log_to_driver=False)
ray.data.DataContext.get_current().enable_progress_bars = False
sink = sqluice.ray.SQLiteDatasink(sys.argv[1], "t", primary_key="id", index=["copy"])
print("begins", flush=True)
found = ray.data.range(int(sys.argv[2]), override_num_blocks=8).map_batches(lambda batch: {"id": batch["id"], "copy": batch["id"]})
found.write_datasink(sink)
print("ended", flush=True)
import time
time.sleep(60)
"""


@pytest.mark.parametrize("when", ["writing", "later", "after"])
def test_a_killed_driver_of_ray_leaves_a_complete_target_or_none(tmp_path: Path, when: str) -> None:
    chance = random.Random(when)
    for lap in range(max(1, rounds() // 3)):
        folder = tmp_path / str(lap)
        folder.mkdir()
        target = folder / "t.db"
        with subprocess.Popen(
            [sys.executable, "-c", DRIVER, target, str(ROWS)], stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as driver:
            assert driver.stdout is not None
            assert driver.stdout.readline() == "begins\n"
            if when == "after":
                assert driver.stdout.readline() == "ended\n"
            else:
                # Waits until a task has written a database, and a random time after that.
                ends = time.monotonic() + 60
                while not list(folder.glob(".t.db.sqluice-staging/*/*.db")) and time.monotonic() < ends and not target.exists():
                    time.sleep(0.01)
                time.sleep(chance.uniform(0, 0.1 if when == "writing" else 1.5))
            os.killpg(driver.pid, signal.SIGKILL)
        assert target.exists() or when != "after"
        if target.exists():
            check(target)
            os.remove(target)
        # The next run removes what was left.
        job = sqluice.distributed.Job(target, "t")
        job.begin()
        job.abort()
        assert os.listdir(folder) == []
