"""Makes the picture of a terminal: the first commands of docs/index.md with the output that the page shows, as an SVG.

    python site/recording.py            writes docs/images/shop.svg

The page is run by the tests, so the picture shows a real run. It has a dark background of its own, and is legible on light and dark pages.
"""

from __future__ import annotations

import sys
import unicodedata
from xml.sax.saxutils import escape

from blocks import blocks
from pages import ROOT

PAGE = ROOT / "docs" / "index.md"
PICTURE = ROOT / "docs" / "images" / "shop.svg"

COLUMNS = 100
# Pixels of a character and of a line.
WIDTH, HEIGHT, MARGIN, BAR = 7.8, 19, 18, 34
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def folded(line: str) -> list[str]:
    """Returns a line as a terminal of 100 columns shows it."""
    rows = [""]
    width = 0
    for character in line:
        wide = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if width + wide > COLUMNS:
            rows.append("")
            width = 0
        rows[-1] += character
        width += wide
    return rows


def picture() -> str:
    """Returns the picture as SVG."""
    block = next(block for block in blocks(PAGE.read_text()) if block.language == "console")
    rows: list[tuple[bool, str]] = []
    for line in block.lines:
        typed = line.startswith("$ ")
        if typed and rows:
            rows.append((False, ""))
        rows += [(typed, row) for row in folded(line)]
    width = round(COLUMNS * WIDTH + 2 * MARGIN)
    height = BAR + len(rows) * HEIGHT + 2 * MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        "  <title>A terminal with a run of sqluice</title>",
        f'  <rect x="1" y="1" width="{width - 2}" height="{height - 2}" rx="10" fill="#10201f" stroke="#4d6b69"/>',
        *(f'  <circle cx="{22 + 20 * at}" cy="20" r="6" fill="{fill}"/>' for at, fill in enumerate(["#e06c60", "#e0b040", "#62b866"])),
        f'  <g font-family="{FONT}" font-size="13" fill="#d7e5e4" xml:space="preserve">',
    ]
    for number, (typed, row) in enumerate(rows):
        if not row:
            continue
        y = BAR + MARGIN + number * HEIGHT
        text = escape(row).replace(" ", "\u00a0")
        if typed and row.startswith("$ "):
            text = f'<tspan fill="#5cc8bd">$</tspan>{text[1:]}'
        colour = ' fill="#ffffff" font-weight="600"' if typed else ""
        # The length keeps columns aligned, whatever the font.
        lines.append(f'    <text x="{MARGIN}" y="{y}" textLength="{len(row) * WIDTH:.1f}" lengthAdjust="spacingAndGlyphs"{colour}>{text}</text>')
    return "\n".join([*lines, "  </g>", "</svg>", ""])


def main() -> int:
    PICTURE.parent.mkdir(exist_ok=True)
    if not PICTURE.exists() or PICTURE.read_text() != picture():
        PICTURE.write_text(picture())
        print(f"{PICTURE.relative_to(ROOT)}: written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
