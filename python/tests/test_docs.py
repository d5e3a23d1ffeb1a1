"""Runs the examples of docstrings. The examples of the pages are run by site/tests."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

OPTIONS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.mark.parametrize("module", ["sqluice", "sqluice._writer", "sqluice.polars", "adbc_driver_sqluice.dbapi"])
def test_the_examples_in_docstrings_print_what_they_show(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(module), optionflags=OPTIONS)
    assert result.attempted and not result.failed
