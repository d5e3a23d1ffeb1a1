from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqluice
from effort import tries
from hypothesis import HealthCheck, settings
from sqluice import _errors, _report

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile(
    "sqluice",
    database=None,
    deadline=None,
    derandomize="PROPTEST_RNG_SEED" in os.environ,
    max_examples=tries(20, 60, 2_000),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("sqluice")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "flags_in_data: values of the test look like flags of the command")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Turns skipped tests into failures in CI, where everything that tests need is installed."""
    if report.skipped and "CI" in os.environ:
        report.outcome = "failed"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@pytest.fixture(autouse=True)
def no_message_names_a_flag(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Asserts in all tests that errors and notes of reports name parameters of Python, and no flags of the command."""
    messages: list[str] = []
    init, of_engine = sqluice.Error.__init__, _errors.of_engine

    def made(self: sqluice.Error, *args: Any, **more: Any) -> None:
        init(self, *args, **more)
        messages.append(str(self))

    def of_the_engine(**about: Any) -> BaseException:
        error = of_engine(**about)
        messages.append(str(error))
        return error

    made_report = _report._made

    def from_json(kind: Any, value: Any) -> Any:
        if isinstance(value, dict):
            messages.extend(value.get("notes") or ())
            messages.extend(skipped["why"] for skipped in value.get("skipped") or ())
        return made_report(kind, value)

    monkeypatch.setattr(_report, "_made", from_json)
    monkeypatch.setattr(sqluice.Error, "__init__", made)
    monkeypatch.setattr(_errors, "of_engine", of_the_engine)
    yield
    if request.node.get_closest_marker("flags_in_data") is None:
        assert [message for message in messages if re.search(r"(?<![\w-])--[a-z]", message)] == []
