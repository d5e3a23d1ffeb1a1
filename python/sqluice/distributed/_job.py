"""`Job`, by which many tasks write rows into one table."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any, Literal

from .. import _sqluice
from .._arguments import check_arguments
from .._errors import InputError, TargetError, UsageError, library_errors
from .._open_files import used
from .._report import MergeReport
from .._write import MEMORY, IfExists, OnConflict, Path, names, specs
from . import _commit, _files, _manifest, _places, _replacing, _staging
from ._partition import Partition
from ._places import Place, Placed
from ._shard import Layout, Shard, write_shards

Mode = Literal["one", "set"]

_TOKEN_CHARS = 12

_FAILURES = library_errors("the job has failed", TargetError)


@dataclass(frozen=True, slots=True)
class Committed:
    """The result of a job."""

    target: str
    rows: int
    shards: int
    """The number of shards that were committed."""
    merge: MergeReport | None
    """The report of the merge into one database; None for a set, or if no task had rows."""
    placed: int = 0
    """The number of shards whose leaves were copied by tasks, in a second round."""
    schema: Any = None
    """The Arrow schema of the rows, if the engine knows it. SQLite has no booleans and timestamps; `sqluice.dask.read` restores these types by it."""
    notes: tuple[str, ...] = ()
    """Notes about columns, such as a type that would keep the numbers of a column."""


class Job:
    """Rows of many tasks into a table of one database, or of a set of databases. It can be pickled, and sent to the tasks.

    target: the path of the database, or of the folder of a set, or a URL of fsspec.
    mode: `one` database, or a `set` of databases with a manifest.
    if_exists: what to do with an existing table, as for `sqluice.write`: `fail`; `append` adds the rows, if the table has the same declaration. A job
        can't `replace` or `upsert` the rows of a table. A database that exists at a URL is treated as if it had the table.
    overwrite: replaces the whole target, a database or a set. Without it, an existing set is an error.
    primary_key, index, unique, types, strict, without_rowid, on_conflict: as in `sqluice.write`, where `types` is called `schema`; they
        apply to the rows of all tasks. Columns that `types` does not name get their type from Arrow.
    partition_by: a `Hash` or `Range`; a set then has a database for each partition, instead of one for each task with rows.
    staging: the folder, or URL, in which shards wait for the commit; all workers must reach it. By default a hidden folder beside the target.
    second_round: tasks copy the leaves of the shards to the places that `plan` returns, in parallel, so that the driver writes
        only interior pages and indexes. All workers must reach the folder of the target, and its file system must support locks (flock) between
        machines. The keys of tasks must be disjoint, as those of sorted data are. Without a primary key rowids are
        `(task << 33) + row`. If a second round is not possible, `plan` returns no places, and the driver merges the shards.
    threads, memory: the limits of each task.
    """

    def __init__(
        self,
        target: Path,
        table: str,
        *,
        mode: Mode = "one",
        if_exists: IfExists = "fail",
        primary_key: str | Sequence[str] | None = None,
        index: str | Sequence[str | Sequence[str]] | None = None,
        unique: str | Sequence[str | Sequence[str]] | None = None,
        types: Mapping[str, str] | None = None,
        strict: bool = False,
        without_rowid: bool = False,
        on_conflict: OnConflict = "abort",
        partition_by: Partition | None = None,
        staging: Path | None = None,
        second_round: bool = False,
        overwrite: bool = False,
        threads: int | None = 1,
        memory: int = MEMORY,
    ) -> None:
        check_arguments(Job.__init__, locals())
        if if_exists in ("replace", "upsert"):
            hint = 'if_exists="append" adds to its rows, and overwrite=True replaces the database'
            raise UsageError(f'a job can\'t have if_exists="{if_exists}": it can only add rows to a table', hint=hint)
        if mode == "set" and if_exists == "append":
            raise UsageError('mode="set" can\'t append to an existing set of databases', hint="write another set, or replace this one: overwrite=True")
        if mode == "one" and partition_by is not None:
            raise UsageError('partition_by can\'t be given with mode="one", which makes a single database', hint='mode="set" makes a database for each partition')
        if mode == "set" and second_round:
            raise UsageError('second_round can\'t be given with mode="set": a set has no second round, as its databases are the shards')
        if second_round and any(_files.is_url(os.fspath(path)) for path in (target, staging) if path is not None):
            raise UsageError("second_round needs paths for target and staging, no URLs: all workers open the file")
        self.target = _absolute(target)
        self.table, self.mode, self.if_exists, self.overwrite, self.partition_by = table, mode, if_exists, overwrite, partition_by
        self.staging = _staging.folder_of(self.target) if staging is None else _absolute(staging)
        self.id = uuid.uuid4().hex
        self._layout = Layout(
            table=table,
            primary_key=tuple(names(primary_key)),
            index=tuple(specs(index)),
            unique=tuple(specs(unique)),
            types=tuple((types or {}).items()),
            strict=strict,
            without_rowid=without_rowid,
            on_conflict=on_conflict,
            threads=threads,
            memory=memory,
            second_round=second_round,
            joined=mode == "one",
        )

    @property
    def _folder(self) -> str:
        return _files.join(self.staging, self.id)

    @_FAILURES
    def begin(self, pid: int | None = None) -> None:
        """Checks the target, removes the files of jobs that were killed, and makes the folder of the shards. Called in the driver, first.

        pid: a process that lives as long as the job, by which other jobs see if this one is over; by default this process.
        """
        check_arguments(Job.begin, locals())
        if self.mode == "set":
            _replacing.restore(self.target)
        self._refuse()
        if self.mode == "one" and not _files.is_url(self.target):
            _sqluice.remove_leftovers(_files.local(self.target))
        for staging in self._stagings():
            _staging.begin(staging, self.id, os.getpid() if pid is None else pid)

    def _stagings(self) -> set[str]:
        """Returns the staging folder for shards, and that beside the target for a file or set that is renamed at the end."""
        renames = self._layout.second_round or (self.mode == "set" and not _files.is_url(self.target))
        return {self.staging, _staging.folder_of(self.target)} if renames else {self.staging}

    def _end(self) -> None:
        if self.mode == "set" and _replacing.is_under_way(self.target):
            # Replacing the set has failed halfway. A later job needs these files to restore it.
            return
        for staging in self._stagings():
            _staging.end(staging, self.id)

    def _refuse(self) -> None:
        self._refuse_existing()
        if _files.is_url(self.target):
            return
        is_folder = os.path.isdir(_files.local(self.target))
        if self.mode == "one" and is_folder:
            raise TargetError(f"{self.target} is a folder", hint="name a file in it")
        if self.mode == "set" and os.path.exists(_files.local(self.target)):
            if not is_folder:
                raise TargetError(f"{self.target} is a file; a set is a folder", hint="name a folder")
            # Raises an error if the folder is no set: only a set may be replaced as a whole.
            _manifest.read_manifest(self.target)

    def _refuse_existing(self) -> None:
        """Refuses a set or table that exists, unless the arguments say what to do with it."""
        if self.overwrite or self.if_exists == "append":
            return
        if self.mode == "set":
            if self._is_set_there():
                raise TargetError(f"{self.target} already exists", hint="name another target, or replace it: overwrite=True")
        elif self._has_table():
            has = "already exists" if _files.is_url(self.target) else f"already has a table {self.table}"
            hint = 'add to its rows, or replace the database: if_exists="append", overwrite=True'
            raise TargetError(f"{self.target} {has}", hint=hint)

    def _has_table(self) -> bool:
        """Returns True if the database has the table. A database at a URL is treated as if it had the table."""
        if _files.is_url(self.target) or not _files.exists(self.target):
            return _files.exists(self.target)
        file = _files.local(self.target)
        with used(file) as native:
            return not os.path.isdir(file) and native.columns_of(file, self.table) is not None

    def _is_set_there(self) -> bool:
        if _files.is_url(self.target):
            # A set has a manifest beside its databases. Databases alone are those of a job that was killed, and are no set.
            return any(_manifest.job_of(name, self.table) is None for name in _files.listed(self.target))
        return _files.exists(self.target)

    def _appends(self) -> bool:
        return self.mode == "one" and not self.overwrite and _files.exists(self.target)

    @_FAILURES
    def write(self, batches: Iterable[Any], task: int) -> list[Shard]:
        """Writes the rows of a task, which are record batches or tables of Arrow. Called in the task, any number of times; the result of one attempt is
        committed."""
        check_arguments(Job.write, locals())
        return write_shards(self._layout, self._folder, task, batches, self.partition_by)

    @_FAILURES
    def plan(self, shards: Iterable[Shard]) -> list[Place]:
        """Returns the places of a second round, one for each shard with rows. Each must be given to `place`, in any task. An empty list means that the
        driver merges the shards. Called in the driver, once, before `commit`; after an error call `abort`.
        """
        check_arguments(Job.plan, locals())
        ordered = _in_order(shards)
        if not self._layout.second_round or self._appends() or len(ordered) < 2:
            return []
        types = tuple(_commit.united(ordered).items())
        counted = [(shard.task, self._path(shard), shard.pages) for shard in ordered if shard.pages is not None]
        if len(counted) < len(ordered) or any(shard.columns != types for shard in ordered):
            return []
        self._refuse_existing()
        file = os.path.join(_staging.folder_of(self.target), self.id, _places.FILE)
        return _places.plan(file, self.target, counted, self._layout.table, self.overwrite)

    @_FAILURES
    def place(self, place: Place) -> Placed:
        """Copies the leaves of a shard to their place. Called in a task, any number of times; the result of one attempt is committed."""
        check_arguments(Job.place, locals())
        return _places.place(place, self._folder, self._layout.threads, self._layout.memory)

    def _path(self, shard: Shard) -> str:
        return _files.join(self._folder, shard.name)

    @_FAILURES
    def commit(self, shards: Iterable[Shard], schema: Any = None, placed: Iterable[Placed] = ()) -> Committed:
        """Makes the target of the shards that the engine has returned, and removes the staging folder. Called in the driver.

        schema: the Arrow schema, for a table without rows. placed: the results of `place` for all places that `plan` returned.
        """
        check_arguments(Job.commit, locals())
        in_places = {one.place: one for one in placed}
        try:
            ordered = _in_order(shards)
            merged = self._make(ordered, schema, list(in_places.values()))
        finally:
            self._end()
        notes = tuple(dict.fromkeys(note for shard in ordered for note in shard.notes))
        return Committed(self.target, sum(shard.rows for shard in ordered), len(ordered), merged, len(in_places), schema, notes)

    def _make(self, shards: list[Shard], schema: Any, placed: list[Placed]) -> MergeReport | None:
        layout, target = self._layout, self.target
        self._refuse_existing()
        if placed:
            sources = [self._path(shard) for shard in shards]
            return _places.merge(target, sources, placed, self._folder, self.overwrite)
        with _files.held_locally([self._path(shard) for shard in shards]) as files:
            if self.mode == "set":
                self._make_set(shards, files)
                return None
            appends = self._appends()
            if not shards:
                if self.overwrite or not self._has_table():
                    self._make_empty(schema)
                return None
            with _files.made_locally(target) as made:
                if appends and _files.is_url(target):
                    with _files.held_locally([target]) as [before]:
                        os.replace(before, made)
                scratch = None if _files.is_url(self.staging) else self._folder
                return _commit.one(layout, shards, files, made, self.overwrite, scratch)

    def _make_empty(self, schema: Any) -> None:
        import pyarrow

        if schema is None:
            if not self._layout.types:
                raise InputError("no task has rows, and the columns are not known", hint='name the columns: types={"id": "INTEGER"}')
            schema = pyarrow.schema([(name, pyarrow.null()) for name, _ in self._layout.types])
        with _files.made_locally(self.target) as made:
            self._layout.write(made, schema.empty_table(), overwrite=self.overwrite)

    def _make_set(self, shards: list[Shard], files: list[str]) -> None:
        if not shards:
            raise InputError("no task has rows: a set has at least one database")
        replacing = self._token if self.overwrite else None
        if _files.is_url(self.target):
            with TemporaryDirectory(prefix="sqluice-") as folder:
                made = os.path.join(folder, _replacing.NEW)
                text = _commit.one_of_each(self._layout, shards, files, made, self.partition_by, replacing)
                self._send_set(made, text)
            return
        # The set is made beside the target, on the same file system, so that it can be renamed.
        made = os.path.join(_staging.folder_of(self.target), self.id, _replacing.NEW)
        _commit.one_of_each(self._layout, shards, files, made, self.partition_by, replacing)
        target = _files.local(self.target)
        if self.overwrite:
            _replacing.put(made, target)
        else:
            os.rename(made, target)

    @property
    def _token(self) -> str:
        """A text in the names of this job's databases, which no other job has."""
        return self.id[:_TOKEN_CHARS]

    def _send_set(self, made: str, text: str) -> None:
        before = _files.listed(self.target)
        old = self._members_before()
        new = set(os.listdir(made))
        for name in sorted(new - {_manifest.NAME}):
            _files.move(os.path.join(made, name), _files.join(self.target, name))
        # This request replaces the set: readers find its databases by the manifest.
        _files.write_text(_files.join(self.target, _manifest.NAME), text)
        under_way = {job[:_TOKEN_CHARS] for job in _files.listed(self.staging)}
        for name in before:
            job = _manifest.job_of(name, self.table)
            if name not in new and (name in old or (job is not None and job not in under_way)):
                _files.remove(_files.join(self.target, name))

    def _members_before(self) -> set[str]:
        try:
            return {str(member["file"]) for member in _manifest.read_manifest(self.target)["databases"]}
        except InputError:
            return set()

    @_FAILURES
    def abort(self) -> None:
        """Removes the shards. Called in the driver, when the job has failed."""
        self._end()


def _in_order(shards: Iterable[Shard]) -> list[Shard]:
    """Returns the shards in the order of the tasks, which may have ended in another order."""
    ordered = sorted(shards, key=_position)
    twice = [shard.task for shard, after in zip(ordered, ordered[1:], strict=False) if _position(shard) == _position(after)]
    if twice:
        raise InputError(f"two attempts of task {twice[0]} were given to commit: give it the result of one")
    return ordered


def _position(shard: Shard) -> tuple[int, int, int]:
    return shard.task, shard.partition, shard.run


def _absolute(path: Path) -> str:
    """Returns an absolute path, which means the same file in every task; URLs are returned as they are."""
    text = os.fspath(path)
    return text.rstrip("/") if _files.is_url(text) else os.path.abspath(_files.local(text))
