"""Databases written by many workers at once, for any engine that schedules them.

```text
 driver        job = Job(target, table, ...)     job.begin()                         job.commit(shards)        or job.abort()
                                                     │                                   ^
 tasks                                               └──> job.write(batches, task=k) ────┘   a sound database each, in the staging
```

Each attempt of a task builds a database of its rows, with keys and indexes, under a name of its own. The driver commits only the shards whose
names the engine has returned to it: those of attempts that failed, or that ran twice, are left out and removed. The commit merges them into
one database, or makes them a set with a manifest.

With `second_round=True` tasks copy the leaves of their shards to the one file, each to its place, and the driver adds the rest:

```text
 driver        job.plan(shards)                              job.commit(shards, placed=placed)
                     │                                          ^
 tasks               └──> job.place(place) ─────────────────────┘
```

Invariant: the target is what it was, or complete. What a driver that was killed has left in the staging, the next job of the same target
removes.

Modules, from the bottom up: `_files`: local files and URLs; `_staging`: where shards wait; `_partition`: which shard a row goes to;
`_places`: a second round of tasks; `_shard`: a task's share; `_replacing`: a set in the place of another; `_manifest`: what is in a set; `_commit`: shards into the target; `_job`.
"""

from ._job import Job, Mode
from ._manifest import read_manifest
from ._partition import Hash, Range
from ._places import Place, Placed
from ._reading import Part, Parts
from ._shard import Shard

__all__ = ["Hash", "Job", "Mode", "Part", "Parts", "Place", "Placed", "Range", "Shard", "read_manifest"]
