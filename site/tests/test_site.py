"""The built site in Debian's Chromium: it is readable on phones and desktops, its search works, and it makes no requests to the network.

Screenshots stay in target/docs/screenshots.
"""

from __future__ import annotations

import doctest
import functools
import http.server
import re
import shutil
import threading
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from blocks import blocks, steps
from browser import Browser, browser
from pages import target

SITE = target() / "site"
SCREENSHOTS = target() / "docs" / "screenshots"
PHONE, DESK = (400, 860), (1400, 900)
# Pages to look at by eye.
PICTURED = ["index", "guides/messy-csv", "reference/command/index", "reference/command/sqluice-load", "reference/python", "how-it-works", "measured"]

pytestmark = pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")


def site_pages() -> list[Path]:
    """Returns all pages of the site, apart from those of rustdoc, which has tests of its own."""
    return sorted(page for page in SITE.rglob("*.html") if page.relative_to(SITE).parts[0] != "rust" and page.name != "404.html")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Starts a web server for the site."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def foreign(requests: list[str], own: str) -> list[str]:
    """Returns the requests that leave the site. Data URLs of a page are not counted."""
    return [url for url in requests if not url.startswith((own, "data:", "blob:", "about:"))]


@pytest.mark.parametrize("screen", [PHONE, DESK], ids=["phone", "desk"])
def test_every_page_fits_the_screen_and_makes_no_request_to_the_network(chromium: Browser, screen: tuple[int, int]) -> None:
    assert len(site_pages()) > 25
    chromium.screen(*screen)
    scrolling = {}
    for page in site_pages():
        chromium.open(page.as_uri())
        name = page.relative_to(SITE)
        assert chromium.complaints == [], name
        assert foreign(chromium.requests, SITE.as_uri()) == [], name
        # Nothing is wider than the screen; what is too wide scrolls within itself.
        wide = "[...document.querySelectorAll('article *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('pre, .md-typeset__scrollwrap, .highlight, .tabbed-labels, .md-clipboard, .headerlink, p:has(> img, > svg)')).map(e => e.outerHTML.slice(0, 120))"
        assert chromium.value("document.documentElement.scrollWidth") <= screen[0], (name, chromium.value(wide))
        assert chromium.value(wide) == [], name
        # Text has a readable size, and the page has some.
        assert chromium.value("parseFloat(getComputedStyle(document.querySelector('article p, article li, article td, article')).fontSize)") >= 12, name
        assert chromium.value("document.querySelector('article').innerText.length") > 100, name
        blocks_wide, lines = code_that_is_cut_off(chromium)
        assert lines == [], name
        if blocks_wide:
            scrolling[str(name)] = blocks_wide
    if screen == DESK:
        assert scrolling == WIDE


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("screen", [PHONE, DESK], ids=["phone", "desk"])
def test_text_of_pages_has_enough_contrast_in_light_and_dark_mode(chromium: Browser, screen: tuple[int, int], dark: bool) -> None:
    chromium.screen(*screen, dark=dark)
    for page in PICTURED:
        chromium.open((SITE / f"{page}.html").as_uri())
        # Forget the choice for the page before.
        chromium.value("localStorage.clear()")
        chromium.open((SITE / f"{page}.html").as_uri())
        scheme = "slate" if dark else "default"
        assert chromium.value("document.body.getAttribute('data-md-color-scheme')") == scheme
        for part in ["h1", "p, td", "code, pre"]:
            contrast = chromium.value(CONTRAST.replace("PART", part))
            assert contrast is None or contrast >= 4.5, (page, part, contrast)
        kind = f"{screen[0]}-{'dark' if dark else 'light'}"
        chromium.photograph(SCREENSHOTS / f"{page.replace('/', '-')}-{kind}.png")


# The pages with code blocks that scroll sideways on a desk's screen, and the number of such blocks. Only rows of tables and drawings may
# scroll.
WIDE = {"guides/masked-copies.html": 1, "scale.html": 1}


def code_that_is_cut_off(chromium: Browser) -> tuple[int, list[str]]:
    """The number of blocks that scroll sideways, and the lines that are wider than their block, without rows of tables."""
    # Each line has its own element, and no command is taken for a row of a table.
    assert chromium.value("[...document.querySelectorAll('article pre > code')].every(code => code.firstElementChild.matches('.line'))")
    assert not chromium.value("[...document.querySelectorAll('article .language-console .line.drawn')].some(line => line.innerText.startsWith('$ '))")
    scrolling = chromium.value("[...document.querySelectorAll('article pre > code')].filter(code => code.scrollWidth > code.clientWidth).length")
    return scrolling, chromium.value("[...document.querySelectorAll('article pre .line:not(.drawn)')].filter(line => line.scrollWidth > line.clientWidth + 1).map(line => line.innerText)")


