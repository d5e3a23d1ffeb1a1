"""Makes bar charts of measured times from the tables of bench/README.md, so that a chart always agrees with its table.

    python site/charts.py            writes docs/images/how-fast.svg and docs/images/measured-*.svg
    python site/charts.py --check    says which would change, and changes nothing

A bar that is not of sqluice has another colour, and every bar has its label and its figure, so that no fact depends on colour alone.
"""

from __future__ import annotations

import html
import re
import sys
from dataclasses import dataclass, replace

from drawings import IMAGES, opened
from pages import ROOT

MEASURED = ROOT / "bench" / "README.md"

# Pixels.
WIDTH, MARGIN, LABEL, BAR, GAP, FIGURE = 480, 16, 18, 16, 12, 70
TITLE = 40
FIRST_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
# The `|` between two cells, with the spaces around it; `\|` is a character of a cell.
CELLS = re.compile(r" *(?<!\\)\| *")


@dataclass
class Bar:
    label: str
    seconds: float
    figure: str

    @property
    def ours(self) -> bool:
        return "sqluice" in self.label


@dataclass
class Chart:
    """A chart of a table. The beginnings of the first cell of its head, of its column and of its rows find the table.

    A row whose text needs the row above has other words here.
    """

    name: str
    title: str
    head: str
    rows: dict[str, str | None]
    column: str = "seconds"


CHARTS = [
    Chart(
        "measured-csv",
        "6 million rows of CSV into a table: seconds",
        "`lineitem` at scale 1: 6,001,215 rows, 766 MB of CSV",
        {"`sqlite3`, `.import`": None, "`sqluice load --schema`": None, "`sqluice load`, inferred": "sqluice load, types inferred, durable"},
    ),
    Chart(
        "measured-parquet",
        "6 million rows of Parquet into a table: seconds",
        "`lineitem` at scale 1: 6,001,215 rows, 211 MB of Parquet",
        {"`pyarrow.parquet.read_table`": None, "`sqluice load`": None},
    ),
    Chart(
        "measured-json",
        "600,121 rows of NDJSON into a table: seconds",
        "`lineitem` at scale 1: 600,121 rows, 218 MB of NDJSON",
        {"`sqlite-utils": None, "`serde_json`": None, "`sqluice load`": None},
    ),
    Chart(
        "measured-keys",
        "2.5 million random UUIDs into a WITHOUT ROWID table: seconds",
        "",
        {
            "the same with SQLite's defaults": "SQLite, prepared INSERT, its defaults",
            "SQLite's `INSERT` of the same, nothing durable": "SQLite, prepared INSERT, nothing durable, 200 MB of cache",
            "`sqluice load`, UUIDs": "sqluice load, durable",
        },
    ),
    Chart(
        "measured-files",
        "50,000 files of 8 to 12 kB into one file, and back: seconds",
        "",
        {
            "`sqlite3 -Ac`": None,
            "`cp -r`": None,
            "`sqluice pack`": "sqluice pack, durable",
            "`sqlite3 -Ax`": "sqlite3 -Ax: back",
            "`sqluice unpack`": "sqluice unpack: back",
        },
    ),
    Chart(
        "measured-shop",
        "A shop with 1 million orders, 3,110,000 rows: seconds",
        "",
        {
            "prepared `INSERT`s": "SQLite, INSERTs, as durable, foreign keys looked up",
            "the same, nothing durable, no foreign keys": "SQLite, INSERTs, nothing durable, no foreign keys looked up",
            "`sqluice generate --preset shop`": "sqluice generate --preset shop, durable",
        },
    ),
    Chart(
        "measured-python",
        "1 million tuples of Python into a table: seconds",
        "",
        {
            "`sqlite3`, `executemany`": "executemany of sqlite3, a list",
            "`sqluice.write`, a generator": "sqluice.write, a generator",
            "`sqluice.write`, a list": "sqluice.write, a list",
        },
    ),
]
# The jobs of the comparing chart: their labels, and the tables with their two figures.
PAIRS = [
    ("6 million rows, 766 MB of CSV", "measured-csv", "`sqluice load --schema`", "`sqlite3`, `.import`"),
    ("The same rows, 211 MB of Parquet", "measured-parquet", "`sqluice load`", "`pyarrow.parquet.read_table`"),
    ("600,121 rows, 218 MB of NDJSON", "measured-json", "`sqluice load`", "`sqlite-utils"),
    ("1 million tuples of Python", "measured-python", "`sqluice.write`, a list", "`sqlite3`, `executemany`"),
    ("50,000 files into one file", "measured-files", "`sqluice pack`", "`cp -r`"),
]


def tables(text: str) -> list[list[list[str]]]:
    """Returns the tables of a page: rows of cells, the head first."""
    found: list[list[list[str]]] = []
    inside = False
    for line in text.splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        if not inside:
            found.append([])
        inside = True
        found[-1].append(CELLS.split(line.strip())[1:-1])
    return [[rows[0], *rows[2:]] for rows in found]


