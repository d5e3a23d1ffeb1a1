"""Code blocks of the documents: found, run, compared with what the page shows, and rewritten.

A page is run from top to bottom in a folder of its own:

* `console`: lines that begin with `$ ` are commands, `> ` continues one, and the lines below are the output. Output and errors count.
* `python`: lines that begin with `>>> `, as in Python's doctest. All blocks of a page share their names.
* a block with `title="NAME"` is a file that the commands below it use.
* `rust`: compiled and run by `cargo test --doc`, which reads the page; here it is only counted.
* `sql` without a title: statements that SQLite must accept.
* `text`: a drawing or a list. It is not run.

Comments in a page, which readers do not see:

    <!-- not run: REASON -->      the next block cannot run on a machine for tests
    <!-- fails -->                the last command of the next block ends with an error
    <!-- before                   commands that prepare what the page assumes
    $ COMMAND
    -->
"""

from __future__ import annotations

import doctest
import os
import re
import sqlite3
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

OPTIONS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
SECONDS_MAX = 120

FENCE = re.compile(r"^(?P<indent> *)(?P<fence>```+)(?P<language>\w*)(?P<rest>.*)$")
TITLE = re.compile(r'title="([^"]+)"')
NOT_RUN = re.compile(r"^ *<!-- not run: (.+) -->$")
FAILS = re.compile(r"^ *<!-- fails -->$")


@dataclass
class Block:
    """A block of a page: the lines between two fences, or of a comment."""

    language: str
    lines: list[str]
    # The line number of the first line of the block in the page, counted from 0.
    start: int
    indent: int = 0
    title: str | None = None
    not_run: str | None = None
    fails: bool = False

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)


@dataclass
class Step:
    """A command and the output that the page shows below it."""

    command: str
    shown: list[str] = field(default_factory=list)
    # The line within the block at which the output begins.
    start: int = 0


def blocks(text: str) -> list[Block]:
    """Returns all blocks of a page, in order."""
    found: list[Block] = []
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        if line.strip() == "<!-- before":
            end = lines.index("-->", number)
            found.append(Block("before", lines[number + 1 : end], number + 1))
            number = end + 1
            continue
        fence = FENCE.match(line)
        if fence is None:
            number += 1
            continue
        indent = len(fence["indent"])
        end = number + 1
        while lines[end].strip() != fence["fence"]:
            end += 1
        title = TITLE.search(fence["rest"])
        above = lines[number - 1] if number else ""
        not_run = NOT_RUN.match(above)
        body = [line[indent:] for line in lines[number + 1 : end]]
        block = Block(fence["language"], body, number + 1, indent, title and title[1])
        block.not_run, block.fails = not_run and not_run[1], bool(FAILS.match(above))
        found.append(block)
        number = end + 1
    return found


def steps(lines: list[str]) -> list[Step]:
    """Returns the commands of a block, each with the output below it."""
    found: list[Step] = []
    for number, line in enumerate(lines):
        if line.startswith("$ "):
            found.append(Step(line[2:], start=number + 1))
        elif line.startswith("> ") and found and not found[-1].shown:
            found[-1].command += "\n" + line[2:]
            found[-1].start = number + 1
        elif found:
            found[-1].shown.append(line)
        else:
            raise ValueError(f"output without a command: {line}")
    for step in found:
        # An empty line separates two commands.
        while step.shown and not step.shown[-1]:
            step.shown.pop()
    return found


