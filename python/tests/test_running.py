"""Runs in threads and after forks, Ctrl-C, and progress."""

from __future__ import annotations

import io
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqluice
from sqluice._progress import _Bar
from twin import query, sound


def rows(count: int) -> Any:
    return ((n, f"text {n}") for n in range(count))


def test_many_threads_write_many_databases(tmp_path: Path) -> None:
    def one(number: int) -> int:
        return sqluice.write(tmp_path / f"{number}.db", rows(20_000 + number), "t", columns=["a", "b"], index="b").rows

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(24))) == [20_000 + number for number in range(24)]
    assert all(sound(tmp_path / f"{number}.db") for number in range(24))


def test_threads_that_write_to_one_database_store_all_rows(db: Path) -> None:
    sqluice.write(db, [(0, "")], "t", columns=["a", "b"])
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: sqluice.write(db, rows(500), "t", if_exists="append", busy_timeout=60), range(8)))
    assert query(db, "SELECT count(*) FROM t") == [(4_001,)]
    assert sound(db)


FED_BY_A_THREAD = """
import os, sys, threading, sqluice
db, pipe = sys.argv[1:]
os.mkfifo(pipe)

def feed():
    with open(pipe, "w") as out:
        out.write("a,b\\n")
        out.writelines(f"{number},text\\n" for number in range(100_000))

threading.Thread(target=feed, daemon=True).start()
print(sqluice.load(db, pipe).rows)
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_python_thread_can_feed_a_pipe_that_load_reads(db: Path, tmp_path: Path) -> None:
    # The engine waits for rows from a thread of Python. It must release the GIL, or the thread would wait for the engine.
    done = subprocess.run([sys.executable, "-c", FED_BY_A_THREAD, db, tmp_path / "rows.csv"], capture_output=True, text=True, timeout=120)
    assert done.stdout == "100000\n", done.stderr


def test_a_forked_process_and_its_parent_can_write_databases(tmp_path: Path) -> None:
    sqluice.write(tmp_path / "parent.db", rows(50_000), "t", columns=["a", "b"], index="b")
    child = os.fork()
    if child == 0:
        try:
            sqluice.write(tmp_path / "child.db", rows(50_000), "t", columns=["a", "b"], index="b")
            os._exit(0)
        except BaseException:
            os._exit(1)
    sqluice.write(tmp_path / "after.db", rows(50_000), "t", columns=["a", "b"], index="b")
    assert os.waitpid(child, 0)[1] == 0
    for name in ("parent", "child", "after"):
        assert query(tmp_path / f"{name}.db", "SELECT count(*) FROM t") == [(50_000,)]
        assert sound(tmp_path / f"{name}.db")


def test_a_fork_during_a_write_disturbs_neither_process(db: Path) -> None:
    def forking() -> Any:
        for number in range(100_000):
            if number == 50_000:
                child = os.fork()
                if child == 0:
                    os._exit(7)
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            yield (number,)

    assert sqluice.write(db, forking(), "t", columns=["a"]).rows == 100_000
    assert sound(db)


INTERRUPTED = """
import itertools, pathlib, signal, sys, sqluice
# A test run in the background would ignore SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)
db, how = sys.argv[1:]
def rows():
    for n in itertools.count():
        if n == 50_000:
            print("ready", flush=True)
        yield (n, f"text {n}")
try:
    if how == "generate":
        # The first report comes during the run.
        told = iter([lambda: print("ready", flush=True)])
        schema = "CREATE TABLE t (a TEXT /* gen: hex(16) */); CREATE INDEX i ON t (a)"
        sqluice.generate(db, schema, rows=20_000_000, progress=lambda _: next(told, lambda: None)())
    elif how == "append":
        sqluice.write(db, rows(), "t", if_exists="append")
    else:
        sqluice.write(db, rows(), "u", columns=["a", "b"], index="b", overwrite=how == "overwrite")
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("how", ["new", "generate", "append", "second", "overwrite"])
def test_ctrl_c_ends_a_run_and_keeps_the_earlier_content_of_the_database(db: Path, how: str) -> None:
    before = None
    if how in ("append", "second", "overwrite"):
        sqluice.write(db, rows(1_000), "t", columns=["a", "b"])
        before = query(db, "SELECT * FROM t")
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED, db, how], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(random.uniform(0, 0.3))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out == "interrupted\n", err
    if before is None:
        assert os.listdir(db.parent) == []
    else:
        assert os.listdir(db.parent) == [db.name]
        assert query(db, "SELECT * FROM t") == before
        assert query(db, "SELECT name FROM sqlite_schema") == [("t",)]
        assert sound(db)


def test_an_exception_of_the_iterator_of_rows_is_raised_and_leaves_no_file(db: Path) -> None:
    class Strange(Exception):
        pass

    def failing() -> Any:
        yield from rows(100_000)
        raise Strange

    with pytest.raises(Strange):
        sqluice.write(db, failing(), "t", columns=["a", "b"])
    assert os.listdir(db.parent) == []


def test_a_progress_callback_gets_ascending_row_counts_and_may_end_the_run(db: Path, tmp_path: Path) -> None:
    reported: list[sqluice.Progress] = []

    def slowly() -> Any:
        for number in range(200_000):
            if number % 50_000 == 0:
                time.sleep(0.1)
            yield (number,)

    sqluice.write(db, slowly(), "t", columns=["a"], index="a", progress=reported.append)
    assert {"write"} <= {progress.phase for progress in reported}
    writing = [progress.rows for progress in reported if progress.phase == "write"]
    assert writing == sorted(writing) and writing[-1] > 0

    class Enough(Exception):
        pass

    def end(_: sqluice.Progress) -> None:
        raise Enough

    with pytest.raises(Enough):
        sqluice.generate(tmp_path / "b.db", preset="user", rows=50_000_000, progress=end)
    assert not (tmp_path / "b.db").exists()


def test_a_progress_bar_is_drawn_on_standard_error_and_cleared(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Even a short run draws the bar, because the end of every run is reported.
    sqluice.generate(db, preset="user", rows=200_000, progress=True)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("\r") and printed.err.endswith(" \r") and "\n" not in printed.err
    sqluice.write(db, [(1,)], "t2", columns=["a"])
    assert capsys.readouterr().err == ""


def test_a_progress_bar_shows_phase_percentage_and_rows() -> None:
    stream = io.StringIO()
    bar = _Bar(stream)
    bar(sqluice.Progress("write", 1_500, 0, 3_000, None))
    bar.close()
    first, line, cleared, last = stream.getvalue().split("\r")
    assert line.startswith(f"write  [{'#' * 12}{'.' * 12}]  50%  1,500 rows")
    assert (first, cleared, last) == ("", " " * len(line), "")


def test_rows_are_read_on_the_calling_thread_alone(db: Path) -> None:
    threads = set()

    def watched() -> Any:
        for number in range(100_000):
            threads.add(threading.get_ident())
            yield (number,)

    sqluice.write(db, watched(), "t", columns=["a"])
    assert threads == {threading.get_ident()}


def test_the_iterator_of_rows_may_itself_call_write(db: Path, tmp_path: Path) -> None:
    def nested() -> Any:
        for number in range(3):
            yield (sqluice.write(tmp_path / f"{number}.db", rows(1_000), "t", columns=["a", "b"]).rows,)

    assert sqluice.write(db, nested(), "t", columns=["a"]).rows == 3
    assert query(db, "SELECT sum(a) FROM t") == [(3_000,)]
