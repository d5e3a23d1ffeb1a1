"""The pages of the documentation, and the command line that runs and rewrites them."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from blocks import Block, Page, blocks, steps

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "python" / "README.md", *(ROOT / "docs").rglob("*.md")])


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def not_run() -> list[str]:
    """The blocks that cannot run here, each with its place and its reason."""
    found = []
    for page in PAGES:
        for block in blocks(page.read_text()):
            if block.not_run:
                found.append(f"{name(page)}:{block.start + 1}: {block.not_run}")
    return found


def counts() -> dict[str, int]:
    """How much of the pages runs."""
    total = {"pages": len(PAGES), "commands": 0, "Python blocks": 0, "Rust blocks": 0, "SQL blocks": 0, "files": 0}
    kinds = {"python": "Python blocks", "rust": "Rust blocks", "sql": "SQL blocks"}

    def count(block: Block) -> None:
        if block.title is not None:
            total["files"] += 1
        elif block.language == "console":
            total["commands"] += len(steps(block.lines))
        elif block.language in kinds:
            total[kinds[block.language]] += 1

    for page in PAGES:
        for block in blocks(page.read_text()):
            if not block.not_run:
                count(block)
    return total


def programs() -> list[Path]:
    """Where the command and this Python are found, for the commands of pages."""
    import os

    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
    return [target / "debug", Path(sys.executable).parent]


def run(page: Path, folder: Path) -> Page:
    """Runs a page in a folder."""
    running = Page(page, folder, programs())
    running.run()
    return running


def main(wanted: list[str]) -> int:
    """Rewrites the output that pages show, with that of a run: of all pages, or of those with one of these words in their name."""
    failed = False
    for page in PAGES:
        if wanted and not any(word in name(page) for word in wanted):
            continue
        with tempfile.TemporaryDirectory() as folder:
            running = run(page, Path(folder))
        running.rewrite()
        for wrong in running.wrong:
            print(wrong, file=sys.stderr)
        unchanged = len(running.wrong) - len(running.changes)
        failed |= unchanged > 0
        print(f"{name(page)}: {len(running.changes)} outputs rewritten, {unchanged} errors")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