# Patterns of output that differs between runs of the same command, or between machines.
VARIES = [
    (re.compile(r"\b\d[\d,.]*( ?[kKMGT])? ?(rows|entries|files|[kMGT]?i?B|pages)/s"), "RATE"),
    (re.compile(r"\b\d[\d.]*( million| thousand)? (rows|entries|files) (a|per) second"), "RATE"),
    (re.compile(r"\b\d[\d.]* ?(ns|µs|us|ms|s|min|seconds?)\b"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? of \d+ cores|\b\d+ (threads|workers|cores)\b"), "THREADS"),
    (re.compile(r"\b(THREADS|\d+) and a writer, \d+ bytes of buffers"), "THREADS"),
    (re.compile(r"\bchecksum [0-9a-f]{16}"), "CHECKSUM"),
    (re.compile(r"\bSQLite 3\.\d+\.\d+|sqluice \d+\.\d+\.\d+"), "VERSION"),
    (re.compile(r"\b(before|after|at|on) 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d"), "MOMENT"),
]


def normalized(lines: list[str]) -> list[str]:
    """Returns lines without what varies: times, rates, cores, and the width of columns."""
    result = []
    for line in lines:
        for pattern, word in VARIES:
            line = pattern.sub(word, line)
        result.append(" ".join(line.split()))
    while result and not result[-1]:
        result.pop()
    return result


def agree(shown: list[str], printed: list[str]) -> bool:
    """Returns True if the page shows the printed lines. A line `...` of the page stands for any lines."""
    shown, printed = normalized(shown), normalized(printed)
    if "..." not in shown:
        return shown == printed
    parts, rest = "\n".join(shown).split("\n...\n"), "\n".join(printed)
    pattern = "(?s)" + r"\n.*\n?".join(re.escape(part) for part in parts)
    pattern = pattern.removesuffix(re.escape("\n...")) + (r"(\n.*)?" if shown[-1] == "..." else "")
    return re.fullmatch(pattern, rest) is not None


def shortened(shown: list[str], printed: list[str]) -> list[str]:
    """Returns the printed lines, with a `...` where the page had one."""
    if "..." not in shown or len(printed) <= len(shown):
        return printed
    at = shown.index("...")
    after = len(shown) - at - 1
    return [*printed[:at], "...", *printed[len(printed) - after :]]


class Page:
    """A page that runs in a folder."""

    def __init__(self, path: Path, folder: Path, programs: list[Path], *, exact: bool = False) -> None:
        self.path = path
        # True if times are compared, too.
        self.exact = exact
        self.folder = folder
        self.lines = path.read_text().splitlines()
        self.wrong: list[str] = []
        self.names: dict[str, object] = {}
        # Replacements of lines: first line, end, new lines.
        self.changes: list[tuple[int, int, list[str]]] = []
        self.environment = os.environ | {
            "PATH": os.pathsep.join([*map(str, programs), os.environ["PATH"]]),
            "COLUMNS": "100",
            "LC_ALL": "C.UTF-8",
            "NO_COLOR": "1",
            "TZ": "UTC",
        }
        self.environment.pop("CLICOLOR_FORCE", None)

    def run(self) -> None:
        """Runs all blocks, and notes what differs from the page."""
        for block in blocks(self.path.read_text()):
            if block.not_run:
                continue
            if block.title is not None:
                target = self.folder / block.title
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(block.text)
            elif block.language in ("rust", "text"):
                continue
            elif block.language in ("console", "before"):
                self.run_commands(block)
            elif block.language == "python":
                self.run_python(block)
            elif block.language == "sql":
                self.run_sql(block)
            else:
                self.wrong.append(f"{self.place(block.start)}: no way to run a block of {block.language or 'no language'}")

    def place(self, line: int) -> str:
        return f"{self.path.name}:{line + 1}"

    def run_commands(self, block: Block) -> None:
        found = steps(block.lines)
        for step in found:
            ran = subprocess.run(
                ["bash", "-c", step.command],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=SECONDS_MAX,
            )
            printed = ran.stdout.rstrip("\n").splitlines()
            fails = block.fails and step is found[-1]
            place = self.place(block.start + step.start - 1)
            # 127: the shell has not found the program.
            if (ran.returncode != 0) != fails or ran.returncode == 127:
                said = "\n".join(printed)
                self.wrong.append(f"{place}: `{step.command}` ended with {ran.returncode}:\n{said}")
            elif block.language == "console" and not self.shows(step, printed):
                self.wrong.append(f"{place}: `{step.command}` printed:\n" + "\n".join(printed))
                first = block.start + step.start
                new = [line.rstrip() for line in shortened(step.shown, printed)]
                self.change(first, first + len(step.shown), new, block.indent)

    def shows(self, step: Step, printed: list[str]) -> bool:
        """Returns True if the page shows the output of a command."""
        return agree(step.shown, printed) and not (self.exact and shortened(step.shown, printed) != step.shown)

    def run_python(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(block.text + "\n", {}, self.path.name, str(self.path), block.start)
        if not test.examples:
            self.wrong.append(f"{self.place(block.start)}: a block of Python without `>>>`")
            return
        # All Python blocks of a page share one namespace.
        test.globs = self.names
        runner = Doctest()
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            runner.run(test, out=lambda _: None, clear_globs=False)
        finally:
            os.chdir(before)
        for example, got, may_change in runner.failed:
            first = block.start + example.lineno + len(example.source.splitlines())
            self.wrong.append(f"{self.place(first - 1)}: {example.source.rstrip()} printed:\n{got}")
            if may_change:
                self.change(first, first + len(example.want.splitlines()), got.splitlines(), block.indent)

    def run_sql(self, block: Block) -> None:
        database = sqlite3.connect(self.folder / "statements.db")
        try:
            database.executescript(block.text)
        except sqlite3.Error as error:
            self.wrong.append(f"{self.place(block.start)}: {error}")
        finally:
            database.close()

    def change(self, first: int, end: int, lines: list[str], indent: int) -> None:
        self.changes.append((first, end, [" " * indent + line if line else "" for line in lines]))

    def rewrite(self) -> None:
        """Writes the page with the output of this run."""
        for first, end, lines in reversed(self.changes):
            self.lines[first:end] = lines
        self.path.write_text("".join(f"{line}\n" for line in self.lines))


class Doctest(doctest.DocTestRunner):
    """Runs examples, and keeps those whose output differs from the page."""

    def __init__(self) -> None:
        super().__init__(optionflags=OPTIONS, verbose=False)
        self.failed: list[tuple[doctest.Example, str, bool]] = []

    def report_failure(self, out: object, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        self.failed.append((example, got, True))

    def report_unexpected_exception(self, out: object, test: object, example: doctest.Example, exc_info: tuple) -> None:
        self.failed.append((example, f"{exc_info[0].__name__}: {exc_info[1]}", False))
