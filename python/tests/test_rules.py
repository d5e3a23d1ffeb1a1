"""Rules that hold for every public function: a new function that breaks one fails here."""

from __future__ import annotations

import dataclasses
import errno
import functools
import inspect
import io
import math
import os
import pickle
import re
import subprocess
import sys
import traceback
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqluice
import sqluice.distributed
from sqluice import _commands, _errors, _sqluice, _write
from twin import query

MODULES = (sqluice, sqluice.distributed)


def public() -> dict[str, Callable[..., Any]]:
    """Returns the public functions, constructors and methods with arguments. Reports, errors and `Rows` are results, and left out."""
    found: dict[str, Callable[..., Any]] = {}
    for module in MODULES:
        for name in module.__all__:
            one = getattr(module, name)
            if inspect.isfunction(one):
                found[name] = one
            elif inspect.isclass(one) and not issubclass(one, Exception) and one is not sqluice.Rows:
                is_result = dataclasses.is_dataclass(one) and not hasattr(one, "__post_init__")
                methods = {f"{name}.{method}": vars(one)[method] for method in vars(one) if inspect.isfunction(vars(one)[method]) and not method.startswith("_")}
                own = {} if is_result or "_" in name else {name: one.__init__}
                found |= own | ({} if is_result else methods)
    return {name: one for name, one in found.items() if parameters(one)}


def parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    found = dict(inspect.signature(function).parameters)
    found.pop("self", None)
    return found


PUBLIC = public()
# `EntityStore.define` makes an `EntityType`: programs do not call the class.
MADE_ELSEWHERE = {"EntityType"}
# The test does not look into the values that an engine has returned to the driver.
OPAQUE = {("Job.plan", "shards"), ("Job.place", "place"), ("Job.commit", "shards"), ("Job.commit", "placed")}


