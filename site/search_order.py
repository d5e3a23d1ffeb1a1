"""The order of pages in the search: guides come before lists such as the reference.

MkDocs calls the functions that begin with `on_`.
"""

from __future__ import annotations

from typing import Any

# The factor of a page's score, by the beginning of the path of its file in docs. The first that fits counts.
BOOSTS = {
    "guides/from-": 2,
    "guides/": 8,
    "install.md": 8,
    "recipes.md": 4,
    "examples.md": 4,
    "python/": 4,
    "faq.md": 3,
    "troubleshooting.md": 2,
    "reference/python.md": 0.5,
    "reference/command/": 0.5,
    # Their words are those of all other pages.
    "measured.md": 0.02,
    "scale.md": 0.02,
    "changelog.md": 0.01,
}
# Words that many pages use, with the one page about them: the theme lists pages with such a tag first.
TAGS = {
    "python/rows-and-frames.md": ["Python"],
    "rust.md": ["Rust"],
}


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Called by MkDocs for each page."""
    source = page.file.src_uri
    boost = next((boost for begin, boost in BOOSTS.items() if source.startswith(begin)), 1)
    page.meta.setdefault("search", {"boost": boost})
    if source in TAGS:
        page.meta["tags"] = TAGS[source]
    return markdown
