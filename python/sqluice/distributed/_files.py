"""Operations on files that are named by a path or a URL.

URLs such as `s3://bucket/out.db` need the package fsspec. Databases for a URL are made on a local disk and then uploaded.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from .._errors import UsageError


def is_url(path: str) -> bool:
    """Returns True for a URL, except file://, which means a local path."""
    scheme, found, _ = path.partition("://")
    return bool(found) and scheme != "file"


def local(path: str) -> str:
    """Returns the local path of a path or a file:// URL."""
    return path.removeprefix("file://")


def _file_system(url: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        scheme = url.partition("://")[0]
        raise UsageError(f"{scheme}:// needs the package fsspec", hint="install fsspec, or name a path") from None
    found: tuple[Any, str] = fsspec.core.url_to_fs(url)
    return found


def _seen_anew(url: str) -> tuple[Any, str]:
    """Returns the file system of a URL, with its cache emptied, because other processes may have written to the store."""
    system, name = _file_system(url)
    system.invalidate_cache()
    return system, name


def join(folder: str, name: str) -> str:
    """Returns the path or URL of a file in a folder."""
    return f"{folder.rstrip('/')}/{name}" if is_url(folder) else os.path.join(local(folder), name)


def exists(path: str) -> bool:
    """Returns True if a file or folder of this name exists."""
    if not is_url(path):
        return os.path.lexists(local(path))
    system, name = _seen_anew(path)
    return bool(system.exists(name))


def listed(folder: str) -> list[str]:
    """Returns the sorted names in a folder; empty if the folder does not exist."""
    if not is_url(folder):
        return sorted(os.listdir(local(folder))) if os.path.isdir(local(folder)) else []
    system, name = _seen_anew(folder)
    if not system.exists(name):
        return []
    return sorted(entry.rstrip("/").rpartition("/")[2] for entry in system.ls(name, detail=False))


def make_folder(folder: str) -> None:
    """Makes a folder and those above it; for a URL does nothing, since object stores have no folders."""
    if not is_url(folder):
        os.makedirs(local(folder), exist_ok=True)


def remove(path: str) -> None:
    """Removes a file or a folder with all that it holds, if it exists."""
    if is_url(path):
        system, name = _file_system(path)
        if system.exists(name):
            system.rm(name, recursive=True)
    elif os.path.isdir(local(path)) and not os.path.islink(local(path)):
        shutil.rmtree(local(path), ignore_errors=True)
    else:
        try:
            os.remove(local(path))
        except FileNotFoundError:
            pass


def read_text(path: str) -> str | None:
    """Returns the text of a file; None if it does not exist."""
    try:
        if is_url(path):
            system, name = _file_system(path)
            text: str = system.read_text(name, encoding="utf-8")
            return text
        with open(local(path), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def write_text(path: str, text: str) -> None:
    """Writes a small file atomically: a reader sees the old file or the whole new one."""
    if is_url(path):
        system, name = _file_system(path)
        system.pipe_file(name, text.encode())
        return
    temporary = f"{local(path)}.tmp"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, local(path))


def sync(path: str) -> None:
    """Waits until a local file, or the names in a local folder, are on the disk."""
    if os.name == "nt":
        # Windows can't open folders, and the writers of files sync them.
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def made_locally(path: str) -> Iterator[str]:
    """Gives the path at which to make a file: `path`, or for a URL a temporary path, from which the file is uploaded at the end of the `with`."""
    if not is_url(path):
        yield local(path)
        return
    with TemporaryDirectory(prefix="sqluice-") as folder:
        file = os.path.join(folder, path.rpartition("/")[2])
        yield file
        if os.path.exists(file):
            system, name = _file_system(path)
            system.put_file(file, name)


@contextmanager
def held_locally(paths: list[str]) -> Iterator[list[str]]:
    """Gives local paths of all files for the length of a `with`. Files at URLs are fetched, and removed at the end."""
    with TemporaryDirectory(prefix="sqluice-") as folder:
        files = []
        for number, path in enumerate(paths):
            if is_url(path):
                system, name = _file_system(path)
                file = os.path.join(folder, f"{number}-{path.rpartition('/')[2]}")
                system.get_file(name, file)
                files.append(file)
            else:
                files.append(local(path))
        yield files


def move(source: str, target: str) -> None:
    """Moves a file. Between file systems, it is copied and then removed."""
    if not is_url(source) and not is_url(target):
        shutil.move(local(source), local(target))
        return
    with held_locally([source]) as [file], made_locally(target) as made:
        if file != made:
            shutil.copyfile(file, made)
    remove(source)
