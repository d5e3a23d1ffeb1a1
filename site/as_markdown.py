"""The site for programs that read text: each page also as Markdown, next to its HTML, and `llms.txt`, the list of these pages (https://llmstxt.org).

MkDocs calls the functions that begin with `on_`. Included files are part of the Markdown, comments for the tests of pages are not, and docstrings
stand where the page names an object of the Python package.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import griffe

ROOT = Path(__file__).resolve().parent.parent
COMMENT = re.compile(r"^ *<!--.*?-->\n+", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(#+ .*?) \{: #[\w-]+ \}$", re.MULTILINE)
OBJECT = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)
FENCED = re.compile(r"^( *```+).*?^\1$", re.MULTILINE | re.DOTALL)

# The text of each page, by the path of its file in docs.
texts: dict[str, str] = {}
# The descriptions in the front matter of pages.
descriptions: dict[str, str] = {}


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Called by MkDocs for each page, after the hook that includes files."""
    texts[page.file.src_uri] = plain(markdown)
    if "description" in page.meta:
        descriptions[page.file.src_uri] = page.meta["description"]
    return markdown


def plain(markdown: str) -> str:
    """Returns a page without markup that only the site understands."""
    parts, last = [], 0
    for fenced in FENCED.finditer(markdown):
        parts += [prose(markdown[last : fenced.start()]), fenced[0]]
        last = fenced.end()
    return "".join([*parts, prose(markdown[last:])]).strip() + "\n"


def prose(markdown: str) -> str:
    """Returns Markdown without that markup, for text outside of code blocks."""
    markdown = HEADING.sub(r"\1", COMMENT.sub("", markdown))
    return OBJECT.sub(lambda found: described(found[1]), markdown)


@functools.cache
def package() -> Any:
    return griffe.load("sqluice", search_paths=[ROOT / "python"], extensions=griffe.load_extensions(ROOT / "site" / "parameters.py"), allow_inspection=False)


def described(name: str) -> str:
    """Returns the signature and docstring of an object of the Python package, and those of its methods."""
    found: Any = package()[name.removeprefix("sqluice.")]
    if found.is_alias:
        found = found.final_target
    parts = [f"### {name}", *signature_and_docstring(found)]
    if found.is_class:
        for member in found.members.values():
            if not member.is_alias and not member.name.startswith("_") and member.docstring:
                parts += [f"#### {name}.{member.name}", *signature_and_docstring(member)]
    return "\n\n".join(parts)


def signature_and_docstring(found: Any) -> list[str]:
    parts = []
    if found.is_function and "property" not in found.labels:
        parts.append(f"```python\n{found.signature()}\n```")
    if found.docstring:
        parts.append(found.docstring.value.strip())
    return parts


def on_post_build(*, config: Any, **_: Any) -> None:
    """Called by MkDocs when all pages are written."""
    site = Path(config["site_dir"])
    for source, text in texts.items():
        file = site / source
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    # The first paragraphs of the home page say what sqluice is.
    about = [paragraph for paragraph in texts["index.md"].split("\n\n") if paragraph[0].isalpha()][:2]
    lines = [f"# {config['site_name']}", "", f"> {config['site_description']}", "", *(f"{paragraph}\n" for paragraph in about)]
    (site / "llms.txt").write_text("\n".join(lines + listed(config["nav"])) + "\n")


def listed(nav: list[Any]) -> list[str]:
    """Returns the list of pages: single pages first, then a section for each section of the navigation. The changelog is optional."""
    alone, sections = ["## Start", ""], []
    optional = ["## Optional", ""]
    for entry in nav:
        title, target = next(iter(entry.items()))
        if isinstance(target, str):
            (optional if target == "changelog.md" else alone).append(item(title, target))
        elif title == "Measured":
            optional += pages(target)
        else:
            sections += ["", f"## {title}", "", *pages(target)]
    return [*alone, *sections, "", *optional]


def pages(entries: list[Any]) -> list[str]:
    found = []
    for entry in entries:
        if isinstance(entry, str):
            found.append(item(heading(entry), entry))
            continue
        title, target = next(iter(entry.items()))
        found += [item(title, target)] if isinstance(target, str) else pages(target)
    return found


def heading(source: str) -> str:
    return texts[source].split("\n", 1)[0].lstrip("# ")


def item(title: str, source: str) -> str:
    """Returns a line of the list: a link, and the description in the page's front matter, or its first sentence."""
    if source in descriptions:
        return f"- [{title}]({source}): {descriptions[source]}"
    body = FENCED.sub("", texts[source])
    first = next((paragraph for paragraph in body.split("\n\n") if paragraph[:1].isalpha() or paragraph[:1] in "`["), "")
    sentence = re.split(r"(?<=[.:])\s", " ".join(first.split()), maxsplit=1)[0].removesuffix(":")
    # Links within the sentence are relative to the page, not to the list.
    sentence = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", sentence)
    return f"- [{title}]({source}): {sentence}" if sentence else f"- [{title}]({source})"
