"""Every policy of the table of docs/choosing.md decides and learns; tests/documents runs the code of all pages."""

import re
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh

PAGE = (Path(__file__).parents[2] / "docs" / "choosing.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
LINES = re.findall(r"`(eh\.\w+\(\w+, .*?\))`", "\n".join(z for z in PAGE.splitlines() if z.startswith("| ")))


@pytest.fixture(scope="module")
def names():
    """What the first block defines."""
    space = {}
    exec(BLOCKS[0], space)
    return space


def test_the_page_has_what_is_tested():
    assert len(BLOCKS) == 5
    assert len(LINES) == 8


@pytest.mark.parametrize("line", LINES)
def test_a_policy_of_the_table_decides_and_learns(line, names):
    policy = eval(line, names)
    problem, rng = policy.problem, np.random.default_rng(0)
    state, actions = policy.start(seed=0), len(problem.actions)
    for _ in range(20):
        x, groups = rng.random((1, actions, policy.model.n_features)), np.zeros((1, 1, 0), np.int64)
        context = eh.Context(x, problem.declared[None], groups, np.ones((1, actions), bool))
        decision = policy.act(state, context)
        assert (decision.plays >= 0).all()
        y = np.zeros((1, problem.n_plays, len(problem.observed)))
        policy.learn(state, decision, y)
    assert state.t[0] == 20
