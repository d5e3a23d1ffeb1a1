"""The examples of the documents run as they stand."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
from pathlib import Path

import pytest

HERE = Path(__file__).parent.parent
PAGES = [HERE / "README.md", *sorted((HERE / "docs").glob("*.md"))]
OPTIONS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text()
    if "import pandas" in text and importlib.util.find_spec("pandas") is None:
        pytest.skip("pandas is not installed")
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert test.examples or "```python" not in text
    assert doctest.DocTestRunner(optionflags=OPTIONS).run(test).failed == 0


@pytest.mark.parametrize("module", ["sqluice", "sqluice._writer"])
def test_the_examples_of_the_code_run(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(module), optionflags=OPTIONS)
    assert result.attempted and not result.failed


def test_every_link_of_the_pages_leads_somewhere() -> None:
    import re

    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