def test_a_long_command_wraps_with_an_arrow_on_a_phone(chromium: Browser) -> None:
    chromium.screen(*PHONE)
    chromium.open((SITE / "guides/indexes.html").as_uri())
    wrapped = "[...document.querySelectorAll('article .language-console .line')].filter(line => line.innerText.startsWith('$ ') && line.getBoundingClientRect().height > 30)"
    assert chromium.value(f"{wrapped}.length") > 3
    assert "↪" in chromium.value(f"getComputedStyle({wrapped}[0], '::before').content")


def wanted_copies(page: Path) -> list[str]:
    """Returns the texts that the buttons of a page should copy, by its Markdown."""
    found = []
    for block in blocks(page.with_suffix(".md").read_text()):
        if block.language == "console":
            found.append("\n".join(step.command for step in steps(block.lines)))
        elif block.language == "python" and block.text.startswith(">>> "):
            found.append("".join(example.source for example in doctest.DocTestParser().get_examples(block.text + "\n")))
        else:
            found.append(block.text)
    return [text.rstrip() for text in found]


# Presses the buttons of some blocks, and notes the text that the browser copies.
COPIED = """(() => {
  const copied = [];
  const note = () => copied.push(document.activeElement.value);
  document.addEventListener('copy', note);
  for (const button of [...document.querySelectorAll('article .md-code__button[data-md-type=copy]')].slice(FIRST, END)) button.click();
  document.removeEventListener('copy', note);
  return copied;
})()"""
# A browser lets a page copy only for a few seconds after a key was pressed, so few buttons are pressed at once.
BUTTONS_MAX = 10


def test_buttons_copy_commands_without_prompts_and_output(chromium: Browser) -> None:
    chromium.screen(*DESK)
    kinds = 0
    for page in site_pages():
        chromium.open(page.as_uri())
        name = page.relative_to(SITE)
        code = chromium.value("document.querySelectorAll('article pre > code').length")
        chromium.wait_for(f"document.querySelectorAll('article .md-code__button[data-md-type=copy]').length === {code}")
        copied = []
        for first in range(0, code, BUTTONS_MAX):
            copied += chromium.value(COPIED.replace("FIRST", str(first)).replace("END", str(first + BUTTONS_MAX)))
        if "doc-object" in page.read_text():
            # The code blocks of this page come from docstrings.
            assert len(copied) == code
            assert not any(re.search(r"^>>> ", text, re.MULTILINE) for text in copied), name
            continue
        assert copied == wanted_copies(page), name
        kinds += sum(text.startswith("sqluice ") for text in copied)
        # By mouse, prompts are left out, and lines stay lines.
        visible = "[...document.querySelectorAll('article pre > code')].filter(code => code.checkVisibility())"
        for number in range(min(chromium.value(f"{visible}.length"), 3)):
            selected = chromium.value(f"(code => {{ getSelection().selectAllChildren(code); return [getSelection().toString(), code.textContent, !!code.closest('.language-console, .language-pycon')]; }})({visible}[{number}])")
            text = re.sub(r"^(\$|>>>|\.\.\.|>) ", "", selected[1], flags=re.MULTILINE) if selected[2] else selected[1]
            assert selected[0].split("\n") == text.rstrip("\n").split("\n"), name
    assert kinds > 50


# The contrast of text, as WCAG defines it; backgrounds that are partly transparent lie on that of the page.
CONTRAST = """(() => {
  const channels = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const over = (top, under) => { const a = top[3] ?? 1; return [0, 1, 2].map(at => top[at] * a + under[at] * (1 - a)); };
  const element = document.querySelector(`article ${'PART'.split(', ').join(', article ')}`);
  if (!element) return null;
  let behind = [];
  for (let e = element; e; e = e.parentElement) behind.unshift(channels(getComputedStyle(e).backgroundColor));
  let ground = [255, 255, 255];
  for (const layer of behind) if (layer.length >= 3) ground = over(layer, ground);
  const ink = over(channels(getComputedStyle(element).color), ground);
  const [a, b] = [light(ink), light(ground)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
})()"""

# Words that a newcomer types, and the page that should be the first answer.
SEARCHES = {
    "stdin": "recipes",
    "csv": "guides/messy-csv",
    "json": "guides/json",
    "delimiter": "guides/messy-csv",
    "pandas": "guides/from-pandas",
    "to_sql": "guides/from-pandas",
    "upsert": "guides/existing-databases",
    "index": "guides/indexes",
    "install": "install",
    "docker": "install",
    "backup": "guides/copy-merge-export",
    "test data": "guides/test-data",
    "anonymized": "guides/masked-copies",
    "s3": "guides/object-storage",
    "zipf": "guides/test-data",
    "python": "python/rows-and-frames",
    "rust": "rust",
    "VACUUM": "recipes",
}


