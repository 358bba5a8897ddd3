"""Probabilities that differ by action and are the same in every row."""

import re

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.logs.problem_file import parse
from evenhand.offline import Evidence
from evenhand.replay import draft, read_log, replay_log
from tests.replay.test_draft import table, write

CHANCES = {"control": 0.7, "mail": 0.2, "call": 0.1}
BY_ACTION = "constant = { control = 0.7, mail = 0.2, call = 0.1 }"
PROBLEM = """
maximize = "visit"
horizon = 100

[features]
numeric = ["age"]

[action]
column = "letter"
values = { "" = "control", M = "mail", C = "call" }

[propensity]
%s

[outcomes.visit]
range = [0, 1]

[outcomes.cost]
known = { mail = 1, call = 1 }

[[budget]]
outcome = "cost"
rate = 0.4
"""


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(1)
    logged = rng.choice(3, 2000, p=list(CHANCES.values()))
    rows = [[int(rng.integers(20, 60)), ["", "M", "C"][a], list(CHANCES.values())[a], int(i % 3 == 0)]
            for i, a in enumerate(logged)]  # fmt: skip
    write(tmp_path, table(["age", "letter", "chance", "visit"], rows))
    for name, stated in (("column", 'column = "chance"'), ("constant", BY_ACTION), ("even", "constant = 0.333333")):
        (tmp_path / f"{name}.toml").write_text(PROBLEM % stated)
    return tmp_path


def test_they_are_what_a_column_of_them_is(folder):
    log, files = folder / "log.csv", (folder / "column.toml", folder / "constant.toml")
    column, constant = (read_log(log, file).encoded.propensities for file in files)
    assert np.array_equal(column, constant)
    column, constant = (Evidence.read(log, file).propensities for file in files)
    assert np.array_equal(column, constant)
    column, constant = (eh.value(log, file, folds=3).to_frame() for file in files)
    assert column.equals(constant)
    column, constant = (replay_log(log, file, replicas=1, bootstrap=0).results().rows for file in files)
    assert column == constant


def test_those_that_are_far_from_the_shares_are_refused(folder):
    (folder / "far.toml").write_text(PROBLEM % "constant = { control = 0.2, mail = 0.2, call = 0.6 }")
    with pytest.raises(InvalidInput, match=r"got the constants control 0\.2, mail 0\.2, call 0\.6, while the shares"):
        eh.value(folder / "log.csv", folder / "far.toml")


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ("{ control = 0.7, mail = 0.2 }", "a probability for each action (control, mail, call), got none for 'call'"),
        ("{ control = 0.7, mail = 0.2, call = 0.2 }", "probabilities of all actions that sum to 1, got a sum of 1.1"),
        ("{ control = 0.8, mail = 0.2, call = 0 }", "propensity.constant.call: expected a number in (0, 1], got 0"),
        ("{ control = 0.7, mail = 0.2, cal = 0.1 }", "one of control, mail, call, got cal (did you mean call?)"),
        ('{ control = 0.7, mail = 0.2, call = "x" }', "a number in (0, 1], or a table of them by action"),
        ("1.5", "a number in (0, 1], or a table of them by action"),
    ],
)
def test_those_that_are_none_are_refused(stated, message):
    with pytest.raises(InvalidInput, match=f"propensity.constant.*{re.escape(message.split(': ')[-1])}"):
        parse(PROBLEM % f"constant = {stated}", "p.toml")


def test_sums_that_were_rounded_are_taken():
    spec = parse(PROBLEM % "constant = { control = 0.333333, mail = 0.333333, call = 0.333333 }", "p.toml")
    assert spec.propensity == dict.fromkeys(CHANCES, 0.333333)


def test_a_draft_says_how_they_are_stated(folder):
    path = write(folder, table(["arm", "reward"], [["a" if i % 4 else "b", i % 2] for i in range(800)]), "two.csv")
    text = draft(path).text
    assert "# constant = { a = 0.75, b = 0.25 }" in text
    filled = re.sub(r'column = "\?" # The column of the prob.*', "constant = { a = 0.75, b = 0.25 }", text)
    assert parse(filled, "p.toml").propensity == {"a": 0.75, "b": 0.25}
