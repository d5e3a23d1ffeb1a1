"""Databases written by many workers at once, for any engine that schedules them.

```text
 driver        job = Job(target, table, ...)     job.begin()                         job.commit(shards)        or job.abort()
                                                     │                                   ^
 tasks                                               └──> job.write(batches, task=k) ────┘   a database for each task, in the staging folder
```

Each attempt of a task builds a database of its rows, with keys and indexes, under its own name: a shard. The driver commits only the shards whose
names the engine has returned to it. Shards of failed or repeated attempts are removed. The commit merges the shards into
one database, or makes them a set with a manifest.

With `second_round=True` tasks copy the leaves of their shards to the one file, each to its place, and the driver adds the rest:

```text
 driver        job.plan(shards)                              job.commit(shards, placed=placed)
                     │                                          ^
 tasks               └──> job.place(place) ─────────────────────┘
```

Invariant: the target is unchanged or complete. If a driver is killed, the next job of the same target removes the files that it has left in the
staging folder.

Modules, from the bottom up: `_files`: local files and URLs; `_staging`: the folder in which shards wait for the commit; `_partition`: assigns rows to
the databases of a set; `_places`: the second round of tasks; `_order`: splits batches where their keys stop ascending; `_shard`: writes the shards of
a task; `_replacing`: puts a set in the place of another; `_manifest`: the list of the databases of a set; `_commit`: makes the target of shards;
`_reading`: a table in parts; `_job`: the API.
"""

from ._job import Job, Mode
from ._manifest import read_manifest
from ._partition import Hash, Range
from ._places import Place, Placed
from ._reading import Part, Parts
from ._shard import Shard

__all__ = ["Hash", "Job", "Mode", "Part", "Parts", "Place", "Placed", "Range", "Shard", "read_manifest"]
