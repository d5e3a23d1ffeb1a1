"""A set takes the place of another one. Its name means the old set or the new one, also after a kill.

```text
 one step, where the file system has it            JOB/set <──> TARGET
 two steps elsewhere                               TARGET ──> JOB/old, JOB/set ──> TARGET
```

A job that was killed between the two steps has left both folders in the staging, and nothing under the name: the next job or reader gives
`old` its name back. The driver may still be alive: then it finds the name taken, and begins again.

In a store the databases of the new set have names of their own, and the request that writes the manifest makes the set the new one. Then
objects of the old one are removed.
"""

from __future__ import annotations

import errno
import os

from .. import _sqluice
from .._errors import TargetError
from . import _files, _staging

NEW = "set"
"""The complete set in the folder of a job."""

_OLD = "old"

_MANIFEST = "manifest.json"

_TRIES = 100


def _set_aside(target: str) -> list[str]:
    """The sets without a name that had the name of the target: those of jobs whose new set has not got the name yet."""
    if _files.is_url(target):
        return []
    staging = _files.local(_staging.folder_of(target))
    jobs = [os.path.join(staging, job) for job in _files.listed(staging)]
    return [os.path.join(job, _OLD) for job in jobs if all(os.path.exists(os.path.join(job, name, _MANIFEST)) for name in (_OLD, NEW))]


def is_under_way(target: str) -> bool:
    """Returns True if a set has lost its name to a job that has not given it to the new set."""
    return not _files.exists(target) and bool(_set_aside(target))


def restore(target: str) -> None:
    """Gives a set its name back that a job has set aside, unless the name is taken."""
    for old in _set_aside(target):
        if _files.exists(target):
            return
        try:
            os.rename(old, _files.local(target))
        except OSError as error:
            if not _is_race(error):
                raise


def _is_race(error: OSError) -> bool:
    """Returns True if another process has taken a name or given one up meanwhile."""
    return isinstance(error, (FileNotFoundError, FileExistsError)) or error.errno == errno.ENOTEMPTY


def put(new: str, target: str) -> None:
    """Gives a complete set, which lies in the folder of its job, the name of the target. A set that has the name is removed with the job."""
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
    raise TargetError(f"{target} is replaced by other jobs all the time", hint="run again when they are done")


def _put_once(new: str, target: str, old: str) -> None:
    if os.path.lexists(target):
        if _sqluice.exchange(new, target):
            return
        _files.remove(old)
        os.rename(target, old)
    os.rename(new, target)
