"""What can go wrong.

```text
Error                  everything that is not the operating system's
├── InputError         what was read is not as it should be: a value, a row, a file, a schema, a database  (also a ValueError)
├── TargetError        the database can't be written: it has such a table, it is in use, it is no database
├── UsageError         what was asked for makes no sense                                                   (also a ValueError)
└── Interrupted        the run was asked to stop
OSError                the operating system says no: FileNotFoundError, PermissionError, ...
```
"""

from __future__ import annotations

import os
from collections.abc import Sequence


class Error(Exception):
    """Something went wrong; the database is as it was.

    What is not known is None.
    """

    kind: str = "target"
    """`input`, `target`, `usage` or `interrupted`, as the class says."""
    message: str
    """What happened."""
    hint: str | None
    """What to do about it."""
    file: str | None
    """The file that was read."""
    line: int | None
    """The line in it, counted from 1."""
    column: str | int | None
    """The column's name, or, in a file, the character in the line, counted from 1."""
    byte: int | None
    """The byte in the file, counted from 0."""
    table: str | None
    """The table."""
    row: int | None
    """The row among those that were given, counted from 1."""
    parts: tuple[BaseException, ...]
    """The errors that this one sums up."""

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        file: str | None = None,
        line: int | None = None,
        column: str | int | None = None,
        table: str | None = None,
        row: int | None = None,
        byte: int | None = None,
        parts: Sequence[BaseException] = (),
    ) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint
        self.file, self.line, self.column = file, line, column
        self.table, self.row, self.byte = table, row, byte
        self.parts = tuple(parts)

    def __str__(self) -> str:
        place = "" if self.file is None else f"{self.file}: "
        if self.file is not None and self.line is not None:
            column = f":{self.column}" if isinstance(self.column, int) else ""
            place = f"{self.file}:{self.line}{column}: "
        hint = "" if self.hint is None else f" (hint: {self.hint})"
        return f"{place}{self.message}{hint}"


class InputError(Error, ValueError):
    """What was read is not as it should be: a value, a row, a file, a schema, a database."""

    kind = "input"


class TargetError(Error):
    """The database can't be written: it has such a table already, it is in use, it is no database."""

    kind = "target"


class UsageError(Error, ValueError):
    """What was asked for makes no sense."""

    kind = "usage"


class Interrupted(Error):
    """The run was asked to stop."""

    kind = "interrupted"


_KINDS: dict[str, type[Error]] = {one.kind: one for one in (InputError, TargetError, UsageError, Interrupted)}


def of_engine(
    *,
    kind: str,
    message: str,
    hint: str | None = None,
    path: str | os.PathLike[str] | None = None,
    file: str | os.PathLike[str] | None = None,
    line: int | None = None,
    column: str | int | None = None,
    table: str | None = None,
    row: int | None = None,
    byte: int | None = None,
    parts: Sequence[BaseException] = (),
    causes: Sequence[str] = (),
    errno: int | None = None,
) -> BaseException:
    """The exception for an error of the engine, whose texts name the parameters of the package."""
    if errno is not None:
        error = OSError(errno, os.strerror(errno)) if not path else OSError(errno, os.strerror(errno), os.fspath(path))
        error.add_note(message)
        if hint:
            error.add_note(f"hint: {hint}")
        return error
    causes = [cause for cause in causes if cause not in message]
    return _KINDS[kind](
        ": ".join([message, *causes]),
        hint=hint,
        file=os.fspath(file) if file and os.fspath(file) else None,
        line=line,
        column=column,
        table=table or None,
        row=row,
        byte=byte,
        parts=parts,
    )
