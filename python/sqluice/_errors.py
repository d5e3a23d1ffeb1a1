"""Exceptions of the package.

```text
Error                  every failure
├── InputError         a value, a row, a file, a schema or a database that was read is wrong     (also a ValueError)
├── TargetError        the database can't be written: the table exists, it is in use, it is no database
├── UsageError         an argument is wrong                                                      (also a ValueError)
└── Interrupted        the run was asked to stop
```

An error that the operating system reports is also the `OSError` of its code: a `TargetError` of a full disk is an `OSError`, an `InputError`
of a missing file a `FileNotFoundError`. A `UsageError` about an argument of a wrong type is also a `TypeError`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any


def _letters(column: str | int | None) -> str:
    """Returns the letters of a column of a sheet, such as AA for 27; "row " if there is no column, so that a place reads "row 7"."""
    letters = ""
    left = column if isinstance(column, int) else 0
    while left > 0:
        left, letter = divmod(left - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters or "row "


class Error(Exception):
    """A failure; the database is as it was.

    Attributes that are not known are None.
    """

    kind: str = "target"
    """`input`, `target`, `usage` or `interrupted`: the class as a word."""
    message: str
    """The text of the error, without its place and its hint."""
    hint: str | None
    """A way to avoid the error."""
    file: str | None
    """The file that was read."""
    sheet: str | None
    """The sheet of a workbook that was read."""
    line: int | None
    """The line in the file, or the row of the sheet, counted from 1."""
    column: str | int | None
    """The column's name, or, in a file, the character in the line or the column of the sheet, counted from 1."""
    byte: int | None
    """The byte in the file, counted from 0."""
    table: str | None
    """The table whose row could not be stored."""
    row: int | None
    """The number of the row among those that were given, counted from 1."""
    parts: tuple[BaseException, ...]
    """The single errors, if this error sums up several."""

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        file: str | None = None,
        sheet: str | None = None,
        line: int | None = None,
        column: str | int | None = None,
        table: str | None = None,
        row: int | None = None,
        byte: int | None = None,
        parts: Sequence[BaseException] = (),
    ) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint
        self.file, self.sheet, self.line, self.column = file, sheet, line, column
        self.table, self.row, self.byte = table, row, byte
        self.parts = tuple(parts)

    def __str__(self) -> str:
        place = "" if self.file is None else f"{self.file}: "
        if self.file is not None and self.sheet is not None:
            cell = "" if self.line is None else f", {_letters(self.column)}{self.line}"
            place = f"{self.file}, sheet {self.sheet}{cell}: "
        elif self.file is not None and self.line is not None:
            column = f":{self.column}" if isinstance(self.column, int) else ""
            place = f"{self.file}:{self.line}{column}: "
        hint = "" if self.hint is None else f" (hint: {self.hint})"
        return f"{place}{self.message}{hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        # A class that `also_a` has made can't be found by its name, so an error of it is pickled by its two base classes.
        kind, also = getattr(type(self), "_made_of", (type(self), None))
        system = (self.errno, self.strerror, self.filename) if isinstance(self, OSError) else None
        return _again, (kind, also, self.args, self.__dict__, system)


class InputError(Error, ValueError):
    """A value, a row, a file, a schema or a database that was read is wrong."""

    kind = "input"


class TargetError(Error):
    """The database can't be written: the table exists already, another program uses the database, or the file is no database."""

    kind = "target"


class UsageError(Error, ValueError):
    """An argument is wrong, or contradicts another one."""

    kind = "usage"


class Interrupted(Error):
    """The run was asked to stop."""

    kind = "interrupted"


PUBLIC = (Error, InputError, TargetError, UsageError, Interrupted)

# Tracebacks show the module from which a class is imported.
for _public in PUBLIC:
    _public.__module__ = "sqluice"

_KINDS: dict[str, type[Error]] = {one.kind: one for one in (InputError, TargetError, UsageError, Interrupted)}


_MADE: dict[tuple[type[Error], type[Exception]], type[Error]] = {}


