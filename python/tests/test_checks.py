"""tools/checks runs a check only if the check is stale. A check is stale if the hash of its input files and its command is not the recorded
one, and fresh otherwise."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
# Replaces the checks of tools/checks. The check `pages` counts its runs, and fails if the file `broken` exists. The check `other` is never
# stale here.
TABLE = """CHECKS = {
    "pages": Check("pages are fine", "echo run >>runs; [ ! -e broken ]", ("pages", ":(exclude)pages/drafts", "tool")),
    "other": Check("another one", "true", ("elsewhere",)),
}
"""
NAMES = ["plain.md", "two words.md", "new\nline.md", "quote'\".md", "ünïcode.md", "-dash.md", "star*.md"]


def git(folder: Path, *arguments: str) -> str:
    name = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    return subprocess.run(["git", *name, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with tools/checks and a table of its own, in which all checks are fresh."""
    folder = tmp_path_factory.mktemp("pristine") / "repository"
    for name in ["pages/drafts", "tools", "elsewhere"]:
        (folder / name).mkdir(parents=True)
    text = (REPOSITORY / "tools/checks").read_text()
    script, replaced = re.subn(r"^CHECKS = \{\n.*?^\}\n", lambda _: TABLE, text, flags=re.MULTILINE | re.DOTALL)
    assert replaced == 1
    (folder / "tools/checks").write_text(script)
    (folder / "tools/checks").chmod(0o755)
    shutil.copy(REPOSITORY / "tools/step", folder / "tools/step")
    for name in NAMES:
        (folder / "pages" / name).write_text(f"text of {name}")
    (folder / "pages/drafts/draft.md").write_text("draft")
    (folder / "pages/link").symlink_to("plain.md")
    (folder / "tool").write_text("#!/bin/sh\n")
    (folder / "elsewhere/file").write_text("")
    (folder / ".gitignore").write_text("/target\n/runs\n/broken\n")
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "first")
    assert checks(folder, "run").returncode == 0
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "hashes")
    (folder / "runs").unlink()
    shutil.rmtree(folder / "target")
    return folder


@pytest.fixture
def repository(pristine: Path, tmp_path: Path) -> Path:
    """Returns a copy of the repository of these tests."""
    return shutil.copytree(pristine, tmp_path / "repository", symlinks=True)


def checks(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in ("CARGO_TARGET_DIR", "SQLUICE_STEPS")}
    return subprocess.run([folder / "tools/checks", *arguments], cwd=folder, env=environment, capture_output=True, text=True)


def runs(folder: Path) -> int:
    """Counts the runs of the check `pages`."""
    return (folder / "runs").read_text().count("run") if (folder / "runs").exists() else 0


def test_a_fresh_check_is_not_run_in_the_repository_or_a_clone_unless_requested(repository: Path) -> None:
    assert checks(repository, "test").returncode == 0
    git(repository, "clone", "--quiet", ".", "../clone")
    clone = repository.parent / "clone"
    assert checks(clone, "test").returncode == 0
    assert [runs(repository), runs(clone)] == [0, 0]
    assert checks(repository, "run", "--all", "pages").returncode == 0
    assert runs(repository) == 1
    assert git(repository, "status", "--porcelain") == ""


def test_a_changed_file_of_any_name_makes_a_check_stale(repository: Path) -> None:
    for name in NAMES:
        path = repository / "pages" / name
        before = path.read_bytes()
        path.write_bytes(before + b".")
        said = checks(repository, "list").stdout
        assert "pages: stale" in said and "other: fresh" in said, name
        path.write_bytes(before)
    assert "pages: fresh" in checks(repository, "list").stdout


def test_a_stale_check_runs_once_and_the_new_hash_of_the_inputs_is_written(repository: Path) -> None:
    path = repository / "pages/plain.md"
    before = path.read_bytes()
    path.write_bytes(before + b".")
    assert "commit .ci/checks/pages.sha256" in checks(repository, "run").stdout
    assert checks(repository, "run").returncode == 0
    assert runs(repository) == 1
    assert git(repository, "status", "--porcelain") == " M .ci/checks/pages.sha256\n M pages/plain.md\n"
    # The recorded hash is now that of the changed content, so the old content makes the check stale.
    path.write_bytes(before)
    assert "pages: stale" in checks(repository, "list").stdout


