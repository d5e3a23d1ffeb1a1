"""The package and the command as people get them: from the repository, as a wheel, as a source distribution, by `cargo install`.

The check `install` of tools/checks runs these tests, in the profile for development: it is quicker to build.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

# The script that tries the installed package on an existing database.
TRIED = """
import sqlite3, sys
import sqluice
assert "site-packages" in sqluice.__file__, sqluice.__file__
db = sys.argv[1]
sqlite3.connect(db).execute("CREATE TABLE there (a)").connection.close()
report = sqluice.write(db, [(n, f"row {n}") for n in range(1000)], "t", columns=["a", "b"])
print(report.rows, report.tables[0].write_path, sqluice.check(db).sound)
"""


def run(*command: str | Path, cwd: Path = REPOSITORY) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"MATURIN_PEP517_ARGS": "--profile dev", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environment.setdefault("CARGO_TARGET_DIR", str(REPOSITORY / "target"))
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """Returns the interpreter of an environment with nothing but pip."""
    run(sys.executable, "-m", "venv", tmp_path / "an environment")
    return tmp_path / "an environment/bin/python"


def assert_works(python: Path, folder: Path) -> None:
    assert run(python, "-c", TRIED, folder / "x.db", cwd=folder).split() == ["1000", "pages", "True"]
    assert run(python.with_name("sqluice"), "--version").startswith("sqluice ")
    installed = {line.split("==")[0] for line in run(python, "-m", "pip", "list", "--format=freeze").splitlines()}
    assert installed <= {"pip", "setuptools", "sqluice"}


def test_pip_installs_the_repository_into_an_empty_environment(python: Path, tmp_path: Path) -> None:
    run(python, "-m", "pip", "install", "./python")
    assert_works(python, tmp_path)


def test_the_wheel_built_from_the_source_distribution_works(python: Path, tmp_path: Path) -> None:
    run("tools/wheel", "--profile", "dev", "--out", tmp_path / "wheels")
    (source,) = tmp_path.glob("wheels/sqluice-*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE-MIT", "LICENSE-APACHE", ".cargo/config.toml", "Cargo.lock", "sqluice/py.typed"} <= names
    (wheel,) = tmp_path.glob("wheels/sqluice-*.whl")
    assert "-abi3-" in wheel.name
    run(python, "-m", "pip", "install", "--no-index", wheel)
    assert_works(python, tmp_path)


def test_cargo_installs_the_command(tmp_path: Path) -> None:
    command = [os.environ.get("CARGO", "cargo"), "install", "--locked", "--debug", "--path", "crates/sqluice-cli", "--root", tmp_path]
    run(*command)
    (tmp_path / "in.csv").write_text("id,name\n1,Ann\n")
    run(tmp_path / "bin/sqluice", "load", tmp_path / "t.db", tmp_path / "in.csv")
    with closing(sqlite3.connect(tmp_path / "t.db")) as db:
        assert db.execute('SELECT * FROM "in"').fetchall() == [(1, "Ann")]
