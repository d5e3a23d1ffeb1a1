"""Each example has a page, an excerpt of real data and a place in the index. test_pages.py runs the commands of all pages, also those of
examples, and compares their output.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pages
import pytest
from blocks import blocks, steps
from pages import EXAMPLES, PAGES, excerpt, run

INDEX = EXAMPLES / "README.md"
FOLDERS = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())
ROWS = ("publisher", "licence", "format", "excerpt", "rows of the whole")
EXCERPTS_BYTES_MAX = 100_000

examples = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def cells(row: str) -> list[str]:
    """Returns the cells of a row of a Markdown table."""
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def facts(page: Path) -> dict[str, str]:
    """Returns the table at the top of the page of an example."""
    rows = [cells(line) for line in page.read_text().splitlines() if line.startswith("| ")]
    return {row[0]: row[1] for row in rows if len(row) == 2 and row[0]}


def loads(page: Path) -> list[str]:
    """Returns the commands of a page that load the whole data set, and its excerpt."""
    commands = [step.command for block in blocks(page.read_text()) if block.language == "console" for step in steps(block.lines)]
    return [command.replace("\\\n", "") for command in commands if re.search(r"\bsqluice (?!export)", command)]


def flags(command: str) -> list[str]:
    """Returns a command from its first flag on."""
    words = command.split()
    return words[next((at for at, word in enumerate(words) if word.startswith("--")), len(words)) :]


def test_there_are_ten_examples_and_their_pages_are_run() -> None:
    assert len(FOLDERS) == 10
    assert {INDEX, *(folder / "README.md" for folder in FOLDERS)} <= set(PAGES)


def test_the_excerpts_have_less_than_100_kb_together() -> None:
    files = [file for folder in FOLDERS for file in folder.iterdir()]
    assert all(file.is_file() for file in files)
    assert sum(file.stat().st_size for file in files if file.name != "README.md") < EXCERPTS_BYTES_MAX


@examples
def test_a_page_names_publisher_licence_and_rows_and_has_a_query(folder: Path) -> None:
    page = folder / "README.md"
    found = facts(page)
    assert tuple(found) == ROWS
    assert "https://" in found["publisher"] and "https://" in page.read_text().split("## The whole data set")[1]
    titles = re.findall(r"^## (.*)$", page.read_text(), re.MULTILINE)
    assert titles == ["The whole data set", "The excerpt", "A query"]
    assert re.search(r"\bSELECT\b", page.read_text().split("## A query")[1])


@examples
def test_every_file_of_an_excerpt_is_loaded_by_the_command_of_its_page(folder: Path) -> None:
    assert excerpt(folder / "README.md")
    assert all(file.name in loads(folder / "README.md")[1].split() for file in excerpt(folder / "README.md"))


@examples
def test_the_commands_for_the_whole_data_set_and_the_excerpt_have_the_same_flags(folder: Path) -> None:
    whole, part = loads(folder / "README.md")
    assert flags(whole) == flags(part)


def test_the_index_lists_each_example_with_row_count_and_the_beginning_of_the_command() -> None:
    listed = [cells(line) for line in INDEX.read_text().splitlines() if line.startswith("| [")]
    assert [row[0].split("]")[0] for row in listed] == [f"[{folder.name}" for folder in FOLDERS]
    for folder, (data_set, _, rows, command) in zip(FOLDERS, listed, strict=True):
        page = folder / "README.md"
        assert f"({folder.name}/README.md)" in data_set
        counted = [int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d(?= (?:countries|regions))|^[\d,]*\d", facts(page)["rows of the whole"])]
        assert int(rows.replace(",", "")) == sum(counted)
        begin = command.strip("`").split("`")[0].removesuffix(" ...")
        assert begin in loads(page)[0], folder.name


def test_an_excerpt_with_another_number_of_rows_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied, folder = tmp_path / "examples", tmp_path / "run"
    shutil.copytree(EXAMPLES / "stations", copied / "stations")
    folder.mkdir()
    monkeypatch.setattr(pages, "EXAMPLES", copied)
    data = copied / "stations" / "data.ndjson"
    data.write_bytes(b"".join(data.read_bytes().splitlines(keepends=True)[:-1]))
    assert "Loaded 19 rows" in run(copied / "stations" / "README.md", folder).wrong[0]
