"""Builds the target from the shards of a job: one database, or a set of databases."""

from __future__ import annotations

import os
import shutil
from tempfile import TemporaryDirectory

from .. import _commands, _read
from .._errors import InputError
from .._report import MergeReport
from . import _files
from ._manifest import NAME, Member, key_range, manifest, member_name, statements
from ._partition import Partition
from ._shard import Layout, Shard

Columns = dict[str, str]


def united(shards: list[Shard]) -> Columns:
    """Returns the columns of all shards in the order of the first, with types that hold all values.

    A column without values in a shard has no type there, and gets the type of the other shards. INTEGER and REAL together are REAL.
    """
    first = shards[0]
    types: Columns = dict(first.columns)
    for shard in shards[1:]:
        if sorted(name for name, _ in shard.columns) != sorted(types):
            names = [", ".join(name for name, _ in one.columns) for one in (first, shard)]
            raise InputError(f"task {first.task} has the columns {names[0]}, task {shard.task} {names[1]}", hint="give all tasks the same columns")
        for name, declared in shard.columns:
            known = types[name]
            if declared == known or not declared:
                continue
            if not known:
                types[name] = declared
            elif {known, declared} == {"INTEGER", "REAL"}:
                types[name] = "REAL"
            else:
                # A TEXT column holds numbers, too, and a BLOB column keeps all values as they are.
                holds_all = "BLOB" if "BLOB" in (known, declared) else "TEXT"
                raise InputError(
                    f"column {name} is {known} in task {first.task} and {declared} in task {shard.task}",
                    hint=f"declare its type: types={{{name!r}: {holds_all!r}}}",
                )
    return types


def with_types(layout: Layout, file: str, shard: Shard, types: Columns, folder: str) -> str:
    """Returns the path of a shard that has these columns in this order and with these types: `file` if it has, otherwise a copy in `folder`."""
    if shard.columns == tuple(types.items()):
        return file
    rewritten = os.path.join(folder, shard.name)
    layout.write(rewritten, _read.read(file, layout.table, columns=list(types)), tuple(types.items()), task=shard.task)
    return rewritten


def one(
    layout: Layout, shards: list[Shard], files: list[str], target: str, overwrite: bool, scratch: str | None
) -> MergeReport:
    """Merges shards into one database. `scratch`: the folder for shards that are written again; None: the temporary folder of the system."""
    types = united(shards)
    with TemporaryDirectory(prefix="sqluice-", dir=scratch) as folder:
        same = [with_types(layout, file, shard, types, folder) for file, shard in zip(files, shards, strict=True)]
        sources = [_literal(file) for file in same]
        return _commands.merge(target, sources, on_conflict=layout.on_conflict, overwrite=overwrite)


def _literal(path: str) -> str:
    """Returns a pattern that matches only this path."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in path)


def one_of_each(
    layout: Layout, shards: list[Shard], files: list[str], folder: str, partition: Partition | None, replacing: str | None
) -> str:
    """Makes the databases of a set in a new folder, and the manifest last. Returns the text of the manifest.

    Without partitions, each shard becomes a database; with partitions, the shards of a partition are merged. `replacing`: the job whose name is part
    of the names of the databases.
    """
    key = next(iter(layout.primary_key), None)
    os.makedirs(folder)
    types = united(shards)
    groups: dict[int, list[tuple[Shard, str]]] = {}
    for number, (shard, file) in enumerate(zip(shards, files, strict=True)):
        groups.setdefault(number if partition is None else shard.partition, []).append((shard, file))
    members = []
    with TemporaryDirectory(prefix=".sqluice-", dir=folder) as scratch:
        for number, (place, group) in enumerate(sorted(groups.items())):
            name = member_name(layout.table, number, replacing)
            made = os.path.join(folder, name)
            same = [with_types(layout, file, shard, types, scratch) for shard, file in group]
            about: Shard | MergeReport
            if len(group) == 1 and same[0] == group[0][1]:
                about = group[0][0]
                shutil.move(same[0], made)
            else:
                about = _commands.merge(made, [_literal(file) for file in same], on_conflict=layout.on_conflict)
            of_partition = 0 if partition is None else place
            keys = key_range(made, layout.table, key)
            members.append(Member(name, about.rows, about.bytes, about.checksum, of_partition, keys))
    text = manifest(layout.table, statements(os.path.join(folder, members[0].file), layout.table), members, partition)
    _files.write_text(os.path.join(folder, NAME), text)
    return text