@pytest.fixture
def calls(tmp_path: Path) -> dict[str, Callable[..., Any]]:
    """Returns a call of each public function with valid arguments, which further arguments replace."""
    db, file, folder = tmp_path / "there.db", tmp_path / "rows.csv", tmp_path / "folder"
    sqluice.write(db, [(1, "a")], "t", columns=["id", "s"], primary_key="id")
    sqluice.pack(tmp_path / "packed.db", tmp_path)
    file.write_text("id,s\n1,a\n")
    folder.mkdir()
    (folder / "a.txt").write_text("alpha")
    new = tmp_path / "new.db"

    @functools.cache
    def blobs() -> sqluice.BlobStore:
        return sqluice.BlobStore(tmp_path / "blobs.db")

    @functools.cache
    def store() -> sqluice.EntityStore:
        return sqluice.EntityStore(tmp_path / "entities.db")

    @functools.cache
    def entities() -> Any:
        return store().define("person", key="id")

    def writer() -> sqluice.Writer:
        return sqluice.Writer(tmp_path / "written.db")

    def job() -> sqluice.distributed.Job:
        return sqluice.distributed.Job(tmp_path / "job.db", "t")

    def parts() -> sqluice.distributed.Parts:
        return sqluice.distributed.Parts(db, "t")

    def with_arguments(function: Callable[..., Any], **usual: Any) -> Callable[..., Any]:
        return lambda **given: function(**usual | given)

    def method(make: Callable[[], Any], name: str, /, **usual: Any) -> Callable[..., Any]:
        return lambda **given: given_to(getattr(make(), name), usual | given)

    return {
        "load": with_arguments(sqluice.load, db=new, files=file),
        "generate": with_arguments(sqluice.generate, db=new, preset="user", rows=1),
        "profile": with_arguments(sqluice.profile, db=db),
        "index": with_arguments(sqluice.index, db=db, statements="CREATE INDEX i ON t (s)"),
        "copy": with_arguments(sqluice.copy, source=db, target=new),
        "merge": with_arguments(sqluice.merge, target=new, sources=[db]),
        "check": with_arguments(sqluice.check, db=db),
        "recover": with_arguments(sqluice.recover, source=db, target=new),
        "pack": with_arguments(sqluice.pack, db=new, folder=folder),
        "unpack": with_arguments(sqluice.unpack, db=tmp_path / "packed.db", folder=tmp_path / "out"),
        "write": with_arguments(sqluice.write, db=new, data=[(1,)], table="t", columns=["id"]),
        "read": with_arguments(sqluice.read, db=db, table="t"),
        "export": with_arguments(sqluice.export, db=db, to=tmp_path / "out.csv"),
        "field": with_arguments(sqluice.field, name="a"),
        "pandas_method": with_arguments(sqluice.pandas_method, table=None, connection=None, keys=["a"], rows=[(1,)]),
        "BlobStore": with_arguments(sqluice.BlobStore, db=tmp_path / "blobs.db"),
        "BlobStore.range": method(blobs, "range", key="a", start=0, end=1),
        "BlobStore.size": method(blobs, "size", key="a"),
        "BlobStore.put_many": method(blobs, "put_many", blobs={"a": b"b"}),
        "BlobStore.remove_many": method(blobs, "remove_many", keys=["a"]),
        "EntityStore": with_arguments(sqluice.EntityStore, db=tmp_path / "entities.db"),
        "EntityStore.define": method(store, "define", name="person", key="id"),
        "EntityType.write": method(entities, "write", entities={"id": "a"}),
        "EntityType.write_many": method(entities, "write_many", entities=[{"id": "a"}]),
        "EntityType.read": method(entities, "read", key="a"),
        "EntityType.read_many": method(entities, "read_many", keys=["a"]),
        "EntityType.query": method(entities, "query"),
        "EntityType.count": method(entities, "count"),
        "EntityType.delete": method(entities, "delete", keys="a"),
        "EntityType.delete_where": method(entities, "delete_where", filter=sqluice.field("key").is_("a")),
        "Writer": with_arguments(sqluice.Writer, db=new),
        "Writer.create_table": method(writer, "create_table", table="t"),
        "Writer.append": method(writer, "append", data=[(1,)], table="t", columns=["id"]),
        "Job": with_arguments(sqluice.distributed.Job, target=new, table="t"),
        "Job.begin": method(job, "begin"),
        "Job.write": method(job, "write", batches=[], task=0),
        "Job.plan": method(job, "plan", shards=[]),
        "Job.place": method(job, "place", place=sqluice.distributed.Place(0, "")),
        "Job.commit": method(job, "commit", shards=[]),
        "Parts": with_arguments(sqluice.distributed.Parts, db=db, table="t"),
        "Parts.cut": method(parts, "cut", count=2),
        "Hash": with_arguments(sqluice.distributed.Hash, column="a", count=2),
        "Hash.places": method(lambda: sqluice.distributed.Hash("a", 2), "places", column=None),
        "Range": with_arguments(sqluice.distributed.Range, column="a", bounds=[1]),
        "Range.places": method(lambda: sqluice.distributed.Range("a", [1]), "places", column=None),
        "read_manifest": with_arguments(sqluice.distributed.read_manifest, folder=folder),
    }


