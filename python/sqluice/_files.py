"""Files to load: paths, and objects that are read.

The content of a file object is copied into a temporary file with the name of the object, if it has one, because a table is named after its
file. Messages show the name of the object instead of the path.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import IO, Any, Protocol, runtime_checkable

from ._errors import Error, TargetError, UsageError, system_errors, wrong_type

_CHUNK = 1 << 20


@runtime_checkable
class Readable(Protocol):
    """A file object, such as those of `open`, `io.BytesIO` and `urllib.request.urlopen`."""

    def read(self, size: int = ..., /) -> str | bytes:
        """Returns the next bytes or characters; empty at the end."""


def given_files(files: Any) -> list[str | os.PathLike[str] | Readable]:
    """Returns the files as a list: the argument is one file, or an iterable of several."""
    if isinstance(files, (str, os.PathLike)) or hasattr(files, "read"):
        return [files]
    if isinstance(files, (bytes, bytearray, memoryview)):
        raise wrong_type("files must be paths or file objects, not the content of a file", hint="wrap the bytes: io.BytesIO(data)")
    if not isinstance(files, Iterable):
        raise wrong_type(f"files must be paths or file objects, not {type(files).__name__}")
    return list(files)


def _copying() -> AbstractContextManager[None]:
    return system_errors(TargetError, "cannot copy a file object to the folder for temporary files")


class Files:
    """Gives the paths of all files for the length of a `with`, and removes the temporary copies of file objects at its end."""

    def __init__(
        self,
        given: Sequence[str | os.PathLike[str] | Readable],
        table: str | Sequence[str] | None,
        encoding: str | None,
        temp_dir: str | os.PathLike[str] | None,
    ) -> None:
        self._given, self._table, self._encoding, self._temp_dir = given, table, encoding, temp_dir
        self._folder: str | None = None
        # The names that messages show instead of the paths of temporary copies.
        self._names: dict[str, str] = {}

    def __enter__(self) -> list[str]:
        try:
            return [self._path(file, number) for number, file in enumerate(self._given)]
        except BaseException:
            self._remove()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._remove()
        if isinstance(error, Error):
            error.message = self._named(error.message)
            error.hint = None if error.hint is None else self._named(error.hint)
            error.file = None if error.file is None else self._named(error.file)
            error.args = (error.message,)

    def _path(self, file: str | os.PathLike[str] | Readable, number: int) -> str:
        if isinstance(file, (str, os.PathLike)):
            return os.fspath(file)
        if not hasattr(file, "read"):
            raise wrong_type(f"files must be paths or file objects, not {type(file).__name__}")
        own = getattr(file, "name", None)
        name = os.path.basename(own) if isinstance(own, str) else ""
        if not name and not self._table:
            message = f"the {type(file).__name__} has no name, after which a table could be named"
            raise UsageError(message, hint='name it: table="NAME"')
        with _copying():
            if self._folder is None:
                self._folder = tempfile.mkdtemp(prefix="sqluice-", dir=self._temp_dir)
            folder = os.path.join(self._folder, str(number))
            os.mkdir(folder)
            path = os.path.join(folder, name or "data")
            self._names[path] = str(own) if name else f"<{type(file).__name__}>"
            copy = open(path, "xb")
        try:
            self._copy(file, copy)
        finally:
            with _copying():
                copy.close()
        return path

    def _copy(self, file: Readable, copy: IO[bytes]) -> None:
        while chunk := file.read(_CHUNK):
            if isinstance(chunk, str):
                if self._encoding is not None and self._encoding.lower() not in ("utf-8", "utf8"):
                    raise UsageError("a file object gives text, which is decoded already", hint="leave out encoding=, or open it in binary mode")
                chunk = chunk.encode("utf-8", "surrogatepass")
            elif not isinstance(chunk, (bytes, bytearray, memoryview)):
                raise wrong_type(f"the method read of a file object must return bytes or str, not {type(chunk).__name__}")
            with _copying():
                copy.write(chunk)

    def _named(self, text: str) -> str:
        for path, name in self._names.items():
            text = text.replace(path, name)
        return text

    def _remove(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
