"""Every notebook runs and shows what is stored in it; `python -m tests.notebooks` stores what it shows now."""

import json
import re

import pytest

from tests.notebooks.execution import NOTEBOOKS, ROOT, executed, texts

MOST = 60_000  # bytes of a notebook, with its pictures
LINK = re.compile(r"\]\(([^)#]+)")


def test_there_is_one_for_each_door():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(NOTEBOOKS) == 3
    assert [path.name for path in NOTEBOOKS if f"(notebooks/{path.name})" not in readme] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_its_links_lead_somewhere(path):
    text = path.read_text(encoding="utf-8")
    cells = json.loads(text)["cells"]
    assert len(text) < MOST
    assert cells[0]["source"][0].startswith("# ")
    assert "/tmp" not in text  # nor any path of the machine that ran it
    prose = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    links = LINK.findall(prose)
    assert links
    assert [link for link in links if not (path.parent / link).is_file()] == []


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_is_stored(path):
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    assert texts(executed(path)) == texts(nbformat.read(path, as_version=4))
