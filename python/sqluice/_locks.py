"""Two SQLites in one process.

The package has a SQLite of its own beside the one of the module `sqlite3`. Locks of files belong to the process: so neither sees what the
other has locked, and when one closes a file the other's locks are gone. Therefore a database is left alone while somebody else in this
process has a lock on it, in a transaction, or, in WAL mode, by a connection.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from ._errors import TargetError

_STEP_SECONDS = 0.02

# Files that the package itself uses now, by their inodes: its own SQLite sees its own locks.
_ours: Counter[int] = Counter()
_lock = threading.Lock()


def _inode(path: str | os.PathLike[str]) -> int | None:
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


def _is_locked(inode: int) -> bool:
    """Whether this process has a lock on the file."""
    try:
        with open("/proc/locks", encoding="ascii") as locks:
            held = [line.split() for line in locks]
    except OSError:
        return False
    mine = str(os.getpid())
    # 1: POSIX  ADVISORY  WRITE 4711 08:01:131 1073741825 1073742335
    return any(len(lock) > 5 and lock[1] == "POSIX" and lock[4] == mine and lock[5].rpartition(":")[2] == str(inode) for lock in held)


@contextmanager
def used(db: str | os.PathLike[str] | None, busy_timeout: float = 0.0) -> Iterator[None]:
    """While the package uses a database."""
    inode = None if db is None else _inode(db)
    if inode is None:
        yield
        return
    ends = time.monotonic() + busy_timeout
    while True:
        with _lock:
            if _ours[inode] or not _is_locked(inode):
                _ours[inode] += 1
                break
        if time.monotonic() >= ends:
            message = f"{os.fspath(db or '')} is in use by another connection of this process"
            raise TargetError(message, hint="end its transaction, or close it: locks do not distinguish two SQLites of one process")
        time.sleep(_STEP_SECONDS)
    try:
        yield
    finally:
        with _lock:
            _ours[inode] -= 1
            if not _ours[inode]:
                del _ours[inode]
