"""Every command and code block of README and site runs and prints what the page shows."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import charts
import pytest
from blocks import Page, agree, blocks
from drawings import IMAGES, STYLE
from pages import EXAMPLES, PAGES, ROOT, name, not_run, run
from recording import PICTURE, picture

# The only reasons that a page may give for a block that is not run.
REASONS = ("needs a published release", "needs a container engine", "builds for minutes", "needs a network", "needs Ray", "needs Spark", "needs Dask", "runs for minutes", "needs a store", "the page of the example runs it")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_shows_what_its_commands_print(page: Path, tmp_path: Path) -> None:
    if ">>> import pandas" in page.read_text() and importlib.util.find_spec("pandas") is None:
        pytest.skip("pandas is not installed")
    wrong = run(page, tmp_path).wrong
    assert not wrong, "\n\n".join([*wrong, "`tools/docs update` rewrites the output that pages show."])


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_cargo_runs_all_pages_that_have_rust_blocks(page: Path) -> None:
    if any(block.language == "rust" for block in blocks(page.read_text())):
        assert f"/{name(page)}" in (ROOT / "crates/sqluice/src/guides.rs").read_text()


def test_a_block_that_is_not_run_names_one_of_the_known_reasons() -> None:
    others = [line for line in not_run() if not line.split(": ", 1)[1].startswith(REASONS)]
    assert not others


def test_the_reference_pages_match_what_the_command_prints() -> None:
    made = subprocess.run([sys.executable, ROOT / "site" / "reference.py", "--check"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


def test_the_picture_of_a_terminal_is_up_to_date() -> None:
    assert PICTURE.read_text() == picture(), "run `tools/docs update`"


def test_charts_are_up_to_date_with_the_tables_of_measurements() -> None:
    for chart, drawing in charts.pictures(charts.MEASURED.read_text()).items():
        assert (IMAGES / f"{chart}.svg").read_text() == drawing, f"{chart}: run `tools/docs update`"


def test_bars_of_a_chart_are_proportional_to_the_times_of_the_table() -> None:
    text = charts.MEASURED.read_text()
    cells = {cell.split(" ")[0] for table in charts.tables(text) for row in table for cell in row}
    for chart in charts.CHARTS:
        drawing = charts.picture(chart, text)
        widths = [float(width) for width in re.findall(r'<rect class="(?:ours|others)" [^>]*width="([\d.]+)"', drawing)]
        figures = re.findall(r">([\d.]+) s</text>", drawing)
        assert len(widths) == len(figures) == len(chart.rows)
        assert cells.issuperset(figures)
        for width, figure in zip(widths, figures, strict=True):
            # A bar has at least the width 2, so that it can be seen.
            assert width == pytest.approx(float(figure) / float(figures[-1]) * widths[-1], abs=0.1) or width == 2
        assert 'class="ours"' in drawing and 'class="others"' in drawing


def test_bars_of_a_chart_come_from_the_table_and_a_missing_table_is_an_error() -> None:
    table = "| job | seconds: median | memory |\n|---|---|---|\n| `sqluice load` | 0.50 (0.4..0.6) | 1 |\n| `other` | 1,000 | 2 |\n"
    chart = charts.Chart("x", "X", "job", {"`sqluice load`": None, "`other`": "the other"})
    assert [(bar.label, bar.seconds, bar.figure, bar.ours) for bar in charts.bars(chart, table)] == [("sqluice load", 0.5, "0.50 s", True), ("the other", 1000, "1,000 s", False)]
    for other in ["", table + "\n" + table, table.replace("`other`", "`another`"), table.replace("seconds", "minutes")]:
        with pytest.raises(ValueError, match="tables of bench/README.md"):
            charts.bars(chart, other)


def test_all_drawings_have_the_same_style() -> None:
    drawings = [path for path in IMAGES.glob("*.svg") if path != PICTURE]
    assert len(drawings) > 5
    for path in drawings:
        assert STYLE in path.read_text(), path.name


def test_relative_links_of_the_readmes_name_existing_files() -> None:
    for page in [ROOT / "README.md", ROOT / "python/README.md", *EXAMPLES.rglob("*.md")]:
        for target in re.findall(r"(?:\]\(|src=\")([^)#\"]+)", page.read_text()):
            assert target.startswith("https://") or (page.parent / target).exists(), f"{name(page)}: {target}"


def test_the_readme_has_fewer_than_200_lines() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 200


def page_of(tmp_path: Path, text: str) -> Page:
    path = tmp_path / "page.md"
    path.write_text(text)
    folder = tmp_path / "folder"
    folder.mkdir(exist_ok=True)
    page = Page(path, folder, [])
    page.run()
    return page


def test_another_output_than_the_page_shows_is_noticed_and_rewritten(tmp_path: Path) -> None:
    text = "# Page\n\n```console\n$ echo one\ntwo\n\n$ echo three in 0.2 s\nthree in 0.1 s\n```\n\n```python\n>>> 1 + 1\n3\n\n```\n"
    page = page_of(tmp_path, text)
    assert [wrong.split(":")[1] for wrong in page.wrong] == ["4", "12"]
    page.rewrite()
    assert page.path.read_text() == text.replace("\ntwo\n", "\none\n").replace("\n3\n", "\n2\n")
    assert page_of(tmp_path, page.path.read_text()).wrong == []


def test_a_command_that_fails_is_noticed_unless_the_page_says_so(tmp_path: Path) -> None:
    assert len(page_of(tmp_path, "```console\n$ false\n```\n").wrong) == 1
    assert len(page_of(tmp_path, "<!-- fails -->\n```console\n$ true\n```\n").wrong) == 1
    assert page_of(tmp_path, "<!-- fails -->\n```console\n$ true\n$ false\n```\n").wrong == []


def test_a_titled_block_of_a_page_becomes_a_file_for_the_commands(tmp_path: Path) -> None:
    text = 'Text:\n\n    ```csv title="a/x.csv"\n    id\n    1\n    ```\n\n```console\n$ cat a/x.csv |\n> tail -n 1\n1\n```\n'
    assert page_of(tmp_path, text).wrong == []


def test_wrong_sql_and_blocks_of_no_known_kind_are_noticed(tmp_path: Path) -> None:
    page = page_of(tmp_path, "```sql\nSELECT FROM;\n```\n\n```fortran\nEND\n```\n\n```python\nx = 1\n```\n")
    assert len(page.wrong) == 3


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("3 rows in 0.03 s (100 rows/s)", "3 rows in 1.2 ms (2.5 M rows/s)", True),
        ("3 rows in 0.03 s", "4 rows in 0.03 s", False),
        ("a  b", "a    b", True),
        ("a\n...\nz", "a\nb\nc\nz", True),
        ("a\n...\nz", "a\nb\nc", False),
        ("a\n...", "a\nb\nc", True),
        ("a\n...", "b\nc", False),
        ("", "a", False),
    ],
)
def test_outputs_agree_if_only_times_spaces_and_left_out_lines_differ(shown: str, printed: str, same: bool) -> None:
    assert agree(shown.splitlines(), printed.splitlines()) == same
