"""The site, built once per run, and what its pages have: anchors, links, what they load, texts of docstrings."""

import fcntl
import os
import subprocess
import sys
import tempfile
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "docs" / "site"
BLANK = ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
BESIDE = {"doc-signature", "doc-class-bases", "doc-heading", "headerlink"}  # within an entry, but in no docstring


@cache
def built():
    """Every page by its file, after a build without a warning; skips where the generator is not installed.

    Workers of one run share the site: the first one that asks builds it, while others wait.
    """
    pytest.importorskip("mkdocs")
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    folder = Path(tempfile.gettempdir()).resolve() / f"site-{run}"
    with open(folder.with_suffix(".lock"), "a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.fstat(lock.fileno()).st_size:
            _build(folder)
            lock.write("built")
    return {file: Page(file.read_text(encoding="utf-8")) for file in sorted(folder.rglob("*.html"))}


def _build(folder):
    command = [sys.executable, "-W", "error", "-m", "mkdocs", "build", "--site-dir", str(folder)]
    places = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": places}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert {line[:4] for line in done.stderr.splitlines()} == {"INFO"}, done.stderr


class Page(HTMLParser):
    """The anchors and links of a page, what it loads, and the text of each docstring by the anchor of its entry."""

    def __init__(self, html):
        super().__init__()
        self.anchors, self.links, self.loads, self.texts = [], [], [], {}
        self.heading, self.unnamed = "", False  # the last heading of an entry; whether an argument's name is to come
        self.open = [("", "", False)]  # every open element: its tag, its entry, and whether its text is a docstring's
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        classes = set((given.get("class") or "").split())
        self.anchors += [given["id"]] if given.get("id") else []
        self.links += [given["href"]] if tag == "a" and given.get("href") else []
        self.loads += [given[name] for name in ("href", "src") if tag != "a" and given.get(name)]
        _, entry, read = self.open[-1]
        if "doc-heading" in classes:
            self.heading = given["id"]
        if "doc-contents" in classes:
            entry, read = self.heading, True
            self.texts[entry] = ""
        elif classes & BESIDE:
            read = False
        elif "doc-section-item" in classes:  # an argument or error: its name and its description are read
            self.unnamed, read = not self.texts[entry].rstrip().endswith(("Returns:", "Yields:")), False
        elif "doc-md-description" in classes:
            read = True
        elif self.unnamed and tag in {"b", "code"}:
            self.unnamed, read = False, True
        if tag not in BLANK:
            self.open.append((tag, entry, read))

    def handle_endtag(self, tag):
        if tag not in BLANK:
            while self.open.pop()[0] != tag:
                pass

    def handle_data(self, data):
        _, entry, read = self.open[-1]
        if read:
            self.texts[entry] += data
