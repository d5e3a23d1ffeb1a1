"""`BlobStore`, a mapping from keys to bytes, and `EntityStore`, which keeps JSON objects and finds them by indexed fields."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar, overload

from ._arguments import check_arguments, check_text
from ._errors import InputError, UsageError, wrong_type
from ._open_files import used
from ._sqluice import Blobs, Kind
from ._write import Path

T = TypeVar("T")
Value = str | int | float | None


def _key(key: str | bytes) -> bytes:
    if isinstance(key, str):
        try:
            return key.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise UsageError(f"key: {key!r} has half of a surrogate pair, and is no Unicode text") from None
    if isinstance(key, bytes):
        return key
    raise wrong_type(f"key must be str or bytes, not {type(key).__name__}")


def _blob(blob: Any) -> bytes:
    if isinstance(blob, (bytes, bytearray, memoryview)):
        return bytes(blob)
    raise wrong_type(f"a blob must be bytes, not {type(blob).__name__}")


def _pair(pair: Any) -> tuple[bytes, bytes]:
    if not isinstance(pair, (tuple, list)):
        raise wrong_type(f"each item of blobs must be a pair of a key and a blob, not {type(pair).__name__}")
    if len(pair) != 2:
        raise wrong_type(f"each item of blobs must be a pair of a key and a blob, not a {type(pair).__name__} of length {len(pair)}")
    key, blob = pair
    return _key(key), _blob(blob)


class BlobStore(MutableMapping[str, bytes]):
    """Blobs by key in one database: the table `kv`, or an existing SQLite Archive (`sqlar`).

    The store is a mapping. A change is on the disk when the method returns. Any number of threads may use one store; a forked process must open a
    store of its own. Keys are str or bytes, and are compared by their bytes (UTF-8). Bytes that are not UTF-8 are returned as `os.fsdecode` returns
    them.
    """

    def __init__(
        self,
        db: Path,
        *,
        read_only: bool = False,
        shared: bool = False,
        cache: int = 16 << 20,
        durability: Literal["full", "normal", "off"] = "full",
        journal: Literal["delete", "wal"] = "delete",
        page_size: int | None = None,
        busy_timeout: float = 5.0,
    ) -> None:
        """Opens the store, or creates it.

        shared: no lock is held between reads, so that other processes can write meanwhile. cache: the bytes of pages that each reading thread caches.
        durability: the synchronous setting of SQLite, which decides if a change survives a power failure. journal, page_size: properties of a new
        store.
        """
        check_arguments(BlobStore.__init__, locals())
        self.db = os.fspath(db)
        options = {
            "read_only": read_only,
            "shared": shared,
            "cache": cache,
            "durability": durability,
            "journal": journal,
            "page_size": page_size,
            "busy_timeout": float(busy_timeout),
        }
        # The file counts as used as long as the store exists.
        self._used = used(db)
        self._blobs: Blobs = self._used.__enter__().Blobs(self.db, options)
        self._process = os.getpid()

    def _here(self) -> Blobs:
        # A forked process must not use the locks and connections of its parent.
        if os.getpid() != self._process:
            raise UsageError("the store was opened by the process that this one was forked from", hint="open a store in this process")
        return self._blobs

    def __getitem__(self, key: str | bytes) -> bytes:
        blob = self._here().get(_key(key))
        if blob is None:
            raise KeyError(key)
        return blob

    def __setitem__(self, key: str | bytes, blob: bytes) -> None:
        self._here().put_many([(_key(key), _blob(blob))])

    def __delitem__(self, key: str | bytes) -> None:
        if not self._here().remove_many([_key(key)]):
            raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, (str, bytes)) and self._here().size(_key(key)) is not None

    def __len__(self) -> int:
        return self._here().count()

    def __iter__(self) -> Iterator[str]:
        """Yields the keys, in the order of their bytes. Changes during the iteration may or may not be seen."""
        return (key for key, _ in self.pairs())

    def pairs(self) -> Iterator[tuple[str, bytes]]:
        """Yields pairs of a key and a blob, in the order of the keys' bytes, reading about a megabyte at a time."""
        after: bytes | None = None
        while page := self._here().page(after):
            for key, blob in page:
                yield key.decode("utf-8", "surrogateescape"), blob
            after = page[-1][0]

    def range(self, key: str | bytes, start: int, end: int) -> bytes:
        """Returns the bytes from `start` to `end` of a blob, or fewer if it is shorter, without reading the rest."""
        check_arguments(BlobStore.range, locals())
        found = self._here().range(_key(key), start, end)
        if found is None:
            raise KeyError(key)
        return found

    def size(self, key: str | bytes) -> int:
        """Returns the length of a blob, without reading it."""
        found = self._here().size(_key(key))
        if found is None:
            raise KeyError(key)
        return found

    def put_many(self, blobs: Mapping[str, bytes] | Iterable[tuple[str | bytes, bytes]]) -> int:
        """Writes blobs in one transaction, all or none. Returns the number of blobs."""
        pairs = blobs.items() if isinstance(blobs, Mapping) else _iterable("blobs", blobs)
        return self._here().put_many([_pair(pair) for pair in pairs])

    def remove_many(self, keys: Iterable[str | bytes]) -> int:
        """Removes the blobs with these keys in one transaction. Returns the number of blobs that existed."""
        return self._here().remove_many([_key(key) for key in _iterable("keys", keys)])

    def close(self) -> None:
        """Closes the store. Using it afterwards is an error."""
        self._blobs.close()

    def __enter__(self) -> BlobStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"BlobStore({self.db!r})"


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition for entities: comparisons that must all be true. `&` joins two filters."""

    comparisons: tuple[tuple[str, str, list[Value]], ...] = ()

    def __and__(self, other: Filter) -> Filter:
        return Filter(self.comparisons + other.comparisons)


@dataclass(frozen=True, slots=True)
class Field:
    """An indexed field, or the `key`, whose comparisons with values make filters; see `field`."""

    name: str

    def _compared(self, operator: str, *values: Value) -> Filter:
        for value in values:
            if value is not None and not isinstance(value, (str, int, float)):
                raise wrong_type(f"{self.name} is compared with str, int, float or None, not {type(value).__name__}")
            if isinstance(value, str):
                check_text("value", value)
        return Filter(((self.name, operator, list(values)),))

    def is_(self, value: Value) -> Filter:
        """Returns a filter that keeps entities whose field equals the value; None: entities without the field."""
        return self._compared("is", value)

    def is_not(self, value: Value) -> Filter:
        """Returns a filter that keeps entities whose field differs from the value, also entities without the field."""
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
        """Returns a filter that keeps entities whose field has one of the values."""
        return self._compared("one of", *_iterable("values", values))

    def prefix(self, prefix: str) -> Filter:
        """Returns a filter that keeps entities whose field is text that begins with the prefix."""
        if not isinstance(prefix, str):
            raise wrong_type(f"prefix must be str, not {type(prefix).__name__}")
        return self._compared("prefix", prefix)


def field(name: str) -> Field:
    """Returns a field to compare: `field("age") >= 18`, `field("city").is_("Oslo")`."""
    check_arguments(field, locals())
    return Field(name)


@dataclass(frozen=True, slots=True)
class Written:
    """The result of writing entities: how many were new, changed or unchanged."""

    new: int
    changed: int
    same: int
    """Entities that were stored with the same content already, and were not written again."""


class EntityStore:
    """Entities with indexed fields in one database: a table for each type, a column for each field, values as JSON.

    Any number of threads may read while one writes; a forked process must open a store of its own.
    """

    def __init__(self, db: Path, *, durable: bool = True, busy_timeout: float = 5.0, cache: int = 16 << 20) -> None:
        """Opens the store, or creates it. durable: written entities survive a power failure. cache: the bytes of pages that each connection caches."""
        check_arguments(EntityStore.__init__, locals())
        self.db = os.fspath(db)
        # The file counts as used as long as the store or one of its types exists.
        self._used = used(db)
        self._store = self._used.__enter__().Entities(self.db, durable, float(busy_timeout), cache)
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
        from_json: Callable[[str], T],
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
        from_json: Callable[[str], Any] | None = None,
    ) -> EntityType[Any]:
        """Declares the entities of a type. They are dicts; `to_json` and `from_json` convert objects of another class to JSON and back.

        key: the member that is the key. index, unique: the fields by which entities are found: names of members, or names with JSON paths,
        `{"city": "$.home.city"}`. If the type exists with other fields, its table is made again with these, and keeps its entities.
        """

        check_arguments(EntityStore.define, locals())

        def fields(given: Sequence[str] | Mapping[str, str], is_unique: bool) -> list[tuple[str, str, bool]]:
            if isinstance(given, Mapping):
                return [(name, path, is_unique) for name, path in given.items()]
            return [(name, f"$.{json.dumps(name, ensure_ascii=False)}", is_unique) for name in ([given] if isinstance(given, str) else given)]

        kind = self._store.define(name, key, key_type is str, fields(unique, True) + fields(index, False))
        return EntityType(kind, self._process, to_json or _to_json, from_json or json.loads, self._used)

    def __repr__(self) -> str:
        return f"EntityStore({self.db!r})"


def _to_json(entity: Any) -> str:
    try:
        return json.dumps(entity, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"an entity can't be converted to JSON: {error}", hint="to_json= converts entities of other classes") from error


def _iterable(name: str, values: Iterable[T]) -> Iterable[T]:
    """Refuses an argument that is not an iterable of several values."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise wrong_type(f"{name} must be an iterable, not {type(values).__name__}")
    return values


