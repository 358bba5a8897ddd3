"""Drafts of logs in which several columns may be the action."""

import numpy as np
import pytest

from evenhand.replay import draft
from evenhand.replay.problem_file import parse
from tests.replay.test_draft import table, write


def segments(clear, count=3000, seed=2):
    """Rows of three offers, whose probabilities depend on the segment, and which are in segments of unequal sizes."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        at = int(rng.choice(3, p=[0.6, 0.3, 0.1] if clear else [1 / 3, 1 / 3, 1 / 3]))
        chances = np.roll([0.5, 0.3, 0.2], at)
        offer = int(rng.choice(3, p=chances))
        yield [
            "ABC"[at],
            rng.integers(20, 60),
            ["none", "mail", "call"][offer],
            chances[offer],
            int(rng.random() < 0.2),
        ]


@pytest.mark.parametrize("name", ["Maßnahme", "Aktion", "offer"])
def test_a_segment_is_the_action_only_where_no_other_column_is(tmp_path, name):
    found = draft(write(tmp_path, table(["Segment", "age", name, "propensity", "visit"], segments(clear=True))))
    spec = parse(found.text, "draft.toml")
    assert (spec.action, spec.categorical) == (name, ("Segment",))
    assert found.open == ()
    alone = draft(write(tmp_path, table(["Segment", "age", "w", "p", "visit"], segments(clear=True))))
    assert parse(alone.text, "draft.toml").action == "Segment"


def test_several_actions_with_a_column_of_probabilities_are_left_to_the_user(tmp_path):
    """Where both occur equally often, the probabilities fit both."""
    header = ["Segment", "age", "Maßnahme", "propensity", "visit"]
    found = draft(write(tmp_path, table(header, segments(clear=False))))
    assert found.open == ("which column is the action: one of 'Segment', 'Maßnahme'?",)
    assert "[action]\n# DECIDE" in found.text