def given_to(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Calls a function by names, also those of parameters such as `*keys`."""
    starred = [name for name, one in inspect.signature(function).parameters.items() if one.kind is one.VAR_POSITIONAL]
    return function(*[arguments.pop(name) for name in starred], **arguments)


def test_the_calls_of_these_tests_cover_every_public_function(calls: dict[str, Any]) -> None:
    assert set(PUBLIC) - MADE_ELSEWHERE == set(calls)


# These words of the binding, of Rust and of the command must not be in messages.
FOREIGN = re.compile(r"failed to extract|Args\b|argument '|object cannot be|\b[ui](8|16|32|64|size)\b|Option<|Vec<|PathBuf|(?<![\w-])--[a-z]")


def takes(wanted: Any, kind: Any) -> bool:
    """Returns True if a parameter takes a type, by itself or within others."""
    if typing.get_origin(wanted) is type:
        return False
    return wanted is kind or typing.get_origin(wanted) is kind or any(takes(one, kind) for one in typing.get_args(wanted))


def takes_everything(name: str, parameter: str, wanted: Any) -> bool:
    return wanted is Any or isinstance(wanted, typing.TypeVar) or (name, parameter) in OPAQUE


def annotations(function: Callable[..., Any]) -> dict[str, Any]:
    return {name: one for name, one in typing.get_type_hints(function).items() if name != "return"}


def refused(call: Callable[..., Any], parameter: str, value: Any) -> sqluice.Error:
    with pytest.raises(sqluice.Error) as raised:
        call(**{parameter: value})
    assert not FOREIGN.search(str(raised.value)), raised.value
    return raised.value


@pytest.mark.parametrize("name", sorted(set(PUBLIC) - MADE_ELSEWHERE))
def test_the_error_about_an_argument_of_a_wrong_type_names_the_argument(name: str, calls: dict[str, Callable[..., Any]]) -> None:
    for parameter, wanted in annotations(PUBLIC[name]).items():
        if takes_everything(name, parameter, wanted):
            continue
        # An object by itself is wrong for every parameter. Within a list or dict, it is not tried where any object is allowed: as an
        # entity, a bound or a batch. It is not tried for `blobs` either, where the error may name a key.
        values = [object(), [object()], {object(): object()}]
        for value in values[: 1 if parameter in ("blobs", "entities") or takes(wanted, Any) else None]:
            error = refused(calls[name], parameter, value)
            named = re.escape(parameter.removesuffix("s"))
            assert re.search(rf"\b{named}", str(error)), (parameter, value, str(error))
            assert isinstance(error, sqluice.UsageError) and isinstance(error, TypeError), (parameter, value, repr(error))


SIGNED = {"application_id", "first_rowid", "user_version"}


def wrong_values(parameter: str, wanted: Any) -> Iterator[Any]:
    if takes(wanted, typing.Literal):
        yield "nonsense"
    if takes(wanted, int) and not takes(wanted, bool):
        yield 2**70
        if parameter not in SIGNED:
            yield -1
    if takes(wanted, float):
        yield from (math.nan, -math.inf, -1.0)
    if wanted is str or takes(wanted, os.PathLike):
        yield "\ud800"
    if takes(wanted, os.PathLike):
        yield "a\0b"


@pytest.mark.parametrize("name", sorted(set(PUBLIC) - MADE_ELSEWHERE))
def test_the_error_about_an_argument_of_a_wrong_value_names_the_argument(name: str, calls: dict[str, Callable[..., Any]]) -> None:
    for parameter, wanted in annotations(PUBLIC[name]).items():
        # The key of an entity may be negative, and a bound may be of any type.
        if takes_everything(name, parameter, wanted) or parameter in ("key", "keys", "bounds"):
            continue
        for value in wrong_values(parameter, wanted):
            given = {"part": (value, 2)} if parameter == "part" else {}
            error = refused(calls[name], parameter, given.get(parameter, value))
            assert parameter in str(error), (parameter, value, str(error))
            assert isinstance(error, sqluice.UsageError), (parameter, value, repr(error))


def test_the_error_about_a_wrong_value_names_the_accepted_values(db: Path) -> None:
    sqluice.write(db, [(1,)], "t", columns=["a"])
    for call, message in (
        (lambda: sqluice.read(db, "t", limit=-1), "limit=-1 is out of range: it must be 0 or more"),
        (lambda: sqluice.read(db, "t", limit="1"), "limit must be int or None, not str"),  # type: ignore[arg-type]
        (lambda: sqluice.read(db, "t", columns=[1]), "columns must be str, a sequence of str or None, not list of int"),  # type: ignore[list-item]
        (lambda: sqluice.read(db, "t", mixed="x"), "mixed: 'x' is not one of error, text or null"),  # type: ignore[arg-type]
        (lambda: sqluice.read(db, "t", busy_timeout=-1), "busy_timeout=-1 is out of range: it must be a number of seconds, 0 or more"),
        (lambda: sqluice.write(db, [], "u", page_size=1000), "page_size=1000 is not a power of two from 512 to 65536"),
        (lambda: sqluice.write(db, [], "u", if_exists="skip"), "if_exists: 'skip' is not one of fail, replace, append or upsert"),  # type: ignore[arg-type]
        (lambda: sqluice.generate(db, rows={"t": "5"}), "rows must be int, a mapping from str to int or None, not dict from str to str"),  # type: ignore[dict-item]
    ):
        with pytest.raises(sqluice.UsageError) as raised:
            call()
        assert str(raised.value) == message


# Functions without a database: a field has none, and a set of databases is a folder.
WITHOUT_DATABASE = {"field", "pandas_method", "read_manifest", "Hash", "Range"}


def test_the_type_hints_of_formats_list_the_formats_of_the_command() -> None:
    literals = _commands.InputFormat, _commands.OutputFormat
    assert [list(typing.get_args(literal)) for literal in literals] == [sorted_as(names) for names in _sqluice.formats()]


def sorted_as(names: list[str]) -> list[str]:
    """Returns formats in the order of the type hints, in which formats that `export` writes come first."""
    written = typing.get_args(_commands.Format)
    return [name for name in written if name in names] + [name for name in names if name not in written]


def test_every_function_takes_the_database_first() -> None:
    for name, function in PUBLIC.items():
        if name not in WITHOUT_DATABASE | MADE_ELSEWHERE and "." not in name:
            first, about = next(iter(parameters(function).items()))
            assert first in ("db", "source", "target"), name
            assert about.kind is about.POSITIONAL_OR_KEYWORD and about.default is about.empty, name


VERBS = {"check", "copy", "export", "generate", "index", "load", "merge", "pack", "profile", "recover", "unpack"}
# The names of the command for its arguments.
OF_COMMAND = {
    "DB": "db",
    "SOURCE": "source",
    "TARGET": "target",
    "FILE": "files",
    "SCHEMA": "schema",
    "SQL": "statements",
    "TABLE": "tables",
    "DIR": "folder",
}


@pytest.mark.flags_in_data
@pytest.mark.parametrize("verb", sorted(VERBS))
def test_positional_arguments_are_in_the_order_of_the_command_line(verb: str) -> None:
    shown = subprocess.run([sys.executable, "-m", "sqluice", verb, "--help"], capture_output=True, text=True, check=True).stdout
    usage = re.search(rf"Usage: sqluice {verb} (.*)", shown)
    assert usage is not None
    words = [word for word in re.findall(r"[\[<]([A-Z]+)[.\w]*[\]>]", usage[1]) if word != "OPTIONS"]
    function = getattr(sqluice, verb)
    positional = [name for name, one in parameters(function).items() if one.kind is one.POSITIONAL_OR_KEYWORD]
    assert [OF_COMMAND[word] for word in words] == positional or verb == "merge", usage[1]
    if verb == "merge":
        assert positional == ["target", "sources"] and words[0] == "TARGET", usage[1]


# The targets of `copy` and `recover`, and the files of `export` and `unpack`, are new. `merge` joins the tables of databases, the target's own included.
WITHOUT_IF_EXISTS = {"copy", "export", "merge", "recover", "unpack"}


def test_all_functions_call_the_parameter_for_existing_tables_if_exists() -> None:
    for name, function in PUBLIC.items():
        found = parameters(function)
        assert not {"append", "replace", "upsert", "exist_ok", "exists", "force_overwrite"} & set(found), name
        assert ("if_exists" in found) == ("overwrite" in found and name not in WITHOUT_IF_EXISTS), name
        if "if_exists" in found:
            assert annotations(function)["if_exists"] == _write.IfExists and found["if_exists"].default == "fail", name
        if "overwrite" in found:
            assert found["overwrite"].default is False, name


@pytest.mark.parametrize("name", [name for name, function in PUBLIC.items() if "if_exists" in parameters(function)])
def test_each_value_of_if_exists_has_the_same_meaning_in_every_function(name: str, tmp_path: Path) -> None:
    db, folder = tmp_path / "t.db", tmp_path / "folder"
    folder.mkdir()
    file = folder / "t.csv"
    file.write_text("id,s\n1,a\n2,b\n")
    rows = [(1, "a"), (2, "b")]
    schema = "CREATE TABLE t (id INTEGER, s TEXT)"

    def of_writer(**how: Any) -> None:
        with sqluice.Writer(db, **how) as writer:
            writer.append(rows, "t", columns=["id", "s"])

    def of_job(**how: Any) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        job = sqluice.distributed.Job(db, "t", **how)
        job.begin()
        job.commit(job.write([pyarrow.table({"id": [1, 2], "s": ["a", "b"]})], 0))

    run: Callable[..., Any] = {
        "load": lambda **how: sqluice.load(db, file, **how),
        "generate": lambda **how: sqluice.generate(db, schema, rows=2, **how),
        "write": lambda **how: sqluice.write(db, rows, "t", columns=["id", "s"], **how),
        "pack": lambda **how: sqluice.pack(db, folder, **how),
        "Writer": of_writer,
        "Job": of_job,
    }[name]
    table = "sqlar" if name == "pack" else "t"

    def count() -> int:
        [(found,)] = query(db, f"SELECT count(*) FROM {table}")
        return int(found)

    # A database without the table gets it.
    sqluice.write(db, [(1,)], "other", columns=["a"])
    run()
    first = count()
    with pytest.raises(sqluice.TargetError, match=f"already has a table {table}"):
        run()
    # An appended file replaces the stored file of the same name, so the number of files of `pack` stays the same.
    again = first if name == "pack" else 2 * first
    run(if_exists="append")
    assert count() == again
    for word, rows_after in (("replace", first), ("upsert", first)):
        try:
            run(if_exists=word, **({"primary_key": "id"} if word == "upsert" and name in ("load", "write") else {}))
        except sqluice.UsageError as error:
            # The function has no key for `upsert`, or a job can't replace rows. The message says so, and nothing has changed.
            assert word == "upsert" or name == "Job", error
            assert count() == (again if name == "Job" else first)
        else:
            assert count() == rows_after
    assert query(db, "SELECT a FROM other") == [(1,)]
    run(overwrite=True)
    assert count() == first and query(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'other'") == [(0,)]


ERRORS = (sqluice.Error, sqluice.InputError, sqluice.TargetError, sqluice.UsageError, sqluice.Interrupted)


@pytest.mark.parametrize("kind", ERRORS)
def test_a_traceback_names_an_error_by_the_public_module(kind: type[sqluice.Error]) -> None:
    assert getattr(sqluice, kind.__name__) is kind
    also = _errors.also_a(kind, TypeError)
    of_disk = _errors.of_system(kind, "m", errno.ENOSPC)
    for error in (kind("m"), also("m"), of_disk):
        assert traceback.format_exception_only(error) == [f"sqluice.{kind.__name__}: m\n"]
        assert isinstance(error, kind)


def test_errors_can_be_pickled(db: Path, tmp_path: Path) -> None:
    errors = [sqluice.InputError("m", hint="h", row=3, parts=[sqluice.UsageError("n")])]
    for call in (lambda: sqluice.load(db, tmp_path / "missing.csv"), lambda: sqluice.read(db, 5)):  # type: ignore[arg-type]
        with pytest.raises(sqluice.Error) as raised:
            call()
        errors.append(raised.value)
    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)
        assert (again.kind, again.hint, again.row, len(again.parts)) == (error.kind, error.hint, error.row, len(error.parts))
        assert getattr(again, "errno", None) == getattr(error, "errno", None)
        assert getattr(again, "filename", None) == getattr(error, "filename", None)


FULL = """
import errno, resource, signal, sqluice, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
for write in (
    lambda: sqluice.write(sys.argv[1], [(n, "x" * 100) for n in range(100_000)], "t", columns=["a", "b"]),
    lambda: sqluice.generate(sys.argv[1], preset="user", rows=1_000_000),
):
    try:
        write()
    except sqluice.Error as error:
        assert isinstance(error, sqluice.TargetError) and isinstance(error, OSError), repr(error)
        assert error.errno == errno.EFBIG, error.errno
        assert "File too large" in str(error), error
    else:
        raise AssertionError
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on the size of files is Linux's")
def test_a_disk_error_is_a_target_error_and_an_os_error(db: Path) -> None:
    subprocess.run([sys.executable, "-c", FULL, db], check=True)
    assert not db.exists()
    full = _errors.of_engine(kind="target", message="cannot write t.db", causes=["No space left on device (os error 28)"], errno=errno.ENOSPC, path="t.db")
    assert isinstance(full, sqluice.TargetError) and isinstance(full, OSError)
    assert (full.errno, full.filename, str(full)) == (errno.ENOSPC, "t.db", "cannot write t.db: No space left on device")


class Own(Exception):
    """An exception of the caller's own code."""


def test_exceptions_of_the_callers_code_are_raised_unchanged(db: Path, tmp_path: Path) -> None:
    sqluice.write(db, [(1,)], "t", columns=["a"])
    store = sqluice.EntityStore(tmp_path / "entities.db")

    def refuse(error: Exception) -> Any:
        raise error

    for own in (Own("own"), OSError(errno.ENOSPC, "own"), ValueError("own"), TypeError("own")):

        def rows(own: Exception = own) -> Iterator[Any]:
            yield (1,)
            raise own

        class File(io.RawIOBase):
            name = "t.csv"

            def read(self, size: int = -1, own: Exception = own) -> bytes:
                raise own

        def to_writer(own: Exception = own) -> None:
            with sqluice.Writer(tmp_path / "w.db") as writer:
                writer.append(rows(own), "t", columns=["a"])

        def of_store(own: Exception = own) -> None:
            store.define("a", key="id", to_json=lambda _: refuse(own), from_json=str).write("x")

        def with_adapter(own: Exception = own) -> None:
            sqluice.load(tmp_path / "l.db", io.BytesIO(b"a\n1\n"), table="t", progress=lambda _: refuse(own))

        def of_pyarrow(own: Exception = own) -> None:
            pyarrow = pytest.importorskip("pyarrow")
            batch = pyarrow.record_batch({"a": [1]})

            def batches() -> Iterator[Any]:
                yield batch
                raise own

            sqluice.write(tmp_path / "p.db", pyarrow.RecordBatchReader.from_batches(batch.schema, batches()), "t")

        for call in (
            lambda own=own: sqluice.write(tmp_path / "g.db", rows(own), "t", columns=["a"]),
            lambda: sqluice.load(tmp_path / "l.db", File()),
            to_writer,
            of_store,
            with_adapter,
            of_pyarrow,
        ):
            with pytest.raises(type(own)) as raised:
                call()
            assert raised.value is own, call


def test_invalid_data_of_other_libraries_is_an_error_of_the_package(db: Path) -> None:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"a": [1, 2]})
    with pytest.raises(sqluice.UsageError, match="columns= names 'b', which the frame does not have"):
        sqluice.write(db, frame, "t", columns=["b"])

    class Broken:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return object()

    with pytest.raises(sqluice.InputError, match="capsules"):
        sqluice.write(db, Broken(), "t")
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, pyarrow.schema([("a", "int64")])) as stream:
        stream.write_table(pyarrow.table({"a": [1] * 1000}))
    with pytest.raises(sqluice.InputError, match="cannot read the Arrow data"):
        sqluice.write(db, pyarrow.ipc.open_stream(sink.getvalue()[:-600]), "t")
    with pytest.raises(sqluice.InputError, match="row 2, column a: the row has no such attribute"):
        sqluice.write(db, [Row(1), 5], "t")
    with pytest.raises(sqluice.InputError, match="surrogate"):
        sqluice.write(db, [{"\ud800": 1}], "t")
    assert not db.exists()


@dataclasses.dataclass
class Row:
    a: int
