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
import re
from collections.abc import Sequence


class Error(Exception):
    """Something went wrong; the database is as it was.

    What is not known is None.
    """

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
    table: str | None
    """The table."""
    row: int | None
    """The row among those that were given, counted from 1."""

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
    ) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint
        self.file, self.line, self.column = file, line, column
        self.table, self.row = table, row

    def __str__(self) -> str:
        place = "" if self.file is None else f"{self.file}: "
        if self.file is not None and self.line is not None:
            column = f":{self.column}" if isinstance(self.column, int) else ""
            place = f"{self.file}:{self.line}{column}: "
        hint = "" if self.hint is None else f" (hint: {self.hint})"
        return f"{place}{self.message}{hint}"


class InputError(Error, ValueError):
    """What was read is not as it should be: a value, a row, a file, a schema, a database."""


class TargetError(Error):
    """The database can't be written: it has such a table already, it is in use, it is no database."""


class UsageError(Error, ValueError):
    """What was asked for makes no sense."""


class Interrupted(Error):
    """The run was asked to stop."""


_KINDS: dict[str, type[Error]] = {
    "input": InputError,
    "target": TargetError,
    "usage": UsageError,
    "interrupted": Interrupted,
}

# What the command calls otherwise.
_FLAGS = {
    "--append": 'if_exists="append"',
    "--replace-table": 'if_exists="replace"',
    "--upsert": 'if_exists="upsert"',
    "--overwrite": "overwrite=True",
    "--strict": "strict=True",
    "--without-rowid": "without_rowid=True",
    "--add-columns": "add_columns=True",
    "--lossy": "lossy=True",
    "--no-header": "header=False",
    "--full": "full=True",
    "--tree": "tree=True",
    "--type": "types=",
}


def _in_python(text: str) -> str:
    """The engine speaks of flags of the command; here they are arguments."""

    def argument(flag: re.Match[str]) -> str:
        name = flag.group()
        return _FLAGS.get(name) or name[2:].replace("-", "_") + "="

    return re.sub(r"(?<![\w-])--[a-z][a-z-]*[a-z]", argument, text)


def of_engine(
    *,
    kind: str,
    message: str,
    hint: str | None = None,
    file: str | os.PathLike[str] | None = None,
    line: int | None = None,
    column: str | int | None = None,
    byte: int | None = None,
    table: str | None = None,
    row: int | None = None,
    causes: Sequence[str] = (),
    errno: int | None = None,
) -> BaseException:
    """The exception for an error of the engine."""
    if errno is not None:
        said = re.fullmatch(r"cannot (?:read|open|make|write|look at|list) (.+)", message)
        named = os.fspath(file) if file else said and said.group(1)
        error = OSError(errno, os.strerror(errno)) if named is None else OSError(errno, os.strerror(errno), named)
        error.add_note(message)
        if hint:
            error.add_note(f"hint: {_in_python(hint)}")
        return error
    causes = [cause for cause in causes if cause not in message]
    message = ": ".join([_in_python(message), *causes])
    return _KINDS[kind](
        message,
        hint=None if hint is None else _in_python(hint),
        file=os.fspath(file) if file and os.fspath(file) else None,
        line=line,
        column=column,
        table=table or None,
        row=row,
    )
