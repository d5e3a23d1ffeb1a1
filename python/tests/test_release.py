"""tools/release sets one version everywhere, and dates the changelog."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
CHANGELOG = """# Changelog

## [Unreleased]

### Added

* A thing.

## [0.0.1] - 2020-01-02

### Fixed

* Another thing.
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Returns a copy of this repository's files with a changelog for the test."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, check=True, capture_output=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        source, target = REPOSITORY / name, tmp_path / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
            target.chmod(source.stat().st_mode)
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    return tmp_path


def release(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([copy / "tools/release", *arguments], capture_output=True, text=True)


def unchanged(copy: Path) -> bool:
    return (copy / "CHANGELOG.md").read_text() == CHANGELOG and all(
        (copy / name).read_text() == (REPOSITORY / name).read_text() for name in ["Cargo.toml", "Cargo.lock"]
    )


def test_every_package_of_the_workspace_gets_the_version_and_no_other_crate_changes(copy: Path) -> None:
    done = release(copy, "7.8.9")
    assert done.returncode == 0, done.stderr
    # `--locked` fails if the lock file does not fit the manifests. Packages of other systems may have to be downloaded first.
    command = ["cargo", "metadata", "--format-version=1", "--locked"]
    metadata = json.loads(subprocess.run(command, cwd=copy, check=True, capture_output=True).stdout)
    own = [package for package in metadata["packages"] if package["source"] is None]
    assert len(own) > 10
    assert {package["version"] for package in own} == {"7.8.9"}
    required = [d for package in own for d in package["dependencies"] if d["name"].startswith("sqluice") and d["kind"] is None]
    assert {d["req"] for d in required} == {"^7.8.9"}

    def without_versions(lock: str) -> str:
        return re.sub(r'(name = "sqluice[a-z-]*"\nversion = )".*"', r"\1", lock)

    assert without_versions((copy / "Cargo.lock").read_text()) == without_versions((REPOSITORY / "Cargo.lock").read_text())


def test_unreleased_changes_get_a_date_and_released_changes_stay(copy: Path) -> None:
    assert release(copy, "7.8.9", "--date", "2031-02-03").returncode == 0
    expected = CHANGELOG.replace("## [Unreleased]\n", "## [Unreleased]\n\n## [7.8.9] - 2031-02-03\n")
    assert (copy / "CHANGELOG.md").read_text() == expected


def test_a_second_release_needs_a_change_and_a_later_version(copy: Path) -> None:
    assert release(copy, "7.8.9").returncode == 0
    assert "lists no change" in release(copy, "7.9.0").stderr
    changelog = copy / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("## [Unreleased]\n", "## [Unreleased]\n\n* More.\n", 1))
    assert "not later than 7.8.9" in release(copy, "7.8.9").stderr
    assert "not later than 7.8.9" in release(copy, "7.8.8").stderr
    assert release(copy, "7.10.0").returncode == 0


@pytest.mark.parametrize("version", ["1.2", "v9.0.0", "9.0.0-rc1", "09.0.0", "0.0.0"])
def test_an_invalid_or_earlier_version_is_refused_and_changes_no_file(copy: Path, version: str) -> None:
    done = release(copy, version)
    assert done.returncode != 0
    assert done.stderr.startswith("error: ")
    assert unchanged(copy)
