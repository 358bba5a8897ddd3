"""The API reference builds without a warning, shows every public name once, and docstrings as they are written."""

import doctest
import importlib
import importlib.util
import inspect
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "docs" / "reference" / "build.py"
BLANK = ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]


class Page(HTMLParser):
    """The anchors and links of a page, and the text of each docstring by the anchor it belongs to."""

    def __init__(self, html):
        super().__init__()
        self.anchors, self.links, self.texts = [], [], {}
        self.owner, self.depth = "", 0  # depth counts open elements within a docstring
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors += [given["id"]] if "id" in given else []
        self.links += [given[name] for name in ("href", "src") if given.get(name)]
        if self.depth:
            self.depth += tag not in BLANK
        elif given.get("class") == "docstring":
            self.depth, self.texts[self.owner] = 1, ""
        elif "id" in given and (tag == "section" or given.get("class") == "classattr"):
            self.owner = given["id"]

    def handle_endtag(self, tag):
        self.depth -= bool(self.depth) and tag not in BLANK

    def handle_data(self, data):
        if self.depth:
            self.texts[self.owner] += data


@pytest.fixture(scope="module")
def script():
    """The script as a module; building changes types of arrays, so that it runs in a process of its own."""
    pytest.importorskip("pdoc")
    spec = importlib.util.spec_from_file_location("build_reference", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(script, tmp_path_factory):
    """Every page by its file."""
    folder = tmp_path_factory.mktemp("api")
    command = [sys.executable, "-W", "error", str(SCRIPT), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return {file.resolve(): Page(file.read_text(encoding="utf-8")) for file in folder.rglob("*.html")}


@pytest.fixture(scope="module")
def named(script, pages):
    """(package, name, what it is, its page) of every public name."""
    front = next(file for file in pages if file.name == "evenhand.html")
    found = []
    for home in script.PAGES:
        module = importlib.import_module(f"evenhand.{home}")
        page = pages[front.parent / "evenhand" / f"{home.replace('.', '/')}.html"]
        found += [(home, name, getattr(module, name), page) for name in module.__all__]
    return found


@pytest.mark.slow
def test_every_public_name_has_an_anchor_and_is_on_the_front_page(named, pages):
    front = next(page for file, page in pages.items() if file.name == "evenhand.html")
    assert [(home, name) for home, name, _, page in named if page.anchors.count(name) != 1] == []
    wanted = [f"evenhand/{home.replace('.', '/')}.html#{name}" for home, name, _, _ in named]
    links = iter(front.links)  # in which sentences have links of their own
    assert [to for to in wanted if to not in links] == []  # package by package
    external = {to for page in pages.values() for to in page.links if to.startswith("http")}
    assert external == {"https://pdoc.dev"}  # its maker; no page loads anything from elsewhere


def test_nothing_is_shown_twice_and_nothing_private(named, pages):
    assert len({id(thing) for _, _, thing, _ in named}) == len(named)
    for page in pages.values():
        names = [a for a in page.anchors if re.fullmatch(r"[\w.]+", a)]
        assert [a for a in names if re.search(r"(^|\.)_(?!_init__$)", a)] == []


def test_every_public_name_has_a_docstring_that_starts_with_a_sentence(named):
    for home, name, thing, _ in named:
        own = (vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__) or ""
        first = " ".join(inspect.cleandoc(own).split("\n\n")[0].split())
        assert re.search(r"[.?)]$", first), f"evenhand.{home}.{name}: {first!r}"
        assert " " in first, f"evenhand.{home}.{name}: {first!r}"
        other = rf"{name}\(|Equation:|Source:|Deviations?:|Args:|Raises:|>>>"  # the first is written by `dataclass`
        assert not re.match(other, first), f"evenhand.{home}.{name}: {first!r}"


def test_docstrings_are_shown_as_they_are_written(named):
    """No character of an equation is lost or read as a mark, and no part of a docstring is left out."""
    compared = 0
    for home, name, thing, page in named:
        for anchor, text in page.texts.items():
            of, _, member = anchor.partition(".")
            if of != name or (member and member in getattr(thing, "__annotations__", {})):
                continue  # fields show the comment beside them
            written = inspect.getdoc(inspect.getattr_static(thing, member) if member else thing)
            mark = getattr(thing, "__named__", None)
            origin = f"Source: {mark[1]}." if mark and not member else ""
            assert _letters(text) == _letters(_plain(written) + origin), f"evenhand.{home}.{anchor}"
            compared += 1
    assert compared > len(named)


def _plain(written):
    """A docstring without its marks: lists, emphasis, and pdoc's name for arguments."""
    written = re.sub(r"^ *- ", "", written, flags=re.MULTILINE)
    written = re.sub(r"^Args:", "Arguments:", written, flags=re.MULTILINE)
    return re.sub(r"(?<!\w)\*(\w[\w\s-]*)\*(?!\w)", r"\1", written)


def _letters(text):
    return re.sub(r"[\s`]", "", text)


def test_fields_of_records_show_the_comments_beside_them(named):
    page = next(page for _, name, _, page in named if name == "PolicyState")
    assert page.texts["PolicyState.t"].strip() == "(R,) decided rounds"


def test_links_within_the_reference_lead_somewhere(pages):
    for file, page in pages.items():
        for link in page.links:
            if re.match(r"https://|data:", link):
                continue
            path, _, anchor = link.partition("#")
            to = (file.parent / path).resolve() if path else file
            assert to in pages, f"{file.name}: {link}"
            assert not anchor or anchor in pages[to].anchors, f"{file.name}: {link}"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("lam <- (lam + s)_+ and x<y>z", "lam &#60;- (lam + s)_+ and x&#60;y&#62;z"),
        ("f*(-g) + f*", "f&#42;(-g) + f&#42;"),
        ("the *drawn* arm", "the *drawn* arm"),
        ("E[y](x) and `a[b](*c)`", "E&#91;y](x) and `a[b](*c)`"),
        ("A.\n\n>>> 2 * 3 < 4\nFalse", "A.\n\n>>> 2 * 3 < 4\nFalse"),
        ("A.\n>>> x[0]\n1\n\nB < C", "A.\n>>> x[0]\n1\n\nB &#60; C"),
        ("A.\nEquation: p = 1\nSource: X", "A.\n\n**Equation:** p = 1\n\n**Source:** X"),
    ],
)
def test_prose_escapes_what_markdown_would_read_as_a_mark(script, written, shown):
    assert script.prose(written) == shown


def test_examples_of_the_script_run(script):
    assert doctest.testmod(script) == (0, 2)
