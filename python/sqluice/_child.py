"""A child process that runs the compiled module for this process, for files that another SQLite library has open here (`_open_files`).

```text
parent   Child.load(...)   ── call ──>   child   _sqluice.load(...)
         rows, progress    <── ask ──            takes rows and reports progress while it runs
         the result        <── answer ──
```

A `Child` has the functions and classes of `_sqluice`. The child asks for rows, and gets some thousands at a time through the pipe: rows of Python
pickled, data of Arrow as Arrow's IPC. Parent and child take turns with messages. While the child works, the parent prepares the next rows.

The child runs the same interpreter (`sys.executable`) and this package. If the parent ends, the child cancels its run, which leaves nothing behind,
and ends, too.
"""

from __future__ import annotations

import io
import itertools
import os
import pickle
import re
import signal
import struct
import sys
import threading
import time
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import IO, Any

from . import _sqluice
from ._errors import PUBLIC, Error, InputError, Interrupted, TargetError

# The number of rows in one message, if they are Python objects.
_ROWS = 4096

EXACT = frozenset((int, float, str, bytes, bool, type(None)))
"""The types whose values SQLite stores without an adapter."""

_LENGTH = struct.Struct("<Q")

# The child does not import sqluice/__init__.py, which takes a while, but only the modules that it needs.
_PROGRAM = """
import sys, types
package = sys.modules["sqluice"] = types.ModuleType("sqluice")
package.__path__ = [sys.argv[1]]
from sqluice._child import serve
serve(sys.argv[2:])
"""

# After this time, a child that does not end by itself is killed.
_PATIENCE_SECONDS = 20.0


def program() -> str | None:
    """Returns the interpreter to start, or None for a frozen program or one that embeds Python, which have no interpreter."""
    name = os.path.basename(sys.executable or "").lower()
    return None if getattr(sys, "frozen", False) or not re.match(r"(python|pypy|graalpy)", name) else sys.executable


class Ended(TargetError):
    """The child has ended before it returned a result: the rows may be stored or not."""


Ended.__name__, Ended.__qualname__, Ended.__module__ = "TargetError", "TargetError", "sqluice"


class _Object:
    """An object of the compiled module in the child."""

    def __init__(self, child: Child, number: int) -> None:
        self._child, self._number = child, number

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__") and name != "__next__":
            raise AttributeError(name)
        return lambda *args: self._child._call(self._number, name, args)

    def __del__(self) -> None:
        self._child._forget(self._number)


class _Rows:
    """Rows that stay in the parent until the child asks for them: their shape (None for data of Arrow), the names of columns, and blocks of rows."""

    def __init__(self, shape: str | None, names: list[str], blocks: Iterator[Any]) -> None:
        self.shape, self.names, self.blocks = shape, names, blocks


