"""Pictures of pages are drawn: each by a script or by a command of its page, and scripts run."""

import importlib.util
import re

import pytest

from tests.documents.pages import PAGES, ROOT
from tests.rows import for_each

SCRIPTS = sorted((ROOT / "docs" / "pictures").glob("*.py"))
BY_COMMAND = {
    "allocation.png": "evenhand reproduce allocation --figure 2a",
    "concave-rewards.png": "evenhand reproduce concave-rewards",
    "convex.png": "evenhand reproduce concave-convex --world disc",
    "court-figure-1-0.025.png": "evenhand reproduce court",
    "court-figure-1-1e-07.png": "evenhand reproduce court",
    "court.png": "evenhand reproduce court",
    "curve.svg": "evenhand curve hillstrom.csv --problem examples/email.toml --tolerance 0.02 --out out/curve",
    "demo.png": "make demo",
    "lessons.png": "evenhand reproduce lessons",
    "performance.png": "make bench-peers",
    "ranking-figure-4.png": "evenhand reproduce fair-ranking --data DIR --items 2k --part trade-off",
    "replay.svg": "evenhand replay hillstrom.csv --problem examples/email.toml --replicas 20 --out out/email",
    "small-budgets.png": "evenhand reproduce small-budgets",
    "square-cbwk-K.png": "--sweep K",
    "square-cbwk-T.png": "--sweep T",
    "square-cbwk-m.png": "--sweep m",
}


def shown():
    """The pictures of pages, without those of the gallery, which tests/documents/test_gallery.py has: (page, name)."""
    for page in PAGES:
        for link in re.findall(r"!\[[^\]]*\]\(([^)]+\.(?:png|svg))\)", page.read_text(encoding="utf-8")):
            if not link.startswith("gallery/"):
                yield page, link.removeprefix("docs/")


@for_each(("page", "name"), list(shown()), ids=lambda z: z if isinstance(z, str) else z.name)
def test_a_page_says_what_draws_its_picture(page, name):
    text = page.read_text(encoding="utf-8")
    scripts = [script for script in SCRIPTS if f"](pictures/{script.name})" in text]
    if name in BY_COMMAND:
        assert BY_COMMAND[name] in text
    else:
        assert any(name in script.read_text(encoding="utf-8") for script in scripts)


def loaded(script):
    """A script of docs/pictures as a module, which draws nothing until it is asked to."""
    stated = importlib.util.spec_from_file_location(script.stem, script)
    module = importlib.util.module_from_spec(stated)
    stated.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_draws(script, tmp_path, monkeypatch):
    from evenhand.report.plots import save

    module = loaded(script)
    if script.stem == "live_pages":  # tests/live/dashboard/test_browser.py looks at pages; this one has to load
        assert callable(module.main)
        return
    if script.stem == "plans":
        monkeypatch.setattr(module, "SIZES", (1000, 3000))
        monkeypatch.setattr(module, "SOLVED", (1000,))
    save(module.draw(), tmp_path / "drawn.png")
    assert (tmp_path / "drawn.png").stat().st_size > 10_000
