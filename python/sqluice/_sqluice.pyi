from collections.abc import Callable, Sequence
from typing import Any

__version__: str
sqlite_version: str

_Tell = Callable[[str, int, int, int | None, int | None], None] | None

def write(
    target: str, make: Callable[[], Any], again: bool, table: dict[str, Any], write: dict[str, Any], progress: _Tell
) -> str: ...
def columns_of(target: str, table: str) -> list[str] | None: ...
def load(target: str, args: dict[str, Any], write: dict[str, Any], progress: _Tell) -> str: ...
def generate(target: str | None, args: dict[str, Any], write: dict[str, Any], progress: _Tell) -> str: ...
def index(target: str, statements: Sequence[str], write: dict[str, Any], progress: _Tell) -> str: ...
def check(target: str, full: bool, threads: int | None, progress: _Tell) -> str: ...
def pack(
    target: str,
    folder: str,
    kept_as: str,
    compress: bool,
    include: Sequence[str],
    exclude: Sequence[str],
    write: dict[str, Any],
    progress: _Tell,
) -> str: ...
def unpack(
    database: str,
    folder: str,
    kept_as: str,
    include: Sequence[str],
    exclude: Sequence[str],
    overwrite: bool,
    tree: bool,
    threads: int | None,
    progress: _Tell,
) -> str: ...