class _Callable:
    """A function of the parent, which the child may call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function


class Child:
    """The compiled module in a child process, until it is closed."""

    def __init__(self) -> None:
        # The import is here, because the child imports this module, too, and starts no processes.
        import subprocess

        found = program()
        if found is None:
            message = "something else in this process has the database open, and no child process can open it instead: sys.executable is no Python"
            raise TargetError(message, hint="close its connections first: two SQLite libraries of one process would release each other's locks")
        # The lock is reentrant, because a call may drop the last reference to an object of the child, and so lock again.
        self._lock = threading.RLock()
        self._forgotten: list[int] = []
        self._process_id = os.getpid()
        self._asked: dict[int, Callable[..., Any]] = {}
        self._numbers = itertools.count()
        self._ended = False
        self._timeout = subprocess.TimeoutExpired
        folder = os.path.dirname(os.path.abspath(__file__))
        command = [found, "-I", "-S", "-c", _PROGRAM, folder]
        if os.name == "nt":
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert self._process.stdin is not None and self._process.stdout is not None
            self._to: IO[bytes] = self._process.stdin
            self._from: IO[bytes] = self._process.stdout
            return
        # Messages go through new pipes, so that the child does not use the caller's standard input and output.
        (theirs_in, ours_out), (ours_in, theirs_out) = os.pipe(), os.pipe()
        try:
            self._process = subprocess.Popen(
                [*command, str(theirs_in), str(theirs_out)], pass_fds=(theirs_in, theirs_out), start_new_session=True
            )
        except OSError as error:
            os.close(ours_in)
            os.close(ours_out)
            raise TargetError(f"cannot start a child process, {found}: {error.strerror or error}") from error
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        self._to, self._from = open(ours_out, "wb", buffering=0), open(ours_in, "rb")

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args: self._call(None, name, args)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Asks the child to close its objects and to end, and waits for its end."""
        if os.getpid() != self._process_id:
            # The child belongs to the process that this one was forked from.
            return
        with self._lock:
            if not self._ended:
                # Closing the pipe may not be enough: a process that was forked meanwhile may have it open, too.
                self._send_end()
            self._ended = True
            for pipe in (self._to, self._from):
                try:
                    pipe.close()
                except OSError:
                    pass
            try:
                self._process.wait(_PATIENCE_SECONDS)
            except self._timeout:
                self._process.kill()
                self._process.wait()

    def _send_end(self) -> None:
        try:
            _write(self._to, _dumped(("end",), self._persistent_id))
        except (OSError, ValueError):
            pass

    def _stop(self) -> None:
        """Cancels the run in the child, and ends the child."""
        if not self._ended and os.name != "nt":
            self._process.send_signal(signal.SIGINT)
        elif not self._ended:
            self._process.terminate()
        # A message may have been sent in part, so no other can follow it, not even that which ends the child.
        self._ended = True
        self.close()

    def _forget(self, number: int) -> None:
        self._forgotten.append(number)

    def _call(self, target: int | None, name: str, args: tuple[Any, ...]) -> Any:
        with self._lock:
            if self._ended or os.getpid() != self._process_id:
                raise Ended("the child process that has the database open has ended")
            # This call may come from a function that the child has called, within another call.
            outer = self._asked
            self._asked = dict(outer)
            raised: BaseException | None = None
            try:
                forgotten, self._forgotten = self._forgotten, []
                self._send(("call", target, name, [self._given(arg) for arg in args], forgotten, sys.path))
                while True:
                    kind, *rest = self._receive()
                    if kind == "value":
                        return rest[0]
                    if kind == "error":
                        break
                    raised = self._answer(rest[0], rest[1], raised)
            except BaseException:
                # An exception here, such as a KeyboardInterrupt, cancels the run in the child, which rolls back.
                self._stop()
                raise
            finally:
                self._asked = outer
            raise rest[0] if raised is None else raised

    def _answer(self, number: int, args: tuple[Any, ...], raised: BaseException | None) -> BaseException | None:
        """Calls a function of the parent for the child, and sends the result. Returns the first exception of the caller's code so far: it ends the
        run in the child, and `_call` raises it when the child has rolled back."""
        asked = self._asked[number]
        try:
            value = self._given(asked(*args))
        except BaseException as error:
            self._send(("error", None))
            return raised or error
        self._send(("value", value))
        # The next rows are prepared while the child works.
        if isinstance(asked, _Ahead):
            asked.fill()
        return raised

    def _given(self, arg: Any) -> Any:
        """Returns the form of an argument that is sent to the child. Rows and functions stay in the parent, and the child gets a number by which to
        ask for them."""
        if isinstance(arg, tuple) and len(arg) == 3 and isinstance(arg[0], str) and isinstance(arg[1], list):
            shape, names, rows = arg
            if shape == "columns":
                return _Rows(shape, names, _chunks(names, rows))
            return _Rows("sequence" if shape == "attributes" else shape, names, _blocks(shape, names, rows))
        if isinstance(arg, tuple) and len(arg) == 2 and (hasattr(arg[0], "__arrow_c_stream__") or hasattr(arg[0], "__arrow_c_array__")):
            return _Rows(None, [], iter(_sqluice.Packing(*arg)))
        return _Callable(arg) if isinstance(arg, (types.FunctionType, types.MethodType)) else arg

    def _send(self, message: tuple[Any, ...]) -> None:
        try:
            _write(self._to, _dumped(message, self._persistent_id))
        except BrokenPipeError:
            # The child has ended; `_receive` finds the reason in its last message or its exit status.
            pass

    def _persistent_id(self, value: Any) -> Any:
        if isinstance(value, _Object):
            return "object", value._number
        if isinstance(value, _Rows):
            return "rows", value.shape, value.names, self._number(_Ahead(value.blocks))
        return ("callable", self._number(value.function)) if isinstance(value, _Callable) else None

    def _number(self, asked: Callable[..., Any]) -> int:
        number = next(self._numbers)
        self._asked[number] = asked
        return number

    def _receive(self) -> tuple[Any, ...]:
        message = _read(self._from)
        if message is None:
            status = self._process.wait()
            raise Ended(
                f"the child process that had the database open ended early, before it returned a result, with exit status {status}",
                hint="the database is as it was, or has all of the changes: look before you repeat the call",
            )
        loaded: tuple[Any, ...] = _loaded(message, lambda about: _Object(self, about[1]))
        return loaded


class _Ahead:
    """A function that returns the next block of rows, or None at the end. One block is made in advance."""

    def __init__(self, blocks: Iterator[Any]) -> None:
        self._blocks = blocks
        self._made: list[tuple[Any, BaseException | None]] = []

    def __call__(self) -> Any:
        self.fill()
        block, error = self._made.pop()
        if error is not None:
            raise error
        return block

    def fill(self) -> None:
        """Makes the next block unless one is waiting; None stands for the end. An exception is kept, and raised when the block is asked for."""
        if not self._made:
            try:
                self._made.append((next(self._blocks, None), None))
            except BaseException as error:
                self._made.append((None, error))


