"""The Python of every page runs, and prints what stands below it."""

import tomllib

import pytest

from tests.documents import folders
from tests.documents.pages import PAGES, ROOT, marked, python
from tests.rows import for_each

# By page: names that its blocks use and a reader has, and names that a block needs beyond those of the blocks above.
BEFORE = {
    "docs/allocation.md": {
        0: "import evenhand as eh",
        1: """
import numpy as np
world = eh.environments.Matching(users=6, arms=3, horizon=40)
policy = eh.recipes.resolving_allocation(world.problem, eh.BayesianLogistic(n_features=world.n_features))
state, context = policy.start(seed=0), world.start(0, np.arange(1)).context(0)
y, later = np.zeros((1, 6, 1)), np.zeros((1, 6, 1))
pending, fewer = np.arange(6)[None] >= 2, np.arange(6)[None] >= 4
""",
    },
    "docs/architecture.md": {
        0: """
import numpy as np, evenhand as eh
court = eh.environments.Court(horizon=10)
policy = eh.uniform(court.problem, n_features=court.n_features)
state, world, step = policy.start(seed=0), court.start(0, np.arange(1)), 0
"""
    },
    "docs/convex_duals.md": {
        0: """
from dataclasses import replace
import evenhand as eh
from evenhand.recipes import bwcr, dual_bwc, dual_bwr, primal_bwc, primal_bwr
world = eh.environments.WithoutContexts(eh.environments.MixedArms(horizon=100))
problem, free = world.problem, replace(world.problem, subject_to=())
model = eh.models.Tabular(arms=5, n_outcomes=3, confidence=0.5)
"""
    },
    "docs/design/round.md": {
        0: """
import evenhand, evenhand.experiments.court.study
from evenhand import pgd
problem = evenhand.environments.Court(tolerance=0.01).problem
"""
    },
    "docs/knapsacks.md": {0: "from evenhand import Outcome"},
    "docs/ranking.md": {
        0: """
import evenhand as eh
articles, publishers, looked = ("a", "b", "c", "d", "e"), ("north", "south"), 3.0
publisher_of = dict(zip(articles, (*publishers, *publishers, "north")))
""",
        1: """
from dataclasses import replace
item, beta = eh.Groups("item", articles, of={a: a for a in articles}), 0.1
problem = replace(problem, groups=(*problem.groups, item))
""",
    },
}
SLOW = ("docs/changes.md", "docs/choosing.md", "docs/convex_planning.md", "docs/never-worse.md", "docs/replay.md")
SAID = {  # what is printed, of pages that do not show it
    "docs/choosing.md": ("large 35.0", "BayesianRidge: mean"),
    "docs/from-a-log.md": ("has the highest value of 4 policies, but cannot be told apart from",),
}
BEGUN = ("docs/beyond-one-machine.md",)  # which shows the beginning of what is printed
NO_RUN = {
    "docs/beyond-one-machine.md": ["a cluster"] * 2,
    "docs/live-reference.md": [
        "a server: tests/live/http/test_client.py",
        "a server: tests/live/http/test_async_client.py, and tests/live/campaigns/test_async_campaign.py",
        "a server: tests/live/http/test_client.py",
    ],
    "docs/replay.md": ["objects of a reader: tests/replay/test_own_policies.py"],
}
WITH_PYTHON = [str(page.relative_to(ROOT)) for page in PAGES if python(page)]


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.slow] if page in SLOW else []) for page in WITH_PYTHON]
)
def test_what_is_shown_is_what_runs(page, capsys, monkeypatch, tmp_path):
    folders.fill(tmp_path)
    monkeypatch.chdir(tmp_path)
    space, before, all_printed = {}, BEFORE.get(page, {}), ""
    for i, (code, shown) in enumerate(python(ROOT / page)):
        exec(before.get(i, ""), space)
        exec(code, space)
        printed = capsys.readouterr().out
        all_printed += printed
        if shown:
            assert (printed[: len(shown)] if page in BEGUN else printed) == shown
    assert [text for text in SAID.get(page, ()) if text not in all_printed] == []


@for_each("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_that_do_not_run_are_listed(page):
    kinds = [kind for kind, _ in marked(page)]
    assert kinds.count("python no-run") == len(NO_RUN.get(str(page.relative_to(ROOT)), []))
    assert set(kinds) <= {"", "python", "python no-run", "toml", "csv"}


@for_each("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_toml_can_be_read(page):
    for kind, text in marked(page):
        if kind == "toml":
            assert tomllib.loads(text)


def test_the_first_lines_of_python_are_few():
    (code, _), *_ = python(ROOT / "README.md")
    assert len(code.splitlines()) <= 18