def bars(chart: Chart, text: str) -> list[Bar]:
    """Returns the bars of a chart, from the only table that has its head and all of its rows."""
    found = []
    for head, *rows in tables(text):
        column = next((at for at, cell in enumerate(head) if at and cell.startswith(chart.column)), None)
        chosen = [[row for row in rows if row[0].startswith(label)] for label in chart.rows]
        if head[0].startswith(chart.head) and column is not None and all(chosen):
            labels = chart.rows.values()
            found.append([bar(some[0], column, label) for some, label in zip(chosen, labels, strict=True)])
    if len(found) != 1:
        raise ValueError(f"{chart.name}: {len(found)} tables of {MEASURED.relative_to(ROOT)} begin with {chart.head!r} and have the rows {list(chart.rows)}")
    return found[0]


def bar(row: list[str], column: int, label: str | None) -> Bar:
    """Returns the bar of a row. Its value is the first number of the cell, which is the median."""
    number = FIRST_NUMBER.search(row[column])
    if number is None:
        raise ValueError(f"{row[0]}: no number in {row[column]!r}")
    return Bar(label or plain(row[0]), float(number[0].replace(",", "")), f"{number[0]} s")


def plain(cell: str) -> str:
    """Returns the text of a cell without Markdown."""
    return cell.replace("`", "").replace("\\", "")


def drawn(bar: Bar, y: float, longest: float) -> list[str]:
    """Returns the SVG of a bar, with its label above and its value after it."""
    width = max(2.0, bar.seconds / longest * (WIDTH - 2 * MARGIN - FIGURE))
    return [
        f'  <text class="ink" x="{MARGIN}" y="{y + 12}">{html.escape(bar.label, quote=False)}</text>',
        f'  <rect class="{"ours" if bar.ours else "others"}" x="{MARGIN}" y="{y + LABEL}" width="{width:.1f}" height="{BAR}" rx="2"/>',
        f'  <text class="ink" x="{MARGIN + width + 8:.1f}" y="{y + LABEL + 13}">{bar.figure}</text>',
    ]


def picture(chart: Chart, text: str) -> str:
    """Returns the chart of a table, sorted by time."""
    found = sorted(bars(chart, text), key=lambda bar: bar.seconds)
    step = LABEL + BAR + GAP
    said = "; ".join(f"{bar.label}: {bar.figure}" for bar in found)
    lines = opened(f"{chart.title}. {said}", WIDTH, TITLE + step * len(found) + GAP, kind="chart")
    lines.append(f'  <text class="ink" x="{MARGIN}" y="27" font-size="14" font-weight="600">{chart.title}</text>')
    longest = max(bar.seconds for bar in found)
    for number, one in enumerate(found):
        lines += drawn(one, TITLE + step * number, longest)
    return "\n".join([*lines, "</svg>", ""])


def comparison(text: str) -> str:
    """Returns the chart of several jobs. Each has its own scale, on which the bar of the slower way has the full width."""
    charts = {chart.name: chart for chart in CHARTS}
    jobs = []
    for job, name, *labels in PAIRS:
        chart = charts[name]
        rows = {label: chart.rows[label] for label in labels}
        jobs.append((job, bars(replace(chart, rows=rows), text)))
    step = LABEL + BAR + 6
    height = 26 + 2 * step + GAP
    said = "; ".join(f"{job}: {', '.join(f'{bar.label} {bar.figure}' for bar in pair)}" for job, pair in jobs)
    lines = opened(f"Seconds for five jobs. {said}", WIDTH, GAP + height * len(jobs), kind="chart")
    for number, (job, pair) in enumerate(jobs):
        y = GAP + number * height
        lines.append(f'  <text class="ink" x="{MARGIN}" y="{y + 16}" font-size="14" font-weight="600">{job}</text>')
        for at, one in enumerate(pair):
            lines += drawn(one, y + 24 + step * at, max(bar.seconds for bar in pair))
    return "\n".join([*lines, "</svg>", ""])


def pictures(text: str) -> dict[str, str]:
    """Returns all charts by name, made from the page with the tables."""
    return {"how-fast": comparison(text), **{chart.name: picture(chart, text) for chart in CHARTS}}


def main(arguments: list[str]) -> int:
    changed = 0
    for name, drawing in pictures(MEASURED.read_text()).items():
        path = IMAGES / f"{name}.svg"
        if path.exists() and path.read_text() == drawing:
            continue
        changed += 1
        if arguments == ["--check"]:
            print(f"{path.relative_to(ROOT)} is not what {MEASURED.relative_to(ROOT)} says: run `tools/docs update`", file=sys.stderr)
        else:
            path.write_text(drawing)
            print(f"{path.relative_to(ROOT)}: written")
    return int(bool(changed and arguments == ["--check"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
