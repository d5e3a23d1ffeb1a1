"""The pages of the documentation, and the command line that runs and rewrites them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from blocks import Block, Page, blocks, steps

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
PAGES = sorted([ROOT / "README.md", ROOT / "python" / "README.md", *(ROOT / "docs").rglob("*.md"), *EXAMPLES.rglob("*.md")])


def target() -> Path:
    """Returns the folder in which cargo and the tools build."""
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def not_run() -> list[str]:
    """Returns the blocks that are not run, each with its place and its reason."""
    found = []
    for page in PAGES:
        for block in blocks(page.read_text()):
            if block.not_run:
                found.append(f"{name(page)}:{block.start + 1}: {block.not_run}")
    return found


def counts() -> dict[str, int]:
    """Returns the numbers of pages and of blocks of each kind."""
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
    """Returns the environment of the commands of pages, whose PATH has the command and this Python."""
    program = Path(os.environ.get("SQLUICE", target() / "debug" / "sqluice"))
    return [program.resolve().parent, Path(sys.executable).parent]


@contextmanager
def store() -> Iterator[dict[str, str]]:
    """Starts an S3 server with an empty bucket. Yields the environment variables to use it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = target() / "python" / "venv" / "bin" / "moto_server"
    process = subprocess.Popen([server, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(urllib.request.Request(f"{address}/bucket", method="PUT")).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        yield {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_ENDPOINT_URL": address,
            "AWS_REGION": "us-east-1",
            "AWS_SECRET_ACCESS_KEY": "secret",
        }
    finally:
        process.kill()
        process.wait()


def excerpt(page: Path) -> list[Path]:
    """Returns the data files in the folder of an example, which its commands use."""
    if page.parent.parent != EXAMPLES:
        return []
    return sorted(path for path in page.parent.iterdir() if path != page)


def run(page: Path, folder: Path, *, exact: bool = False) -> Page:
    """Runs a page in a folder: an example with copies of its data, and a page with URLs of a bucket with an S3 server."""
    for file in excerpt(page):
        shutil.copy(file, folder)
    commands = [block for block in blocks(page.read_text()) if block.language == "console" and not block.not_run]
    with ExitStack() as running:
        environment = running.enter_context(store()) if any("s3://bucket" in block.text for block in commands) else {}
        found = Page(page, folder, programs(), exact=exact)
        found.environment.update(environment)
        found.run()
    return found


def main(wanted: list[str]) -> int:
    """Rewrites the output that pages show, with that of a run: of all pages, or of those with one of these words in their name. With
    `--times`, output that differs in times alone is rewritten, too.
    """
    exact = "--times" in wanted
    wanted = [word for word in wanted if word != "--times"]
    failed = False
    for page in PAGES:
        if wanted and not any(word in name(page) for word in wanted):
            continue
        with tempfile.TemporaryDirectory() as folder:
            running = run(page, Path(folder), exact=exact)
        running.rewrite()
        for wrong in running.wrong:
            print(wrong, file=sys.stderr)
        unchanged = len(running.wrong) - len(running.changes)
        failed |= unchanged > 0
        print(f"{name(page)}: {len(running.changes)} outputs rewritten, {unchanged} errors")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
