"""Replaces a set of databases by another one. At any time, also after a kill, readers get the old set or the new one.

```text
 one step, if the file system can exchange names   JOB/set <──> TARGET
 two steps elsewhere                               TARGET ──> JOB/old, JOB/set ──> TARGET
```

A job that is killed between the two steps leaves both sets in the staging folder, and no target: the next job or reader renames
`old` back to the target. If the driver is still alive, it then finds that the target exists, and begins again.

In an object store, the databases of the new set have names that the old set does not use. The request that writes the manifest replaces the set.
After it, the objects of the old set are removed.
"""

from __future__ import annotations

import errno
import os

from .. import _sqluice
from .._errors import TargetError
from . import _files, _staging

NEW = "set"
"""The name of the complete new set in the folder of a job."""

_OLD = "old"

_MANIFEST = "manifest.json"

_TRIES = 100


def _set_aside(target: str) -> list[str]:
    """Returns the old sets that jobs have moved away from the target without having put their new sets there yet."""
    if _files.is_url(target):
        return []
    staging = _files.local(_staging.folder_of(target))
    jobs = [os.path.join(staging, job) for job in _files.listed(staging)]
    return [os.path.join(job, _OLD) for job in jobs if all(os.path.exists(os.path.join(job, name, _MANIFEST)) for name in (_OLD, NEW))]


def is_under_way(target: str) -> bool:
    """Returns True if a job has moved the old set away, and not put the new set in its place."""
    return not _files.exists(target) and bool(_set_aside(target))


def restore(target: str) -> None:
    """Moves the old set back to the target, if a job has moved it away and the target does not exist."""
    for old in _set_aside(target):
        if _files.exists(target):
            return
        try:
            os.rename(old, _files.local(target))
        except OSError as error:
            if not _is_race(error):
                raise


def _is_race(error: OSError) -> bool:
    """Returns True if the error shows that another process has renamed the target meanwhile."""
    return isinstance(error, (FileNotFoundError, FileExistsError)) or error.errno == errno.ENOTEMPTY


def put(new: str, target: str) -> None:
    """Moves a complete set from the folder of its job to the target. The old set goes to the folder of the job, and is removed with it."""
    old = os.path.join(os.path.dirname(new), _OLD)
    above = os.path.dirname(target)
    for name in os.listdir(new):
        _files.sync(os.path.join(new, name))
    _files.sync(new)
    for _ in range(_TRIES):
        try:
            _put_once(new, target, old)
        except OSError as error:
            if not _is_race(error) or not os.path.isdir(new):
                restore(target)
                raise
        else:
            _files.sync(above)
            return
    raise TargetError(f"{target} could not be replaced, because other jobs replaced it again and again", hint="run again when the other jobs are done")


def _put_once(new: str, target: str, old: str) -> None:
    if os.path.lexists(target):
        if _sqluice.exchange(new, target):
            return
        _files.remove(old)
        os.rename(target, old)
    os.rename(new, target)
