from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Turns skipped tests into failures in CI, where everything that tests need is installed."""
    if report.skipped and "CI" in os.environ:
        report.outcome = "failed"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints how many blocks of the pages ran, and the others with the reasons."""
    from pages import counts, not_run

    left_out = not_run()
    terminalreporter.write_line("docs: " + ", ".join(f"{count} {what}" for what, count in counts().items()))
    terminalreporter.write_line(f"docs: {len(left_out)} blocks were not run:")
    for line in left_out:
        terminalreporter.write_line(f"  {line}")
