"""Each public function has a parameter, with the same default, for each setting that the engine declares for the verb of that name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest
import sqluice
from sqluice import _sqluice

VERBS = {
    function.__name__: function
    for function in (
        sqluice.check,
        sqluice.copy,
        sqluice.export,
        sqluice.generate,
        sqluice.index,
        sqluice.load,
        sqluice.merge,
        sqluice.pack,
        sqluice.profile,
        sqluice.read,
        sqluice.recover,
        sqluice.unpack,
        sqluice.write,
    )
}

# Parameters of functions that are no settings: about rows of a program, and about tables that are written from them.
OWN = {
    "read": {"query", "part", "basis"},
    "write": {"primary_key", "index", "unique", "schema", "columns", "strict", "without_rowid", "index_label", "decimal", "timestamp"},
}
# Parameters that take words of their own for a setting of the command, and their defaults.
WORDS = {"if_exists": {"fail"}, "layout": {"auto", "sqlar"}, "compress": {False}}


def differences(verb: str, function: Callable[..., Any]) -> list[str]:
    """Returns the differences between a signature or docstring and the declared settings of a verb."""
    keywords = {name: one for name, one in inspect.signature(function).parameters.items() if one.kind is one.KEYWORD_ONLY}
    found = []
    declared = set()
    for setting, parameter, _, default in _sqluice.settings(verb):
        declared.add(parameter)
        if parameter not in keywords:
            found.append(f"{verb} has no parameter {parameter} for the setting {setting}")
            continue
        given = keywords[parameter].default
        if parameter in WORDS:
            is_default = given in WORDS[parameter]
        elif default is None:
            # A parameter for a setting without a default has no value, has no names, is a switch that is off, or is required.
            is_default = given in (None, (), False, inspect.Parameter.empty)
        else:
            is_default = given == default and not isinstance(given, bool)
        if not is_default:
            found.append(f"{verb}: the default of {parameter} is {given!r}, and declared is {default!r}")
    more = set(keywords) - declared - OWN.get(verb, set()) - {"progress"}
    found += [f"{verb} has a parameter {parameter}, and no such setting is declared" for parameter in sorted(more)]
    return found


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_each_function_has_a_parameter_with_the_default_of_each_declared_setting(verb: str) -> None:
    assert differences(verb, VERBS[verb]) == []


def undocumented(verb: str, function: Callable[..., Any]) -> list[str]:
    """Returns the settings that neither the docstring of a function explains, nor those of `write` and `read`, to which others refer.

    A part of a compound explains nothing: "full-text" is not about `full`.
    """
    explained = " ".join(one.__doc__ or "" for one in (function, sqluice.write, sqluice.read))
    return [parameter for _, parameter, _, _ in _sqluice.settings(verb) if not re.search(rf"(?<![\w-]){parameter}(?![\w-])", explained)]


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_parameter_that_sets_a_setting_is_documented(verb: str) -> None:
    assert undocumented(verb, VERBS[verb]) == []


def test_missing_extra_and_undocumented_parameters_are_found() -> None:
    def without_threads(db: str, *, full: bool = False) -> None: ...

    def with_more(db: str, *, full: bool = False, threads: int | None = None, depth: int = 3) -> None: ...

    def with_another_default(db: str, *, full: bool = True, threads: int | None = None) -> None: ...

    assert differences("check", without_threads) == ["check has no parameter threads for the setting threads"]
    assert differences("check", with_more) == ["check has a parameter depth, and no such setting is declared"]
    assert differences("check", with_another_default) == ["check: the default of full is True, and declared is None"]
    assert undocumented("check", without_threads) == ["full"]