def _blocks(shape: str, names: list[str], rows: Iterable[Any]) -> Iterator[bytes]:
    """Yields rows of Python, pickled, in blocks of `_ROWS` rows."""
    iterator = iter(rows)
    row = _as_values(names) if shape == "attributes" else _as_dict if shape in ("mapping", "chosen") else _as_tuple
    while block := list(map(row, itertools.islice(iterator, _ROWS))):
        yield _packed([_plain_row(one) for one in block])


def _plain_row(row: Any) -> Any:
    if type(row) is tuple:
        return row if EXACT.issuperset(map(type, row)) else tuple(map(_plain, row))
    return {key: _plain(value) for key, value in row.items()} if type(row) is dict else row


def _plain(value: Any) -> Any:
    """Applies the adapters of `sqlite3` to a value, because they are registered in this process alone. Timestamps are returned unchanged, because
    the engine writes them in the form of their column. A value that no adapter takes is returned unchanged, too, because the engine reports
    such a value with its row and column."""
    if type(value) in EXACT or (hasattr(value, "hour") and hasattr(value, "year")):
        return value
    from ._values import adapt

    try:
        return adapt(value)
    except Exception:
        return value


def _as_tuple(row: Any) -> Any:
    if type(row) is tuple or isinstance(row, (str, bytes)) or not isinstance(row, Iterable):
        # The engine refuses a value that is no row, and names its place.
        return row
    return tuple(row)


def _as_dict(row: Any) -> Any:
    return dict(row) if isinstance(row, Mapping) else row


def _as_values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    done = itertools.count(1)

    def values(row: Any) -> tuple[Any, ...]:
        number = next(done)
        try:
            return tuple(getattr(row, name) for name in names)
        except AttributeError as error:
            name = next(name for name in names if not hasattr(row, name))
            raise InputError(f"row {number}, column {name}: the row has no such attribute", row=number, column=name) from error

    return values


def _chunks(names: list[str], chunks: Iterable[Any]) -> Iterator[bytes]:
    """Yields each chunk of columns as bytes, by which the chunk is sent to the child."""
    for chunk in chunks:
        if hasattr(chunk, "__arrow_c_stream__") or hasattr(chunk, "__arrow_c_array__"):
            for batch in _sqluice.Packing(chunk, None):
                yield _packed(("arrow", batch))
        else:
            yield _packed([_column(name, values) for name, values in zip(names, chunk, strict=False)])


def _column(name: str, values: Any) -> tuple[str, Any]:
    if hasattr(values, "__arrow_c_array__"):
        return "arrow", _sqluice.packed_column(values, name)
    if isinstance(values, tuple):
        return "values", values
    if isinstance(values, list):
        return "values", values if EXACT.issuperset(map(type, values)) else list(map(_plain, values))
    view = memoryview(values)
    return "d" if view.format == "d" else "q", view.tobytes()


def _packed(block: Any) -> bytes:
    """Pickles a block of rows."""
    to = io.BytesIO()
    pickler = pickle.Pickler(to, pickle.HIGHEST_PROTOCOL)
    # Without the memo, pickling is faster; rows do not refer to themselves.
    pickler.fast = True
    try:
        pickler.dump(block)
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError) as error:
        message = f"a value can't be pickled for the child process that has the database open: {error}"
        raise InputError(message, hint="convert it to str, int, float or bytes") from error
    return to.getvalue()


def _dumped(message: Any, persistent_id: Callable[[Any], Any]) -> bytes:
    to = io.BytesIO()
    pickler = _Pickler(to, pickle.HIGHEST_PROTOCOL)
    pickler.of = persistent_id
    pickler.dump(message)
    return to.getvalue()


class _Pickler(pickle.Pickler):
    """A pickler that lets a function replace objects of the child, rows and functions by references."""

    of: Callable[[Any], Any]

    def persistent_id(self, value: Any) -> Any:
        # Values of these types are never references.
        return None if type(value) in (str, int, float, bytes, bool, list, tuple, dict, type(None)) else self.of(value)


def _loaded(message: bytes, persistent_load: Callable[[Any], Any]) -> Any:
    unpickler = _Unpickler(io.BytesIO(message))
    unpickler.of = persistent_load
    return unpickler.load()


class _Unpickler(pickle.Unpickler):
    """An unpickler that lets a function resolve references to objects, rows and functions."""

    of: Callable[[Any], Any]

    def persistent_load(self, about: Any) -> Any:
        return self.of(about)