@pytest.mark.parametrize("server", [False, True], ids=["from the disk", "from a server"])
def test_the_first_result_of_a_search_is_the_expected_page(chromium: Browser, address: str, server: bool) -> None:
    own = address if server else SITE.as_uri()
    chromium.screen(*DESK)
    for word, wanted in SEARCHES.items():
        chromium.open(f"{own}/index.html")
        chromium.wait_for("document.querySelector('.md-search__input') !== null")
        chromium.value(f"(() => {{ const box = document.querySelector('.md-search__input'); box.focus(); box.value = '{word}'; box.dispatchEvent(new KeyboardEvent('keyup', {{bubbles: true}})); box.dispatchEvent(new Event('input', {{bubbles: true}})); }})()")
        found = chromium.wait_for("(l => l.length ? l.map(a => a.href) : null)([...document.querySelectorAll('.md-search-result__list a')])")
        assert found[0].split("?")[0].split("#")[0] == f"{own}/{wanted}.html", (word, found)
        assert foreign(chromium.requests, own) == []
        assert chromium.complaints == []
    # Wait until the list has slid in.
    time.sleep(0.5)
    chromium.photograph(SCREENSHOTS / f"search-{'server' if server else 'disk'}.png")


@pytest.mark.parametrize("page", ["index", "how-it-works", "measured"])
def test_drawings_change_colours_with_the_button_for_dark_mode(chromium: Browser, page: str) -> None:
    chromium.screen(*DESK)
    chromium.open((SITE / f"{page}.html").as_uri())
    chromium.value("localStorage.clear()")
    chromium.open((SITE / f"{page}.html").as_uri())
    # The lightness of the ground and of the text of each drawing.
    colours = "[...document.querySelectorAll('article svg.drawing')].map(svg => [getComputedStyle(svg.querySelector('.ground')).fill, getComputedStyle(svg.querySelector('text')).fill].map(fill => fill.match(/\\d+/g).map(Number).reduce((a, b) => a + b) / 3))"
    light = chromium.value(colours)
    assert light and all(ground > 200 and ink < 80 for ground, ink in light)
    chromium.value("document.querySelector('label[for=__palette_1]').click()")
    chromium.wait_for("document.body.getAttribute('data-md-color-scheme') === 'slate'")
    dark = chromium.value(colours)
    assert len(dark) == len(light) and all(ground < 80 and ink > 200 for ground, ink in dark)
    # No picture has a light background.
    assert chromium.value("[...document.querySelectorAll('article img')].map(image => image.src).filter(source => !source.endsWith('shop.svg'))") == []


def test_every_drawing_has_a_description_for_screen_readers() -> None:
    for page in site_pages():
        for drawing in re.findall(r'<svg [^>]*class="drawing[^>]*>', page.read_text()):
            assert re.search(r'aria-label="[^"]{10,}"', drawing), page.name


def test_llms_txt_lists_every_page_as_markdown() -> None:
    text = (SITE / "llms.txt").read_text()
    title, summary = text.splitlines()[:3:2]
    assert title == "# sqluice" and summary.startswith("> ")
    listed = re.findall(r"^- \[[^\]]+\]\(([^)]+\.md)\)", text, re.MULTILINE)
    assert sorted(listed) == sorted(str(page.relative_to(SITE).with_suffix(".md")) for page in site_pages())
    for name in listed:
        page = (SITE / name).read_text()
        assert page.startswith("# "), name
        # No markup of the site is left, except within code.
        outside = re.sub(r"^( *```+).*?^\1$", "", page, flags=re.MULTILINE | re.DOTALL)
        assert not re.search(r"^<!--|^:::|^---$|\{: #", outside, re.MULTILINE), name
        for link in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", outside):
            assert (SITE / name).parent.joinpath(link).exists(), (name, link)
    # The text has an included file, and a docstring.
    assert "make bench-load" in (SITE / "measured.md").read_text()
    assert "Writes the rows of `data`" in (SITE / "reference/python.md").read_text()


def test_console_errors_requests_and_excess_width_of_a_page_are_noticed(chromium: Browser, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text("<!DOCTYPE html><body style='width: 2000px'><script>console.error('no')</script><img src='http://127.0.0.1:9/x.png'>")
    chromium.screen(*PHONE)
    chromium.open(bad.as_uri())
    assert foreign(chromium.requests, SITE.as_uri()) == [bad.as_uri(), "http://127.0.0.1:9/x.png"]
    assert chromium.complaints
    assert chromium.value("document.documentElement.scrollWidth") > PHONE[0]


class Links(HTMLParser):
    """Returns the links of a page, and its anchors."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def test_every_link_of_the_site_has_a_target() -> None:
    pages = {page: Links(page) for page in site_pages()}
    missing = []
    for page, links in pages.items():
        for link in links.links:
            path, anchor = urldefrag(link)
            if urlsplit(link).scheme in ("http", "https", "data", "mailto"):
                continue
            to = (page.parent / unquote(urlsplit(path).path)).resolve() if path else page
            if to.is_dir():
                to /= "index.html"
            # If rustdoc's pages were not built, only the link to them is broken.
            if not to.exists() and not ("rust" in to.relative_to(SITE).parts[:1] and not (SITE / "rust").exists()):
                missing.append(f"{page.relative_to(SITE)}: {link}")
            elif anchor and to in pages and unquote(anchor) not in pages[to].anchors and not anchor.startswith("__"):
                missing.append(f"{page.relative_to(SITE)}: {link}")
    assert missing == []
