"""The staging folder, in which the shards of a job wait for its commit, and the removal of files that killed drivers have left there.

```text
 TARGET's folder/.NAME.sqluice-staging/     JOB/driver.json     the process that drives the job
                                            JOB/TASK-ATTEMPT-PARTITION-RUN.db
                                            JOB.over/           a job that is being removed
```

A job is over when the process that drives it has ended. The kernel knows this on the same machine; a job of another machine counts as over after a
week.
"""

from __future__ import annotations

import json
import os
import socket
import time
from dataclasses import asdict, dataclass

from . import _files

_ABANDONED_SECONDS = 7 * 24 * 3600

_BEGINNING_SECONDS = 60
"""A folder without `driver.json` that is younger than this is not removed: its job may be about to write the file."""

_DRIVER = "driver.json"

_OVER = ".over"
"""The suffix of a folder that is being removed. After a kill, the next job removes the rest of the folder, even without a `driver.json`."""


@dataclass(frozen=True, slots=True)
class Driver:
    """A process, identified so that a later process with the same number is not mistaken for it."""

    host: str
    boot: str
    pid: int
    started: str
    time: float

    @staticmethod
    def of(pid: int) -> Driver:
        """Returns the process with the number `pid` on this machine."""
        return Driver(socket.gethostname(), _boot(), pid, _started(pid) or "", time.time())

    def is_over(self) -> bool:
        """Returns True if the process has ended, or, on another machine, began more than a week ago."""
        if self.host == socket.gethostname():
            return self.boot != _boot() or _started(self.pid) != self.started
        return time.time() - self.time > _ABANDONED_SECONDS


def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _started(pid: int) -> str | None:
    """Returns the start time of a process, in units that are comparable on this machine only; empty if unknown; None if the process has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        # In the states Z and X, the process has ended, but its parent has not waited for it yet.
        return None if fields[0] in "ZX" else fields[19]
    except OSError:
        pass
    if os.path.exists("/proc/self/stat"):
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        pass
    return ""


def folder_of(target: str) -> str:
    """Returns the default staging folder of a target: beside it, so that a set can be renamed instead of copied."""
    folder, slash, name = target.rstrip("/").rpartition("/")
    return f"{folder}{slash}.{name}.sqluice-staging"


def begin(staging: str, job: str, pid: int) -> None:
    """Removes the folders of jobs that are over, and makes the folder of a new job."""
    sweep(staging)
    folder = _files.join(staging, job)
    _files.make_folder(folder)
    _files.write_text(_files.join(folder, _DRIVER), json.dumps(asdict(Driver.of(pid))))


def sweep(staging: str) -> None:
    """Removes the folders of jobs that are over."""
    for job in _files.listed(staging):
        folder = _files.join(staging, job)
        if job.endswith(_OVER) or _is_over(folder):
            _remove(folder)


def _is_over(folder: str) -> bool:
    text = _files.read_text(_files.join(folder, _DRIVER))
    return _is_old(folder) if text is None else Driver(**json.loads(text)).is_over()


def _remove(folder: str) -> None:
    """Removes the folder of a job that is over. A kill midway leaves a folder that the next job removes."""
    if _files.is_url(folder) or folder.endswith(_OVER):
        _files.remove(folder)
        return
    over = folder + _OVER
    try:
        os.rename(_files.local(folder), _files.local(over))
    except FileNotFoundError:
        # Another job has removed the folder.
        return
    _files.remove(over)


def _is_old(folder: str) -> bool:
    if _files.is_url(folder):
        # A job in an object store writes `driver.json` before all other files. If it is missing, the job is over and its folder was removed,
        # and tasks that outlived their driver have written these files afterwards.
        return True
    try:
        return time.time() - os.stat(_files.local(folder)).st_mtime > _BEGINNING_SECONDS
    except OSError:
        return False


def end(staging: str, job: str) -> None:
    """Removes the folder of a job, and the staging folder if no other job uses it."""
    _remove(_files.join(staging, job))
    if not _files.is_url(staging):
        try:
            os.rmdir(_files.local(staging))
        except OSError:
            pass
