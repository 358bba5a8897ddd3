"""The site builds without a warning, its links lead somewhere, and it is read and searched without a network."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser import NEEDED, started
from tests.documents.sites import ROOT, built

pytestmark = pytest.mark.slow
NO_REFERENCE = """
PLACES, FIRST = (), {}
def pages(): return {}
def uri(place): return place
"""
SIZES = [(1280, "light"), (390, "dark")]  # pixels and theme


@pytest.fixture(scope="module")
def pages():
    """Every page by its file."""
    return built()


@pytest.fixture(scope="module")
def folder(pages):
    """Where the site is."""
    return next(file.parent for file in pages if file.name == "404.html")


def test_links_lead_somewhere(pages):
    wrong = []
    for file, page in pages.items():
        for link in page.links:
            if file.name == "404.html" or re.match(r"https://|mailto:", link):
                continue  # the first is shown at any depth
            path, _, anchor = link.partition("#")
            to = (file.parent / path).resolve() if path else file
            to = to / "index.html" if to.is_dir() else to  # the logo leads to the folder
            there = to in pages and (not anchor or anchor in pages[to].anchors)
            wrong += [] if there or (to.is_file() and not anchor) else [f"{file.name}: {link}"]
    assert wrong == []


def test_every_guide_is_a_page_and_is_reached_from_the_first(pages, folder):
    first = pages[folder / "index.html"]
    reached = {(folder / link.partition("#")[0]).resolve() for link in first.links}
    guides = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/design/*.md")]
    assert len(guides) > 30
    shown = [folder / file.relative_to(ROOT / "docs").with_suffix(".html") for file in guides]
    assert [str(file) for file in shown if file not in pages or file not in reached] == []


def test_links_to_the_repository_lead_to_what_it_has(pages, folder):
    page = pages[folder / "repository" / "examples" / "live.py.html"]
    assert any(link.endswith("repository/examples/live.py.html") for link in pages[folder / "serving.html"].links)
    assert page.anchors.count("exampleslivepy") == 1


def test_nothing_is_loaded_from_elsewhere(pages, folder):
    loads = {to for page in pages.values() for to in page.loads}
    assert len(loads) > 20
    assert [to for to in sorted(loads) if re.match(r"(https?:)?//", to)] == []
    styles = "".join(file.read_text(encoding="utf-8") for file in folder.rglob("*.css"))
    assert re.findall(r"url\([\"']?(?:https?:)?//[^)]*|@import[^;]*", styles) == []


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("[a](nothing.md)", "nothing.md"),
        ("[a](live.md#nothing)", "#nothing"),
        ("[a](../examples/nothing.py)", "examples/nothing.py"),
    ],
)
def test_a_broken_link_ends_the_build(broken, told, tmp_path):
    pytest.importorskip("mkdocs")
    done = _built_with(tmp_path, {"page.md": f"# A\n\n{broken}\n", "live.md": "# B\n"})
    assert done.returncode != 0
    assert told in done.stdout + done.stderr


def test_a_page_without_a_place_ends_the_build(tmp_path):
    pytest.importorskip("mkdocs")
    done = _built_with(tmp_path, {"page.md": "# A\n", "live.md": "# B\n", "other.md": "# C\n"})
    assert done.returncode != 0
    assert "other.md" in done.stdout + done.stderr


def _built_with(folder: Path, pages):
    """A build by our settings of a site of a few pages, without the reference, which takes long."""
    docs = folder / "docs"
    docs.mkdir()
    for name, text in pages.items():
        (docs / name).write_text(text, encoding="utf-8")
    (docs / "site").mkdir()
    for script in (ROOT / "docs" / "site").iterdir():
        if script.is_file():
            (docs / "site" / script.name).write_bytes(script.read_bytes())
    (docs / "site" / "reference.py").write_text(NO_REFERENCE, encoding="utf-8")
    (folder / "examples").mkdir()
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[0]
    (folder / "mkdocs.yml").write_text(f"{settings}\nnav: [page.md, live.md]\n", encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


@NEEDED
@pytest.mark.parametrize(("width", "theme"), SIZES)
def test_no_page_is_wider_than_the_screen_or_asks_the_network(pages, width, theme):
    wide, asked, errors = [], [], []
    with started() as browser:
        page = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme).new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        for file in pages:
            page.goto(file.as_uri())
            over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            wide += [f"{file.name}: {over}"] if over > 0 else []
        shade = page.evaluate("document.body.getAttribute('data-md-color-scheme')")
    assert (wide, errors) == ([], [])
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert shade == {"light": "default", "dark": "slate"}[theme]


@NEEDED
def test_a_site_on_a_disk_is_searched(folder):
    with started() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto((folder / "design" / "rows.html").as_uri())
        page.locator(".md-search__input").press_sequentially("holdout")  # it listens to keys
        page.wait_for_selector(".md-search-result__item")
        found = page.eval_on_selector_all(".md-search-result__link", "all => all.map(z => z.href)")
    assert any("/holdout.html" in link for link in found)