def _write(to: IO[bytes], message: bytes) -> None:
    view = memoryview(_LENGTH.pack(len(message)) + message)
    while view:
        view = view[to.write(view) :]


def _read(from_: IO[bytes]) -> bytes | None:
    length = from_.read(_LENGTH.size)
    if len(length) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(length)
    message = from_.read(size)
    return message if len(message) == size else None


class _Cancelled(BaseException):
    """A function of the parent has failed. The child cancels its run; the parent raises the original exception."""


class _Server:
    """The loop of the child: receives calls, runs them on the compiled module, and sends results."""

    def __init__(self, from_: IO[bytes], to: IO[bytes]) -> None:
        self._from, self._to = from_, to
        self._objects: dict[int, Any] = {}
        self._numbers = itertools.count()
        self._has_ended = False

    def run(self) -> None:
        """Serves calls until the parent says that it ends, or closes the pipe."""
        try:
            while (message := self._receive()) is not None:
                self._serve(*message[1:])
                del message
        finally:
            # On cancellation, too, the objects are dropped here: an open writer then removes its temporary files.
            self._objects.clear()

    def _serve(self, target: int | None, name: str, args: list[Any], forgotten: list[int], path: list[str]) -> None:
        # Unpickling imports the classes of values, so the child needs the parent's import path.
        sys.path += [folder for folder in path if folder not in sys.path]
        for number in forgotten:
            self._objects.pop(number, None)
        try:
            of: Any = _sqluice if target is None else self._objects[target]
            answer = ("value", next(of, None) if name == "__next__" else getattr(of, name)(*args))
        except _Cancelled:
            answer = ("error", Interrupted("the run was cancelled"))
        except BaseException as error:
            answer = ("error", error)
        self._send(answer)

    def _send(self, message: tuple[Any, ...]) -> None:
        try:
            dumped = _dumped(message, self._persistent_id)
            if message[0] == "error":
                # Some exceptions can be pickled, but not unpickled.
                pickle.loads(dumped)
        except Exception:
            error = message[1]
            dumped = _dumped(("error", Error(f"{type(error).__name__}: {error}")), self._persistent_id)
        _write(self._to, dumped)

    def _persistent_id(self, value: Any) -> Any:
        if type(value).__module__ != "sqluice._sqluice" or isinstance(value, BaseException):
            return None
        number = next(self._numbers)
        self._objects[number] = value
        return "object", number

    def _receive(self) -> Any:
        """Returns the next message, or None at the end."""
        message = None if self._has_ended else _read(self._from)
        loaded = ("end",) if message is None else _loaded(message, self._persistent_load)
        self._has_ended = loaded[0] == "end"
        return None if self._has_ended else loaded

    def _persistent_load(self, about: Any) -> Any:
        kind, *rest = about
        if kind == "object":
            return self._objects[rest[0]]
        if kind == "callable":
            return lambda *args: self._ask(rest[0], args)
        shape, names, number = rest
        blocks = self._blocks(number)
        if shape is None:
            batches = map(_sqluice.Packed, blocks)
            return next(batches), batches
        if shape == "columns":
            return shape, names, map(_unpacked, map(pickle.loads, blocks))
        return shape, names, itertools.chain.from_iterable(map(pickle.loads, blocks))

    def _blocks(self, number: int) -> Iterator[bytes]:
        while (block := self._ask(number, ())) is not None:
            yield block

    def _ask(self, number: int, args: tuple[Any, ...]) -> Any:
        """Calls a function of the parent, and returns its result."""
        self._send(("ask", number, args))
        # Before it returns, the function may itself call the compiled module.
        while (message := self._receive()) is not None and message[0] == "call":
            self._serve(*message[1:])
        if message is None or message[0] == "error":
            raise _Cancelled
        return message[1]


def _unpacked(chunk: Any) -> Any:
    if isinstance(chunk, tuple):
        return _sqluice.Packed(chunk[1])
    return [_sqluice.Packed(values) if kind == "arrow" else values if kind == "values" else memoryview(values).cast(kind) for kind, values in chunk]


def serve(pipes: list[str]) -> None:
    """Runs the child: serves calls of the parent, and ends the process."""
    for one in PUBLIC:
        # Exceptions are pickled by name, such as sqluice.InputError, so the child's empty module `sqluice` must have them.
        setattr(sys.modules["sqluice"], one.__name__, one)
    parent = os.getppid()
    if pipes:
        from_, to = open(int(pipes[0]), "rb"), open(int(pipes[1]), "wb", buffering=0)
    else:
        from_, to = open(os.dup(0), "rb"), open(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)

    def end_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    if os.name != "nt":
        # A background program may ignore SIGINT, and the child inherits that; here the signal must cancel the run.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        _Server(from_, to).run()
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    # The cleanup of the interpreter is skipped, because it takes a while.
    os._exit(0)
