"""Finds out if another SQLite library of this process has a database open; then a child process opens it instead.

The package has a SQLite of its own beside that of the module `sqlite3`, of apsw, and of others. On Linux and macOS the locks of files belong to the
process: of two SQLite libraries neither sees what the other has locked, and when one closes a file, the kernel releases the locks of the other.
Committed rows may then be lost without an error. Therefore no code of the package opens a file that something else in this process has open: a child
process does it (`_child`), whose locks are its own.

```text
descriptors of the file in this process
 - while the package uses the file:
     those that the package's own SQLite has opened      the compiled module lists them
     those without O_NOFOLLOW                            are the package's reader's: SQLite opens files with this flag, which Linux shows
 = descriptors of others, SQLite or not                  closing any of them would release the package's locks
```

While the package does not use the file, its own SQLite may have it open for a connection of the ADBC driver. That connection counts as another
library: the package's readers and writers close plain descriptors, which would release its locks.

On Windows locks belong to handles. Two libraries see each other's locks there as two processes do, and the package opens such files itself.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from . import _sqluice

File = tuple[int, int]
"""The device and the inode of a file."""

# The number of calls that use each file now, and of those that create a file at each path.
_ours: Counter[File] = Counter()
_made: Counter[str] = Counter()
# The garbage collector may end a use of a file, such as that of a stream that nobody has read to its end, in a thread that holds the lock.
_lock = threading.RLock()

# If the system does not list the open descriptors, all numbers up to this one are tried.
_TRIED_MAX = 4096


def _file(path: str | os.PathLike[str]) -> File | None:
    try:
        about = os.stat(path)
    except (OSError, ValueError):
        return None
    return (about.st_dev, about.st_ino) if stat.S_ISREG(about.st_mode) else None


def _descriptors() -> Iterator[int]:
    try:
        listed = [int(name) for name in os.listdir("/dev/fd")]
    except (OSError, ValueError):
        listed = []
    # Some systems list only the three standard descriptors, and Linux lists none if /proc is not mounted.
    return iter(listed if len(listed) > 4 or (listed and sys.platform == "linux") else range(3, _TRIED_MAX))


def _is_open_elsewhere(file: File, by_sqlite: bool = False) -> bool:
    """Returns True if this process has the file open by a descriptor that is not the package's. by_sqlite: on Linux, which shows how a file was opened,
    only descriptors that an SQLite library has opened count."""
    before = set(_sqluice.descriptors())
    found = [descriptor for descriptor in _descriptors() if _is_of(descriptor, file)]
    if not found:
        return False
    others, is_ours = set(found), _is_ours(file)
    if is_ours:
        # Other threads of the package may have opened or closed the file meanwhile.
        others -= before.union(_sqluice.descriptors())
    if is_ours or (by_sqlite and sys.platform == "linux"):
        others = {descriptor for descriptor in others if _is_of_sqlite(descriptor)}
    return bool(others)


def _is_ours(file: File) -> bool:
    """Returns True if the package uses the file now."""
    return _ours[file] > 0 or any(_file(path) == file for path in _made)


def _is_of(descriptor: int, file: File) -> bool:
    try:
        about = os.fstat(descriptor)
    except OSError:
        return False
    return (about.st_dev, about.st_ino) == file


def _is_of_sqlite(descriptor: int) -> bool:
    """Returns True if a descriptor was opened with O_NOFOLLOW, as SQLite opens files."""
    import fcntl

    try:
        return bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_NOFOLLOW)
    except OSError:
        return False


def is_open_elsewhere(path: str | os.PathLike[str]) -> bool:
    """Returns True if something else than the package has a file open in this process, so that the package must not open it here."""
    file = None if os.name == "nt" else _file(path)
    if file is None:
        return False
    with _lock:
        return _is_open_elsewhere(file)


def _files(paths: Iterable[str | os.PathLike[str] | None]) -> list[File]:
    if os.name == "nt":
        return []
    return [file for path in paths if path is not None and (file := _file(path)) is not None]


@contextmanager
def used(*paths: str | os.PathLike[str] | None, inputs: Iterable[str | os.PathLike[str]] = ()) -> Iterator[Any]:
    """Registers databases as used by the package for the length of a `with`. Gives the compiled module, or a `Child` in its place if something else in
    this process has one of the files open. inputs: files to read that may be databases."""
    databases, others = _files(paths), _files(inputs)
    files = databases + others
    missing = [os.path.abspath(os.fsdecode(path)) for path in paths if path is not None and os.name != "nt" and not os.path.exists(path)]
    with _lock:
        elsewhere = any(map(_is_open_elsewhere, databases)) or any(_is_open_elsewhere(file, by_sqlite=True) for file in others)
        if not elsewhere:
            _ours.update(files)
            _made.update(missing)
    if elsewhere:
        from ._child import Child

        with Child() as child:
            yield child
        return
    try:
        yield _sqluice
    finally:
        with _lock:
            _ours.subtract(files)
            _made.subtract(missing)
            for file in files:
                if not _ours[file]:
                    del _ours[file]
            for path in missing:
                if not _made[path]:
                    del _made[path]
