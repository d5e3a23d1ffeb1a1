"""Docstrings for the site: parameters that a docstring explains one after another become a list.

A docstring of the package says `files: paths, ... delimiter: one character ...`, where each name is a parameter of the function.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

NAMED = re.compile(r"(?:^|(?<=\s))([a-z_]+(?:(?:, | and )[a-z_]+)*): ")


class Parameters(griffe.Extension):
    """Rewrites the docstrings of functions."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        if func.docstring is not None:
            func.docstring.value = listed(func.docstring.value, {parameter.name for parameter in func.parameters})


def listed(text: str, parameters: set[str]) -> str:
    """Returns the text with a list item for each parameter that it explains."""
    paragraphs = []
    for paragraph in text.split("\n\n"):
        parts, last = [], 0
        for found in NAMED.finditer(paragraph):
            names = re.split(r", | and ", found[1])
            # A name counts only at the beginning of a sentence.
            before = paragraph[: found.start()].rstrip()
            if set(names) <= parameters and (not before or before.endswith((".", ":"))):
                parts.append(paragraph[last : found.start()])
                parts.append(", ".join(f"`{name}`" for name in names))
                last = found.end()
        if not parts:
            paragraphs.append(paragraph)
            continue
        parts.append(paragraph[last:])
        if parts[0].strip():
            paragraphs.append(parts[0].strip())
        items = zip(parts[1::2], parts[2::2], strict=True)
        paragraphs.append("\n".join(f"* {names}: {' '.join(text.split())}" for names, text in items))
    return "\n\n".join(paragraphs)
