"""Drafts of logs in which several columns may be the action."""

import numpy as np
import pytest

from evenhand.logs.problem_file import parse
from evenhand.replay import draft, read_log
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
    alone = draft(write(tmp_path, table(["w", "age", "Segment", "p", "visit"], segments(clear=True))))
    assert parse(alone.text, "draft.toml").action == "Segment"


def test_several_actions_with_a_column_of_probabilities_are_left_to_the_user(tmp_path):
    """Where both occur equally often, the probabilities fit both."""
    header = ["Segment", "age", "Maßnahme", "propensity", "visit"]
    found = draft(write(tmp_path, table(header, segments(clear=False))))
    assert found.open == ("which column is the action: one of 'Segment', 'Maßnahme'?",)
    assert "[action]\n# DECIDE" in found.text


@pytest.mark.parametrize("names", [("none", "mail"), ("0.0", "1.0")], ids=["names", "numbers"])
def test_a_few_empty_cells_are_no_action(tmp_path, names):
    """As a frame writes numbers with a gap; where as many cells are empty as can be judged, nothing was sent."""
    rng = np.random.default_rng(5)
    rows = [[rng.integers(20, 60), names[i % 2], int(rng.random() < 0.3)] for i in range(900)]
    rows[7][1] = rows[500][1] = ""
    log = write(tmp_path, table(["age", "sent", "visit"], rows))
    found = draft(log)
    assert found.open == ()
    assert "rows without 'sent', 0.2%, are dropped, which a check counts" in found.guessed
    assert any(line.startswith("propensity: 0.5 for every row") for line in found.guessed)
    spec = parse(found.text, "draft.toml")
    assert (list(spec.actions), spec.outside) == (list(names), {"sent": "drop"})
    read = read_log(log, found.write(tmp_path / "draft.toml"))
    assert len(read) == 898
    assert read.encoded.checks["dropped"].startswith("2 rows were dropped for their 'sent' (2 under '')")
    for row in rows[:60]:
        row[1] = ""
    several = draft(write(tmp_path, table(["age", "sent", "visit"], rows)))
    assert set(parse(several.text, "draft.toml").actions) == {"", *names}


def test_an_action_whose_probabilities_say_else_is_left_to_the_user_beside_the_columns_that_they_fit(tmp_path):
    found = draft(write(tmp_path, table(["segment", "age", "they got", "propensity", "visit"], segments(clear=True))))
    assert found.open == ("which column is the action: one of 'segment', 'they got'?",)
    header = ["segment", "age", "offered", "assignment probability", "stayed"]  # two words of a retention
    spec = parse(draft(write(tmp_path, table(header, segments(clear=True)))).text, "draft.toml")
    assert (spec.action, spec.columns, spec.categorical) == ("offered", {"stayed": "stayed"}, ("segment",))
