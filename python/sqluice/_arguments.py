"""Checks the arguments of public functions: types by the annotations, and ranges of numbers by the names of the parameters.

Every public function and method with parameters begins with `check_arguments(function, locals())`. Without it, the engine would report a wrong argument
only after it has read the files, and not in terms of Python. A test gives wrong arguments to every public function.
"""

from __future__ import annotations

import collections.abc
import functools
import math
import os
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from typing import Any, Literal

from ._errors import Error, UsageError, wrong_type

# The smallest and the largest value of integer parameters, unless `_RANGES` has others.
_NUMBERS = (0, 2**63 - 1)
_RANGES: dict[str, tuple[int, int]] = {
    "application_id": (-(2**31), 2**31 - 1),
    "first_rowid": (-(2**63), 2**63 - 1),
    "page_size": (0, 2**32 - 1),
    "part": (0, 2**32 - 1),
    "retries": (0, 2**32 - 1),
    "seed": (0, 2**64 - 1),
    "user_version": (-(2**31), 2**31 - 1),
}
_PAGE_SIZES = [1 << bits for bits in range(9, 17)]

# The largest number of seconds.
_SECONDS_MAX = 2**53


@functools.cache
def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(function)
    hints.pop("return", None)
    return hints


def check_arguments(function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raises a usage error if an argument has a type or a value that its parameter does not take.

    function: the function that was called. given: its arguments by name; other names are ignored.
    """
    for name, wanted in _annotations(function).items():
        if name in given:
            check_argument(name, given[name], wanted)


def check_argument(name: str, value: Any, wanted: Any) -> None:
    """Raises a usage error if an argument does not have the type `wanted`, or is out of range."""
    if not _fits(value, wanted):
        raise _wrong(name, value, wanted)
    if not _takes_anything(wanted):
        _check_value(name, value)
    if _takes_paths(wanted):
        for path in [value] if isinstance(value, (str, os.PathLike)) else value if isinstance(value, Sequence) else ():
            if isinstance(path, (str, os.PathLike)) and "\0" in os.fsdecode(path):
                raise UsageError(f"{name}: {os.fspath(path)!r} has a NUL character")


def _takes_anything(wanted: Any) -> bool:
    """Returns True if a parameter takes data of any type, whose values are not checked here."""
    return wanted is Any or isinstance(wanted, typing.TypeVar) or any(map(_takes_anything, typing.get_args(wanted)))


def _takes_paths(wanted: Any) -> bool:
    return (typing.get_origin(wanted) or wanted) is os.PathLike or any(map(_takes_paths, typing.get_args(wanted)))


def _wrong(name: str, value: Any, wanted: Any) -> Error:
    words = _words(wanted)
    if isinstance(value, str) and words and not _fits(value, _without_words(wanted)):
        return UsageError(f"{name}: {value!r} is not one of {_listed(words)}")
    return wrong_type(f"{name} must be {_listed(_named(wanted))}, not {_described(value)}")


def _check_value(name: str, value: Any) -> None:
    if isinstance(value, str):
        check_text(name, value)
    elif isinstance(value, os.PathLike):
        check_text(name, os.fsdecode(value))
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, float):
        _check_real(name, value)
    elif hasattr(type(value), "__index__") and not hasattr(value, "__len__"):
        _check_integer(name, value.__index__())
    elif isinstance(value, Mapping):
        for key, one in value.items():
            _check_value(name, key)
            _check_value(name, one)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for one in value:
            _check_value(name, one)


def check_text(name: str, text: str) -> None:
    """Raises a usage error if a text has half of a surrogate pair. Surrogates that stand for bytes of file names in Python are allowed."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise UsageError(f"{name}: {text!r} has half of a surrogate pair, and is no Unicode text") from None


def _check_integer(name: str, number: int) -> None:
    if name in _SECONDS:
        _check_real(name, number)
        return
    if name == "page_size" and number not in _PAGE_SIZES:
        raise UsageError(f"page_size={number} is not a power of two from 512 to 65536")
    low, high = _RANGES.get(name, _NUMBERS)
    if not low <= number <= high:
        limits = "0 or more" if number < low == 0 else f"from {low} to {high}"
        raise UsageError(f"{name}={number} is out of range: it must be {limits}")


_SECONDS = ("busy_limit", "busy_timeout", "timeout")


def _check_real(name: str, number: float) -> None:
    if name in _SECONDS and not 0 <= number <= _SECONDS_MAX:
        raise UsageError(f"{name}={number} is out of range: it must be a number of seconds, 0 or more")
    if name not in _SECONDS and not math.isfinite(number):
        raise UsageError(f"{name}={number} is not a finite number")


def _fits(value: Any, wanted: Any) -> bool:
    """Returns True if a value has the type that an annotation names."""
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if wanted is Any or wanted is object or isinstance(wanted, typing.TypeVar):
        return True
    if wanted is None or wanted is type(None):
        return value is None
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is Literal:
        return isinstance(value, str) and value in inner
    if wanted is bool:
        return isinstance(value, bool) or _is_of_numpy(value, "bool")
    if wanted is int:
        is_truth = isinstance(value, bool) or _is_of_numpy(value, "bool")
        return hasattr(type(value), "__index__") and getattr(value, "ndim", 0) == 0 and not is_truth
    if wanted is float:
        return isinstance(value, float) or _fits(value, int) or _is_of_numpy(value, "float")
    if origin is tuple:
        return isinstance(value, tuple) and _fit_in_order(value, inner)
    if origin is type:
        return value in inner
    if isinstance(origin, type) and issubclass(origin, collections.abc.Callable):  # type: ignore[arg-type]
        return callable(value)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(_fits(key, inner[0]) and _fits(one, inner[1]) for key, one in value.items())
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return _fits_all(value, inner[0], needs_size=issubclass(origin, Sized))
    plain = origin or wanted
    return isinstance(value, plain) if isinstance(plain, type) else True


def _fit_in_order(value: tuple[Any, ...], inner: tuple[Any, ...]) -> bool:
    if len(inner) == 2 and inner[1] is ...:
        return all(_fits(one, inner[0]) for one in value)
    return len(value) == len(inner) and all(map(_fits, value, inner))


def _fits_all(value: Any, inner: Any, *, needs_size: bool) -> bool:
    """Returns True if a value is an iterable of values of a type. The values of an iterable without a length are not checked, as they may be read
    only once."""
    if isinstance(value, (str, bytes, bytearray, memoryview, Mapping)) or not isinstance(value, Iterable):
        return False
    if isinstance(value, Sized):
        return all(_fits(one, inner) for one in value)
    return not needs_size


def _is_of_numpy(value: Any, kind: str) -> bool:
    return type(value).__module__ == "numpy" and type(value).__name__.startswith(kind)


def _words(wanted: Any) -> list[str]:
    """Returns the words that a parameter takes, if its annotation is a Literal or a union with one."""
    if typing.get_origin(wanted) is Literal:
        return list(typing.get_args(wanted))
    return [word for one in typing.get_args(wanted) for word in _words(one)] if _is_union(wanted) else []


def _without_words(wanted: Any) -> Any:
    others = [one for one in typing.get_args(wanted) if typing.get_origin(one) is not Literal] if _is_union(wanted) else []
    return typing.Union[tuple(others)] if others else None  # noqa: UP007


def _is_union(wanted: Any) -> bool:
    return typing.get_origin(wanted) in (typing.Union, types.UnionType)


def _named(wanted: Any) -> list[str]:
    """Returns the types that a parameter takes, in words for a message."""
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if _is_union(wanted):
        return list(dict.fromkeys(name for one in inner for name in _named(one)))
    if origin is Literal:
        return [repr(word) for word in inner]
    if wanted is None or wanted is type(None):
        return ["None"]
    if origin is type:
        return [f"the type {one.__name__}" for one in inner]
    if origin is tuple:
        return [f"a tuple ({', '.join(_listed(_named(one)) for one in inner)})"]
    if isinstance(origin, type) and issubclass(origin, collections.abc.Callable):  # type: ignore[arg-type]
        return ["a callable"]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return [f"a mapping from {_listed(_named(inner[0]))} to {_listed(_named(inner[1]))}"]
    if isinstance(origin, type) and issubclass(origin, Iterable):
        what = "a sequence" if issubclass(origin, Sequence) else "an iterable"
        return [f"{what} of {_listed(_named(inner[0]))}"]
    plain = origin or wanted
    if plain is os.PathLike:
        return ["a path"]
    if getattr(plain, "_is_protocol", False):
        return ["a file object"]
    return [getattr(plain, "__name__", str(plain))]


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


def _described(value: Any) -> str:
    """Returns the type of a value, and those of the values that it holds, in words for a message."""
    if value is None:
        return "None"
    name = type(value).__name__
    if isinstance(value, Mapping) and value:
        keys, values = ({_described(one) for one in part} for part in (value.keys(), value.values()))
        return f"{name} from {' and '.join(sorted(keys))} to {' and '.join(sorted(values))}"
    if isinstance(value, (list, tuple, set, frozenset)) and value:
        return f"{name} of {' and '.join(sorted({_described(one) for one in value}))}"
    return name
