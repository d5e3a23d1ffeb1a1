"""Converts the arguments of public functions to the settings that the engine declares.

Each setting is declared once, in the engine. A public function has a parameter for each setting that is declared for the function, and hands all
of them over by `settings_of`. A test compares the signatures with the declarations.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from . import _sqluice

_declared = functools.cache(_sqluice.settings)


def settings_of(function: str, arguments: Mapping[str, Any], **instead: Any) -> dict[str, Any]:
    """Returns the settings of a function with their values; None stands for a setting that is not given.

    arguments: the arguments of the function by name; other names are ignored. instead: settings whose values the function has computed from its
    arguments.
    """
    settings: dict[str, Any] = {}
    for setting, parameter, word, _ in _declared(function):
        if setting in instead:
            value = instead[setting]
        elif word is None:
            value = arguments[parameter]
        else:
            value = True if arguments[parameter] == word else None
        settings[setting] = list(value.items()) if isinstance(value, Mapping) else value
    return settings