def also_a(kind: type[Error], also: type[Exception]) -> type[Error]:
    """Returns the class that is a subclass of both, and has the name of `kind`."""
    if (kind, also) in _MADE:
        return _MADE[kind, also]
    about = {"__module__": "sqluice", "__qualname__": kind.__name__, "__doc__": kind.__doc__, "_made_of": (kind, also)}
    made: type[Error] = type(kind.__name__, (kind, also), about)
    # If two threads make the class at the same time, both get the same class.
    return _MADE.setdefault((kind, also), made)


def _again(
    kind: type[Error],
    also: type[Exception] | None,
    args: tuple[Any, ...],
    state: dict[str, Any],
    system: tuple[Any, Any, Any] | None,
) -> Error:
    """Makes the error that `__reduce__` has pickled."""
    made = kind if also is None else also_a(kind, also)
    error = made(*args)
    error.__dict__.update(state)
    if system is not None and isinstance(error, OSError):
        error.errno, error.strerror, error.filename = system
    return error


def of_system(kind: type[Error], message: str, code: int, path: str | None = None, **about: Any) -> Error:
    """Returns an error that is also the `OSError` of this code."""
    error = also_a(kind, type(OSError(code, "")))(message, **about)
    assert isinstance(error, OSError)
    error.errno, error.strerror, error.filename = code, os.strerror(code), path
    return error


@contextmanager
def system_errors(kind: type[Error], message: str) -> Iterator[None]:
    """Raises an error of the operating system as one of the package. Other exceptions pass."""
    try:
        yield
    except Error:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise _again_as(kind, error, f"{message}: {reason}") from error


def _again_as(kind: type[Error], error: OSError, message: str, **about: Any) -> Error:
    path = error.filename if isinstance(error.filename, str) else None
    if error.errno is None:
        return also_a(kind, type(error))(message, **about)
    return of_system(kind, message, error.errno, path, **about)


# Packages whose exceptions `library_errors` converts; others are the caller's own.
_LIBRARIES = {"sqluice", "dask", "duckdb", "fsspec", "numpy", "pandas", "polars", "pyarrow", "pyspark", "ray"}


def _is_of_caller(trace: TracebackType | None) -> bool:
    """Returns True if a traceback passes through code of the caller, such as a generator that gives rows."""
    while trace is not None:
        package = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in _LIBRARIES and package not in sys.stdlib_module_names:
            return True
        trace = trace.tb_next
    return False


@contextmanager
def library_errors(message: str, kind: type[Error] = InputError, **about: Any) -> Iterator[None]:
    """Raises an exception of a library, such as pyarrow or pandas, as one of the package. Exceptions of the caller's own code pass."""
    try:
        yield
    except Error:
        raise
    except Exception as error:
        if error.__traceback__ is not None and _is_of_caller(error.__traceback__.tb_next):
            raise
        if isinstance(error, OSError):
            raise _again_as(kind, error, f"{message}: {error.strerror or error}", **about) from error
        raise kind(f"{message}: {error}", **about) from error


def wrong_type(message: str, hint: str | None = None) -> Error:
    """Returns a usage error that is also a `TypeError`."""
    return also_a(UsageError, TypeError)(message, hint=hint)


def of_engine(
    *,
    kind: str,
    message: str,
    hint: str | None = None,
    path: str | os.PathLike[str] | None = None,
    file: str | os.PathLike[str] | None = None,
    sheet: str | None = None,
    line: int | None = None,
    column: str | int | None = None,
    table: str | None = None,
    row: int | None = None,
    byte: int | None = None,
    parts: Sequence[BaseException] = (),
    causes: Sequence[str] = (),
    errno: int | None = None,
) -> Error:
    """Returns the exception for an error of the engine, whose texts name the parameters of the package."""
    about: dict[str, Any] = {
        "hint": hint,
        "file": os.fspath(file) if file and os.fspath(file) else None,
        "sheet": sheet,
        "line": line,
        "column": column,
        "table": table or None,
        "row": row,
        "byte": byte,
        "parts": parts,
    }
    if errno is not None:
        causes = [cause.removesuffix(f" (os error {errno})") for cause in causes]
    causes = [cause for cause in causes if cause not in message]
    message = ": ".join([message, *causes])
    if errno is not None:
        return of_system(_KINDS[kind], message, errno, os.fspath(path) if path else None, **about)
    return _KINDS[kind](message, **about)
