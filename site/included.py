"""Pages that are files of the repository: `<!-- include: CHANGELOG.md -->` stands for the text of that file.

Links of the file to pages of the site lead to these; other files of the repository are named, and not linked.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r"^<!-- include: (\S+) -->$", re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Called by MkDocs for each page."""
    here = (ROOT / "docs" / page.file.src_uri).parent
    return INCLUDE.sub(lambda found: included(ROOT / found[1], here), markdown)


def included(file: Path, here: Path) -> str:
    """Returns the text of a file, with its links changed for a page in the given folder."""

    def link(found: re.Match[str]) -> str:
        to = (file.parent / found[2]).resolve()
        if not to.is_relative_to(ROOT / "docs"):
            return found[1]
        return f"[{found[1]}]({os.path.relpath(to, here)}{found[3] or ''})"

    return LINK.sub(link, file.read_text())
