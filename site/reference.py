"""Makes the reference of the command from the output of `sqluice COMMAND --help`.

    python site/reference.py            writes docs/reference/command, and the functions in docs/reference/generator.md
    python site/reference.py --check    says which pages would change, and changes nothing
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from pages import ROOT, programs

COMMAND = ROOT / "docs" / "reference" / "command"
GENERATOR = ROOT / "docs" / "reference" / "generator.md"
BEGIN, END = "<!-- functions: made by site/reference.py -->", "<!-- end of functions -->"
MASK_BEGIN, MASK_END = "<!-- mask functions: made by site/reference.py -->", "<!-- end of mask functions -->"

HEADING = re.compile(r"^[A-Z][^.]*:$")
ITEM = re.compile(r"^ {2,6}([-<\[]\S*(?: ?[^ ]+)*?)(?: {2,}(\S.*))?$")
VALUE = re.compile(r"^- ([\w-]+): +(.*)$")
FUNCTION = re.compile(r"^  ([a-z_0-9]+\((?:[^()]|\([^()]*\))*\))( +)(\S.*)$")
VERB = re.compile(r"^  ([a-z]+) {2,}\S")
FLAG = re.compile(r"(?<![\w-])--?[a-z][a-z-]*\b")


@dataclass
class Item:
    """An argument or a flag, and its paragraphs; a list of values is a paragraph of its own."""

    term: str
    paragraphs: list[list[str]] = field(default_factory=list)


@dataclass
class Section:
    heading: str
    lines: list[str] = field(default_factory=list)

    def items(self) -> list[Item]:
        """Returns the arguments or flags of the section. Empty if it is a text."""
        found: list[Item] = []
        for line in self.lines:
            item = ITEM.match(line)
            if item and len(line) - len(line.lstrip()) <= 6:
                found.append(Item(item[1], [[item[2]]] if item[2] else [[]]))
            elif found and not line.strip():
                found[-1].paragraphs.append([])
            elif found:
                found[-1].paragraphs[-1].append(line)
        return found


@dataclass
class Help:
    about: list[str]
    usage: str
    sections: list[Section]


def printed(*arguments: str) -> str:
    program = programs()[0] / "sqluice"
    # The width of help texts for wide terminals.
    environment = os.environ | {"COLUMNS": "100"}
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True, env=environment).stdout


def parsed(text: str) -> Help:
    """Parses a help text into its parts."""
    about: list[str] = []
    usage = ""
    sections: list[Section] = []
    for line in text.splitlines():
        if line.startswith("Usage: "):
            usage = line.removeprefix("Usage: ")
        elif usage and HEADING.match(line):
            sections.append(Section(line.removesuffix(":")))
        elif sections and (line.startswith(" ") or not line):
            sections[-1].lines.append(line)
        elif not usage:
            about.append(line)
        elif line:
            # This is text after the sections.
            sections.append(Section("", [line]))
    for section in sections:
        while section.lines and not section.lines[-1].strip():
            section.lines.pop()
    return Help(about, usage, sections)


def prose(text: str) -> str:
    """Returns plain text as Markdown: flags as code, and characters with a meaning in Markdown escaped."""
    parts = text.split("`")
    for number in range(0, len(parts), 2):
        part = parts[number].replace("<", "&lt;").replace("*", r"\*").replace("_", r"\_").replace("[", r"\[")
        parts[number] = FLAG.sub(lambda flag: f"`{flag[0]}`", part)
    return "`".join(parts)


def paragraphs(lines: list[str]) -> list[str]:
    """Joins lines to paragraphs, which empty lines separate."""
    joined: list[str] = [""]
    for line in lines:
        if line.strip():
            joined[-1] = f"{joined[-1]} {line.strip()}".strip()
        elif joined[-1]:
            joined.append("")
    return [paragraph for paragraph in joined if paragraph]


def definition(item: Item) -> list[str]:
    """Returns an item as an entry of a definition list."""
    entry = [f"`{item.term}`"]
    first = True
    for lines in item.paragraphs:
        text, values = [], []
        for line in map(str.strip, lines):
            value = VALUE.match(line)
            if value:
                values.append(f"- `{value[1]}`: {value[2]}")
            elif values:
                values[-1] += f" {line}"
            elif line != "Possible values:":
                text.append(line)
        for block in ([prose(" ".join(text))] if text else []) + (["\n".join(f"- `{v[3:].split('`')[0]}`{prose(v[3:].split('`', 1)[1])}" for v in values)] if values else []):
            indented = block.replace("\n", "\n    ")
            entry.append(f":   {indented}" if first else f"    {indented}")
            entry.append("")
            first = False
    if first:
        entry += [":   &nbsp;", ""]
    return entry


def section_lines(section: Section) -> list[str]:
    """Returns a section as Markdown, without its heading."""
    items = section.items()
    if not items:
        least = min((len(line) - len(line.lstrip()) for line in section.lines if line.strip()), default=0)
        return ["```text", *(line[least:] for line in section.lines), "```", ""]
    lines: list[str] = []
    for item in items:
        # Every command has this flag.
        if not item.term.startswith("-h, --help"):
            lines += definition(item)
    return lines


def command_pages() -> dict[Path, str]:
    """The files of docs/reference/command: a list of the commands, and a page for each, named as its man page is."""
    top = parsed(printed("--help"))
    # The help lists the commands in one section, or in several by purpose.
    verbs = [match[1] for section in top.sections for match in map(VERB.match, section.lines) if match]
    helps = {verb: parsed(printed(verb, "--help")) for verb in verbs if verb != "help"}
    rows = [f"| [{verb}](sqluice-{verb}.md) | {prose(paragraphs(help_text.about)[0])} |" for verb, help_text in helps.items()]
    index = [
        "# The command",
        "",
        "Each page has what `sqluice COMMAND --help` prints. `sqluice COMMAND -h` prints a summary.",
        "",
        "| command | what it does |",
        "|---|---|",
        *rows,
    ]
    pages = {COMMAND / f"sqluice-{verb}.md": page(verb, help_text) for verb, help_text in helps.items()}
    return {COMMAND / "index.md": "\n".join(index) + "\n", **pages}


def page(verb: str, help_text: Help) -> str:
    """Returns the page of a command."""
    first, *rest = paragraphs(help_text.about)
    lines = [f"# sqluice {verb}", "", f"{prose(first)}.", "", "```text", help_text.usage, "```", ""]
    for paragraph in rest:
        lines += [prose(paragraph), ""]
    for section in help_text.sections:
        body = section_lines(section)
        if section.heading.startswith("Functions of"):
            anchor = "masks" if section.heading.endswith("masks") else "all-functions"
            body = [f"See [the generator language](../generator.md#{anchor}).", ""]
        if body:
            lines += [f"## {prose(section.heading) or 'More'} {{: #{slug(section.heading)} }}", "", *body]
    return "\n".join(lines).rstrip() + "\n"


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "more"


def functions(command: str) -> list[tuple[str, str]]:
    """Returns the functions that a help lists: how each is called, and what it generates."""
    lines = printed(command, "--help").splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("Functions of"))
    found: list[tuple[str, str]] = []
    for line in lines[begin + 1 :]:
        function = FUNCTION.match(line)
        if function and (len(function[2]) > 1 or function[1].startswith("case(")):
            found.append((function[1], function[3]))
        elif line.strip() and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
        elif found:
            break
    return found


def table(listed: list[tuple[str, str]]) -> str:
    rows = "\n".join(f"| `{call}` | {prose(what)} |".replace("||", r"\|\|") for call, what in listed)
    return f"| function | value |\n|---|---|\n{rows}"


def replaced(text: str, begin: str, end: str, content: str) -> str:
    """Returns a text with new content between two marks."""
    before, rest = text.split(begin)
    return f"{before}{begin}\n\n{content}\n\n{end}{rest.split(end)[1]}"


def generator_page() -> str:
    """Returns docs/reference/generator.md with the functions that the command has."""
    page = replaced(GENERATOR.read_text(), BEGIN, END, table(functions("generate")))
    return replaced(page, MASK_BEGIN, MASK_END, table(functions("copy")))


def main(arguments: list[str]) -> int:
    changed = 0
    pages = {**command_pages(), GENERATOR: generator_page()}
    # Remove the pages of commands that no longer exist.
    gone = [path for path in COMMAND.glob("*.md") if path not in pages]
    for path in gone:
        changed += 1
        if arguments == ["--check"]:
            print(f"{path.relative_to(ROOT)} describes no command: run `tools/docs update`", file=sys.stderr)
        else:
            path.unlink()
            print(f"{path.relative_to(ROOT)}: removed")
    for path, text in pages.items():
        if path.exists() and path.read_text() == text:
            continue
        changed += 1
        if arguments == ["--check"]:
            print(f"{path.relative_to(ROOT)} is not what `--help` prints: run `tools/docs update`", file=sys.stderr)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            print(f"{path.relative_to(ROOT)}: written")
    return int(bool(changed and arguments == ["--check"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