def test_changed_modes_links_and_removed_files_make_a_check_stale_and_excluded_files_do_not(repository: Path) -> None:
    def is_stale() -> bool:
        return "pages: stale" in checks(repository, "list").stdout

    (repository / "pages/drafts/draft.md").write_text("changed")
    (repository / "elsewhere/file").write_text("changed")
    (repository / "README.md").write_text("of nothing")
    assert not is_stale()
    (repository / "tool").chmod(0o755)
    assert is_stale()
    (repository / "tool").chmod(0o644)
    (repository / "pages/link").unlink()
    assert is_stale()
    (repository / "pages/link").symlink_to("two words.md")
    assert is_stale()
    (repository / "pages/link").unlink()
    (repository / "pages/link").symlink_to("plain.md")
    assert not is_stale()
    git(repository, "mv", "pages/plain.md", "pages/renamed.md")
    assert is_stale()


def test_a_recorded_hash_is_valid_after_the_commit(repository: Path) -> None:
    (repository / "pages/-dash.md").unlink()
    (repository / "pages/new.md").write_text("new")
    said = checks(repository, "run").stdout
    assert "pages/new.md' is not tracked" in said
    git(repository, "add", "--all")
    assert "pages: stale" in checks(repository, "list").stdout
    assert checks(repository, "run").returncode == 0
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "pages")
    git(repository, "clone", "--quiet", ".", "../clone")
    assert "pages: fresh" in checks(repository.parent / "clone", "list").stdout


def test_a_changed_command_makes_a_check_stale(repository: Path) -> None:
    script = repository / "tools/checks"
    script.write_text(script.read_text().replace("[ ! -e broken ]", "[ ! -e damaged ]"))
    assert "pages: stale" in checks(repository, "list").stdout


@pytest.mark.parametrize("mode", ["run", "test"])
def test_a_failing_check_fails_the_run_and_stays_stale(repository: Path, mode: str) -> None:
    (repository / "pages/plain.md").write_text("changed")
    (repository / "elsewhere/file").write_text("changed")
    (repository / "broken").touch()
    for attempt in [1, 2]:
        done = checks(repository, mode)
        assert done.returncode == 1
        assert "error: the check pages failed" in done.stderr and "error: 1 of 2 checks failed: pages" in done.stderr
        assert runs(repository) == attempt
    # The other checks have run.
    assert "other: fresh" in checks(repository, "list").stdout
    (repository / "broken").unlink()
    assert checks(repository, mode).returncode == 0
    assert "pages: fresh" in checks(repository, "list").stdout


def test_a_fresh_check_that_fails_when_run_on_request_becomes_stale(repository: Path) -> None:
    (repository / "pages/plain.md").write_text("changed")
    assert checks(repository, "test").returncode == 0
    (repository / "broken").touch()
    assert checks(repository, "run", "--all").returncode == 1
    assert "pages: stale" in checks(repository, "list").stdout
    assert git(repository, "status", "--porcelain") == " M pages/plain.md\n"


def test_a_check_that_passed_in_make_test_is_recorded_without_another_run(repository: Path) -> None:
    (repository / "pages/plain.md").write_text("changed")
    assert checks(repository, "test").returncode == 0
    assert git(repository, "status", "--porcelain") == " M pages/plain.md\n"
    assert checks(repository, "test").returncode == 0
    assert checks(repository, "run").returncode == 0
    assert runs(repository) == 1
    assert " M .ci/checks/pages.sha256\n" in git(repository, "status", "--porcelain")


def test_a_check_whose_inputs_change_during_the_run_stays_stale(repository: Path) -> None:
    script = repository / "tools/checks"
    script.write_text(script.read_text().replace("echo run >>runs;", "echo run >>runs; echo more >>pages/plain.md;"))
    assert "this pass does not count" in checks(repository, "run").stdout
    assert "pages: stale" in checks(repository, "list").stdout


def test_unknown_names_of_checks_and_inputs_without_files_are_errors(repository: Path) -> None:
    done = checks(repository, "run", "nothing")
    assert done.returncode == 2 and "no check is named nothing: there are pages, other" in done.stderr
    git(repository, "rm", "--quiet", "-r", "elsewhere")
    done = checks(repository, "list")
    assert done.returncode == 1 and "elsewhere" in done.stderr


def test_the_table_of_this_repository_names_files_that_exist() -> None:
    if not (REPOSITORY / ".git").exists():
        pytest.skip("this is no clone")
    done = subprocess.run([REPOSITORY / "tools/checks", "list"], capture_output=True, text=True, env=os.environ | {"LC_ALL": "C.UTF-8"})
    assert done.returncode == 0, done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["features", "rustdoc", "site", "install", "dependant", "distributed", "servers"]


def test_every_crate_with_features_is_an_input_of_the_check_named_features() -> None:
    table = (REPOSITORY / "tools/checks").read_text().partition('"features": Check(')[2].partition("),\n    ),")[0]
    for manifest in sorted(REPOSITORY.glob("crates/*/Cargo.toml")):
        if "\n[features]\n" in manifest.read_text():
            assert f'"crates/{manifest.parent.name}/src"' in table, manifest
