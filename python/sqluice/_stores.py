"""Stores: blobs by key, and entities by key and field."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar, overload

from ._errors import UsageError
from ._locks import used
from ._sqluice import Blobs, Entities, Kind
from ._write import Path

T = TypeVar("T")
Value = str | int | float | None


def _key(key: str | bytes) -> bytes:
    if isinstance(key, str):
        return key.encode("utf-8", "surrogateescape")
    if isinstance(key, bytes):
        return key
    raise TypeError(f"a key is str or bytes, not {type(key).__name__}")


class BlobStore(MutableMapping[str, bytes]):
    """Blobs by key in one database: the table `kv`, or an existing SQLite Archive (`sqlar`).

    A mapping whose changes are on the disk when they are made. Any number of threads may use it; a process that was forked opens its
    own. Keys are str, or bytes, which are compared; bytes of a key that are not UTF-8 are returned as `os.fsdecode` has them.
    """

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool = False,
        shared: bool = False,
        cache: int = 16 << 20,
        durability: Literal["full", "normal", "off"] = "full",
        journal: Literal["delete", "wal"] = "delete",
        page_size: int | None = None,
        busy_timeout: float = 5.0,
    ) -> None:
        """Opens the store, or makes it where nothing is.

        shared: nothing is locked between reads, for other processes that do not wait for locks. cache: bytes of pages that each reading
        thread keeps. durability: when a change counts as done. journal, page_size: of a new store.
        """
        self.path = os.fspath(path)
        options = {
            "read_only": read_only,
            "shared": shared,
            "cache": cache,
            "durability": durability,
            "journal": journal,
            "page_size": page_size,
            "busy_timeout": float(busy_timeout),
        }
        with used(path, busy_timeout):
            self._blobs = Blobs(self.path, options)
        self._process = os.getpid()

    def _here(self) -> Blobs:
        # Locks and connections do not go with a fork.
        if os.getpid() != self._process:
            raise UsageError("the store was opened by the process that this one was forked from", hint="open it anew")
        return self._blobs

    def __getitem__(self, key: str | bytes) -> bytes:
        blob = self._here().get(_key(key))
        if blob is None:
            raise KeyError(key)
        return blob

    def __setitem__(self, key: str | bytes, blob: bytes) -> None:
        self._here().put_many([(_key(key), bytes(blob))])

    def __delitem__(self, key: str | bytes) -> None:
        if not self._here().remove_many([_key(key)]):
            raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, (str, bytes)) and self._here().size(_key(key)) is not None

    def __len__(self) -> int:
        return self._here().count()

    def __iter__(self) -> Iterator[str]:
        """Keys, in the order of their bytes. What is written meanwhile may show up or not."""
        return (key for key, _ in self.pairs())

    def pairs(self) -> Iterator[tuple[str, bytes]]:
        """Keys and blobs, in the order of the keys' bytes, read a megabyte at a time."""
        after: bytes | None = None
        while page := self._here().page(after):
            for key, blob in page:
                yield key.decode("utf-8", "surrogateescape"), blob
            after = page[-1][0]

    def range(self, key: str | bytes, start: int, end: int) -> bytes:
        """Some bytes of a blob, as far as it has them, without reading the others."""
        found = self._here().range(_key(key), start, end)
        if found is None:
            raise KeyError(key)
        return found

    def size(self, key: str | bytes) -> int:
        """The length of a blob, without reading it."""
        found = self._here().size(_key(key))
        if found is None:
            raise KeyError(key)
        return found

    def put_many(self, blobs: Mapping[str, bytes] | Iterable[tuple[str | bytes, bytes]]) -> int:
        """Puts many in one transaction; all or none. Returns how many."""
        pairs = blobs.items() if isinstance(blobs, Mapping) else blobs
        return self._here().put_many([(_key(key), bytes(blob)) for key, blob in pairs])

    def remove_many(self, keys: Iterable[str | bytes]) -> int:
        """Removes many in one transaction; returns how many were there."""
        return self._here().remove_many([_key(key) for key in keys])

    def close(self) -> None:
        """Closes it; using it afterwards is an error."""
        self._blobs.close()

    def __enter__(self) -> BlobStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"BlobStore({self.path!r})"


@dataclass(frozen=True, slots=True)
class Filter:
    """What entities must be like: comparisons that all hold; `&` joins two."""

    comparisons: tuple[tuple[str, str, list[Value]], ...] = ()

    def __and__(self, other: Filter) -> Filter:
        return Filter(self.comparisons + other.comparisons)


@dataclass(frozen=True, slots=True)
class Field:
    """An indexed field, or the `key`, to be compared; see `field`."""

    name: str

    def _compared(self, operator: str, *values: Value) -> Filter:
        return Filter(((self.name, operator, list(values)),))

    def is_(self, value: Value) -> Filter:
        """The same; None: the key does not exist."""
        return self._compared("is", value)

    def is_not(self, value: Value) -> Filter:
        """Anything else, nothing included."""
        return self._compared("is not", value)

    def __lt__(self, value: Value) -> Filter:
        return self._compared("<", value)

    def __le__(self, value: Value) -> Filter:
        return self._compared("<=", value)

    def __gt__(self, value: Value) -> Filter:
        return self._compared(">", value)

    def __ge__(self, value: Value) -> Filter:
        return self._compared(">=", value)

    def one_of(self, values: Iterable[Value]) -> Filter:
        """One of several."""
        return self._compared("one of", *values)

    def prefix(self, prefix: str) -> Filter:
        """Text that begins so."""
        return self._compared("prefix", prefix)