def _entity_keys(keys: Iterable[str | int]) -> list[str | int]:
    listed = list(_iterable("keys", keys))
    for key in listed:
        if isinstance(key, str):
            check_text("key", key)
        elif not isinstance(key, int):
            raise wrong_type(f"key must be str or int, not {type(key).__name__}")
    return listed


class EntityType(Generic[T]):
    """The entities of one type in a store. `EntityStore.define` returns it."""

    def __init__(
        self, kind: Kind, process: int, to_json: Callable[[T], str], from_json: Callable[[str], T], used: object = None
    ) -> None:
        self._kind, self._process, self._used = kind, process, used
        self._to_json, self._from_json = to_json, from_json

    def _here(self) -> Kind:
        if os.getpid() != self._process:
            raise UsageError("the store was opened by the process that this one was forked from", hint="open a store in this process")
        return self._kind

    def write(self, *entities: T) -> Written:
        """Writes entities, all or none. An existing entity with the same key is replaced."""
        return self.write_many(entities)

    def write_many(self, entities: Iterable[T]) -> Written:
        """Writes the entities of an iterable, all or none. One call with a thousand entities is much faster than a thousand calls."""
        return Written(*self._here().write_many([self._json_of(entity) for entity in _iterable("entities", entities)]))

    def _json_of(self, entity: T) -> str:
        text = self._to_json(entity)
        if not isinstance(text, str):
            raise wrong_type(f"to_json must return a str, not {type(text).__name__}")
        check_text("an entity", text)
        return text

    def read(self, key: str | int) -> T | None:
        """Returns the entity with this key, or None."""
        return self.read_many([key])[0]

    def read_many(self, keys: Iterable[str | int]) -> list[T | None]:
        """Returns the entities with these keys, in the order of the keys; None for a key that does not exist."""
        return [None if text is None else self._from_json(text) for text in self._here().read_many(_entity_keys(keys))]

    def query(
        self, filter: Filter = Filter(), *, order: str | Sequence[str] = (), limit: int | None = None, skip: int = 0
    ) -> list[T]:
        """Returns the entities that a filter finds. order: fields, or the `key`; `-age` descends."""
        check_arguments(EntityType.query, locals())
        fields = [order] if isinstance(order, str) else list(order)
        by = [(field.removeprefix("-"), field.startswith("-")) for field in fields]
        found = self._here().query(list(filter.comparisons), by, limit, skip)
        return [self._from_json(text) for text in found]

    def count(self, filter: Filter = Filter()) -> int:
        """Returns the number of entities that a filter finds."""
        check_arguments(EntityType.count, locals())
        return self._here().count(list(filter.comparisons))

    def delete(self, *keys: str | int) -> int:
        """Deletes the entities with these keys. Returns the number of entities that existed."""
        return self._here().delete_many(_entity_keys(keys))

    def delete_where(self, filter: Filter) -> int:
        """Deletes the entities that a filter finds. Returns their number."""
        check_arguments(EntityType.delete_where, locals())
        return self._here().delete_where(list(filter.comparisons))
