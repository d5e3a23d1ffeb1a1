"""The second round of a job: each task copies the leaves of its shard to their place in the one file.

```text
 tasks     write ──> shards, pages counted                 place ──> leaves at their places, a list of them each
 driver                                    plan ──> places                                                        commit ──> the rest
```

The file is `target.db` in the staging folder beside the target, until the commit renames it. A task writes to the file only while it has this name, so
a late attempt can't write to the finished target. A place depends on its shard alone, so two attempts write the same bytes.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from .. import _sqluice
from .._open_files import used
from .._report import MergeReport, from_json

FILE = "target.db"


@dataclass(frozen=True, slots=True)
class Place:
    """The range of pages for the leaves of a shard. The driver gives it to a task."""

    task: int
    about: str
    """The place in the engine's form, as JSON."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A place to which the leaves have been copied. The task returns it to the driver."""

    place: Place
    leaves: str
    """The name of the file with the list of leaves, in the staging folder."""


def count(shard: str, table: str, threads: int | None, memory: int) -> int:
    """Returns the number of pages that the leaves of a shard and their overflow pages take."""
    return _sqluice.count_pages(shard, table, {"threads": threads, "memory": memory})


def plan(file: str, target: str, shards: Sequence[tuple[int, str, int]], table: str, overwrite: bool) -> list[Place]:
    """Makes the unfinished file, and returns the place of each shard; an empty list if the shards can't be joined in this way. `shards`: the task,
    the file and the number of pages of each."""
    sources = [shard for _, shard, _ in shards]
    pages = [pages for _, _, pages in shards]
    with used(target, *sources) as native:
        text = native.places(target, sources, table, file, pages, {"overwrite": overwrite})
    task_of = {shard: task for task, shard, _ in shards}
    return [] if text is None else [Place(task_of[about["source"]], json.dumps(about)) for about in json.loads(text)]


def place(here: Place, staging: str, threads: int | None, memory: int) -> Placed:
    """Copies the leaves of a shard to their place."""
    leaves = f"{here.task:06}-{uuid.uuid4().hex[:12]}.leaves"
    _sqluice.place(here.about, os.path.join(staging, leaves), {"threads": threads, "memory": memory})
    return Placed(here, leaves)


def merge(target: str, sources: Sequence[str], placed: Sequence[Placed], staging: str, overwrite: bool) -> MergeReport:
    """Adds interior pages, indexes and the schema to the file, and renames it to the target."""
    written = [(one.place.about, os.path.join(staging, one.leaves)) for one in placed]
    with used(target, *sources) as native:
        return from_json(MergeReport, native.merge_placed(target, list(sources), written, {"overwrite": overwrite}, None))
