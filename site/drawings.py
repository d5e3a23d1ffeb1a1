"""Drawings in the light or dark scheme of the reader: on the site as its button says, elsewhere as the system prefers.

Each drawing of docs/images has the style below and names the parts by classes. An SVG within `<img>` does not know what the button chose, so the
site's pages contain the drawing itself. MkDocs calls the functions that begin with `on_`.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"

LIGHT = "--ground: #f7fafa; --frame: #b7c7c7; --ink: #1d2b2b; --line: #48605f; --paper: #ffffff; --tint: #e0f2f1; --strong: #b2dfdb; --ours: #00897b; --others: #a3b4b3"
DARK = "--ground: #182423; --frame: #3d5453; --ink: #e3eeed; --line: #9db8b6; --paper: #22312f; --tint: #1d4440; --strong: #2b665f; --ours: #4db6ac; --others: #5f7775"
BY_SYSTEM = f"@media (prefers-color-scheme: dark) {{ .drawing {{ {DARK} }} }}"
BY_BUTTON = f'[data-md-color-scheme="slate"] .drawing {{ {DARK} }}'
STYLE = f"""<style>
    .drawing {{ {LIGHT} }}
    {BY_SYSTEM}
    .drawing .ground {{ fill: var(--ground); stroke: var(--frame) }}
    .drawing .ink {{ fill: var(--ink) }}
    .drawing .line {{ stroke: var(--line) }}
    .drawing .tip {{ fill: var(--line) }}
    .drawing .paper {{ fill: var(--paper) }}
    .drawing .tint {{ fill: var(--tint) }}
    .drawing .strong {{ fill: var(--strong) }}
    .drawing .ours {{ fill: var(--ours) }}
    .drawing .others {{ fill: var(--others) }}
  </style>"""
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"

IMAGE = re.compile(r'<img alt="([^"]*)" src="(?:[^"]*/)?images/([\w-]+\.svg)" ?/?>')


def opened(title: str, width: int, height: int, *, kind: str) -> list[str]:
    """Returns the first lines of a drawing: its size, its style, and a framed background."""
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing {kind}" viewBox="0 0 {width} {height}" width="{width}" font-family="{FONT}" font-size="13" role="img">',
        f"  <title>{html.escape(title, quote=False)}</title>",
        f"  {STYLE}",
        f'  <rect class="ground" x="1" y="1" width="{width - 2}" height="{height - 2}" rx="10"/>',
    ]


def on_page_content(content: str, **_: Any) -> str:
    """Called by MkDocs for the HTML of each page."""
    return IMAGE.sub(lambda found: inlined(found[0], found[1], IMAGES / found[2]), content)


def inlined(image: str, description: str, file: Path) -> str:
    """Returns a drawing file as inline SVG with the description of its image. Other pictures stay images."""
    drawing = file.read_text().strip()
    if BY_SYSTEM not in drawing:
        return image
    drawing = re.sub(r"<title>.*?</title>", "", drawing, count=1)
    drawing = drawing.replace(' role="img"', f' role="img" aria-label="{description}"', 1)
    return re.sub(r"\n\s*", " ", drawing.replace(BY_SYSTEM, BY_BUTTON))