def field(name: str) -> Field:
    """A field to compare: `field("age") >= 18`, `field("city").is_("Oslo")`."""
    return Field(name)


@dataclass(frozen=True, slots=True)
class Written:
    """What writing entities did."""

    new: int
    changed: int
    same: int
    """Those that were there as they are: nothing was written."""


class EntityStore:
    """Entities with indexed fields in one database: a table for each type, a column for each field, values as JSON.

    Any number of threads may read while one writes; a process that was forked opens its own.
    """

    def __init__(self, path: Path, *, durable: bool = True, busy_timeout: float = 5.0, cache: int = 16 << 20) -> None:
        """Opens the store, or makes it. durable: what is written outlives a loss of power. cache: bytes of pages of each connection."""
        self.path = os.fspath(path)
        with used(path, busy_timeout):
            self._store = Entities(self.path, durable, float(busy_timeout), cache)
        self._process = os.getpid()

    @overload
    def define(
        self,
        name: str,
        *,
        key: str,
        key_type: type[str] | type[int] = ...,
        index: Sequence[str] | Mapping[str, str] = ...,
        unique: Sequence[str] | Mapping[str, str] = ...,
    ) -> EntityType[dict[str, Any]]: ...

    @overload
    def define(
        self,
        name: str,
        *,
        key: str,
        key_type: type[str] | type[int] = ...,
        index: Sequence[str] | Mapping[str, str] = ...,
        unique: Sequence[str] | Mapping[str, str] = ...,
        to_json: Callable[[T], str],
        of_json: Callable[[str], T],
    ) -> EntityType[T]: ...

    def define(
        self,
        name: str,
        *,
        key: str,
        key_type: type[str] | type[int] = str,
        index: Sequence[str] | Mapping[str, str] = (),
        unique: Sequence[str] | Mapping[str, str] = (),
        to_json: Callable[[Any], str] | None = None,
        of_json: Callable[[str], Any] | None = None,
    ) -> EntityType[Any]:
        """The entities of a type, which are dicts, or what `to_json` and `of_json` make JSON of and take it for.

        key: the member that is the key. index, unique: fields to find them by: names of members, or names with JSON paths,
        `{"city": "$.home.city"}`. An existing type with other fields is made anew.
        """

        def fields(given: Sequence[str] | Mapping[str, str], is_unique: bool) -> list[tuple[str, str, bool]]:
            if isinstance(given, Mapping):
                return [(name, path, is_unique) for name, path in given.items()]
            return [(name, f"$.{json.dumps(name, ensure_ascii=False)}", is_unique) for name in ([given] if isinstance(given, str) else given)]

        kind = self._store.define(name, key, key_type is str, fields(unique, True) + fields(index, False))
        return EntityType(kind, self._process, to_json or _to_json, of_json or json.loads)

    def __repr__(self) -> str:
        return f"EntityStore({self.path!r})"


def _to_json(entity: Any) -> str:
    return json.dumps(entity, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class EntityType(Generic[T]):
    """The entities of a type in a store; `EntityStore.define` gives it."""

    def __init__(self, kind: Kind, process: int, to_json: Callable[[T], str], of_json: Callable[[str], T]) -> None:
        self._kind, self._process = kind, process
        self._to_json, self._of_json = to_json, of_json

    def _here(self) -> Kind:
        if os.getpid() != self._process:
            raise UsageError("the store was opened by the process that this one was forked from", hint="open it anew")
        return self._kind

    def write(self, *entities: T) -> Written:
        """Writes entities, all or none; those that have their keys are replaced."""
        return self.write_many(entities)

    def write_many(self, entities: Iterable[T]) -> Written:
        """The same for many: a thousand at a time are much faster than one by one."""
        return Written(*self._here().write_many([self._to_json(entity) for entity in entities]))

    def read(self, key: str | int) -> T | None:
        """An entity, or None."""
        return self.read_many([key])[0]

    def read_many(self, keys: Iterable[str | int]) -> list[T | None]:
        """Entities by many keys, in their order, None for missing ones."""
        return [None if text is None else self._of_json(text) for text in self._here().read_many(list(keys))]

    def query(
        self, filter: Filter = Filter(), *, order: str | Sequence[str] = (), limit: int | None = None, skip: int = 0
    ) -> list[T]:
        """Those that a filter finds. order: fields, or the `key`; `-age` descends."""
        fields = [order] if isinstance(order, str) else list(order)
        by = [(field.removeprefix("-"), field.startswith("-")) for field in fields]
        found = self._here().query(list(filter.comparisons), by, limit, skip)
        return [self._of_json(text) for text in found]

    def count(self, filter: Filter = Filter()) -> int:
        """How many there are."""
        return self._here().count(list(filter.comparisons))

    def delete(self, *keys: str | int) -> int:
        """Deletes entities by their keys; returns how many were there."""
        return self._here().delete_many(list(keys))

    def delete_where(self, filter: Filter) -> int:
        """Deletes those that a filter finds; returns how many."""
        return self._here().delete_where(list(filter.comparisons))
