"""The servers of the tests. `tools/servers` starts them, and names their URLs in the environment."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python/tests"))

from server import MariaDb, Postgres, Server  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """In CI the servers are installed: a test that skips itself has failed."""
    if report.skipped and "CI" in os.environ:
        report.outcome = "failed"


@pytest.fixture(scope="session")
def server_dumps() -> ModuleType:
    """The module that makes random schemas, and starts servers."""
    loader = importlib.machinery.SourceFileLoader("server_dumps", str(ROOT / "tools/server-dumps"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module
    loader.exec_module(module)
    module.find_programs()
    return module


@pytest.fixture(scope="session")
def postgres() -> Postgres:
    if not os.environ.get("POSTGRES_URL"):
        pytest.skip("no PostgreSQL: POSTGRES_URL is not set; tools/servers sets it")
    return Postgres(os.environ["POSTGRES_URL"])


@pytest.fixture(scope="session")
def mariadb() -> MariaDb:
    if not os.environ.get("MARIADB_URL"):
        pytest.skip("no MariaDB: MARIADB_URL is not set; tools/servers sets it")
    return MariaDb(os.environ["MARIADB_URL"])


@pytest.fixture(params=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest) -> Server:
    """One of the servers: a test that takes this fixture runs with each of them."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Server)
    return found
