"""Code blocks of the site: the button copies commands without prompts and output, and long lines wrap with a sign.

MkDocs calls the functions that begin with `on_`. Each line of a block becomes an element of its own, so that docs/assets/site.css can indent
the rest of a wrapped line and mark it. The class says how a line behaves:

    <span class="line">            wraps; the rest stands two characters further to the right
    <span class="line drawn">      a row of a table or of a drawing does not wrap, so its block scrolls sideways where the row is too wide

The theme copies the attribute `data-copy` of a block instead of its text.
"""

from __future__ import annotations

import doctest
import html
import re
from typing import Any

from blocks import steps

FENCE = re.compile(r"^( *```+)python\n(?= *>>> )", re.MULTILINE)
BLOCK = re.compile(r'<div class="([^"]*\bhighlight\b[^"]*)">((?:<span class="filename">.*?</span>)?)<pre><span></span><code>(.*?)</code></pre></div>', re.DOTALL)
TAG = re.compile(r"<[^>]+>")
# Characters that draw: boxes and arrows.
DRAWING = re.compile(r"[\u2190-\u21ff\u2500-\u257f]")
# A row of a table without lines has three columns or more.
COLUMNS = re.compile(r"\S {2,}\S+(?: \S+)* {2,}\S")
GAP = re.compile(r"\S {2,}\S")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page: examples of Python's prompt are highlighted as such."""
    return FENCE.sub(r"\1pycon\n", markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Called by MkDocs for the HTML of each page."""
    return BLOCK.sub(lambda found: block(found[1], found[2], found[3]), content)


def block(classes: str, filename: str, code: str) -> str:
    """Returns the HTML of a block."""
    text = html.unescape(TAG.sub("", code)).removesuffix("\n")
    lines = text.split("\n")
    language = next((name.removeprefix("language-") for name in classes.split() if name.startswith("language-")), "")
    if text.startswith(">>> "):
        # Blocks in docstrings name no language.
        language = "pycon"
    rows = "".join(
        f'<span class="line{" drawn" if is_drawn else ""}">{line}\n</span>'
        for line, is_drawn in zip(code.removesuffix("\n").split("\n"), drawn(lines, language), strict=True)
    )
    copied = html.escape(to_copy(text, language)).replace("\n", "&#10;")
    return f'<div class="{classes}" data-copy="{copied}">{filename}<pre><span></span><code>{rows}</code></pre></div>'


def to_copy(text: str, language: str) -> str:
    """Returns the text that the button copies: the commands of a console, the statements at a prompt of Python, or the whole text."""
    if language == "console":
        return "\n".join(step.command for step in steps(text.split("\n")))
    if language == "pycon":
        return "".join(example.source for example in doctest.DocTestParser().get_examples(text + "\n")).removesuffix("\n")
    return text


def drawn(lines: list[str], language: str) -> list[bool]:
    """Returns for each line True if it is part of a table or a drawing."""
    if language == "text" and any(DRAWING.search(line) for line in lines):
        return [True] * len(lines)
    if language not in ("console", "text"):
        return [bool(language == "pycon" and DRAWING.search(line)) for line in lines]
    typed = [line.startswith(("$ ", "> ")) for line in lines]
    found = [not is_typed and bool(DRAWING.search(line)) for line, is_typed in zip(lines, typed, strict=True)]
    # Rows around the line below a heading belong to the table.
    for order, before in ((range(1, len(lines)), -1), (range(len(lines) - 2, -1, -1), 1)):
        for at in order:
            found[at] |= found[at + before] and not typed[at] and bool(GAP.search(lines[at]))
    return [is_drawn or not is_typed and bool(COLUMNS.search(line)) for line, is_drawn, is_typed in zip(lines, found, typed, strict=True)]
