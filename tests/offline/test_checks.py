"""Checks of what is asked of a log, at the top of what is printed and in the results."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from evenhand.offline import assign, curve, value
from evenhand.offline.cautions import doubts, idle, support
from evenhand.offline.evidence import Tables
from evenhand.problem import Budget
from tests.offline.logs import draw, problem
from tests.offline.test_commands import PROBLEM


@pytest.fixture(scope="module")
def log():
    return draw(4000, 5).evidence


def test_right_logs_have_nothing_to_say(log):
    for found in (value(log), curve(log, budgets=3)):
        assert set(found.checks) >= {"propensities", "features", "overlap", "groups", "support", "budget"}
        assert not any(found.checks.values())
        assert "check:" not in str(found)


def test_what_is_wrong_is_said_at_the_top_and_written(log, tmp_path):
    wrong = replace(log, propensities=np.where(log.actions == 1, 0.8, 1.0) * log.propensities)
    for ask in (value, partial(curve, budgets=3)):
        found = ask(wrong, out=tmp_path)
        assert str(found).split("\n")[2].startswith("check: the propensities do not fit the log: rows with 'small'")
        kept = json.loads((tmp_path / "results.json").read_text())["checks"]
        assert kept == dict(found.checks)
        assert kept["overlap"] is None


def test_features_that_came_after_the_action(log):
    features = np.column_stack([log.features, log.outcomes[:, 0] + (log.actions == 2)])
    found = value(replace(log, features=features))
    assert "check: 'feature 5' differs between actions given the propensities" in str(found)


def test_policies_that_few_rows_agree_with(log):
    seldom = np.tile([1.0, 0.0, 0.0], (4000, 1))
    assert support(doubts(log, {"none": seldom})) is None
    few = replace(log, actions=np.where(np.arange(4000) < 20, 2, log.actions % 2))
    said = support(doubts(few, {"none": seldom, "large": np.tile([0.0, 0.0, 1.0], (4000, 1))}))
    assert said == "'large' rests on 20 effective cases, too few for its intervals"


def test_policies_that_play_what_was_never_logged():
    """Large letters never go to the third of rows with the lowest first trait."""
    log = draw(6000, 11).evidence
    hole = log.features[:, 1] < -0.43
    actions = np.where(hole & (log.actions == 2), 0, log.actions)
    p = np.where(hole, np.array([2 / 3, 1 / 3, 1.0])[actions], 1 / 3)
    log = replace(log, actions=actions, propensities=p)
    large, elsewhere = np.eye(3)[np.full(6000, 2)], np.eye(3)[np.where(hole, 0, 2)]
    said = support(doubts(log, {"large": large, "elsewhere": elsewhere}))
    missing = float(said.partition("'large' plays in ")[2].partition("%")[0]) / 100
    assert missing == pytest.approx(hole.mean(), abs=0.03)
    assert said.endswith("of its cases what was never logged there, if the propensities are right: its value there is "
                         "a model's guess, without an interval")  # fmt: skip
    assert support(doubts(log, {"elsewhere": elsewhere})) is None
    assert "check: 'all large' plays in 3" in str(value(log))
    assert "'large' was never drawn in " in value(log).checks["overlap"]


def test_budgets_that_never_bind(log):
    for rate, binds in ((0.4, True), (1.9, False), (2.0, False)):
        stated = replace(log, problem=problem(subject_to=(Budget("cents", rate=rate),)))
        for found in (value(stated), curve(stated, budgets=3)):
            said = found.checks["budget"]
            assert (said is None) == binds
            assert binds or said.startswith(f"the budget of {rate:g} cents per case never binds: the best policy uses ")


def test_the_best_policy_without_a_budget_takes_the_cheapest_of_equals():
    worth = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.5]])
    cost = np.array([[3.0, 1.0, 0.0]])
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        tables = {"cents": Tables(cost[:, order], cost[:, order])}
        assert idle(worth[:, order], tables, {"cents": 0.49}) is None
        assert idle(worth[:, order], tables, {"cents": 3.0}) == (
            "the budget of 3 cents per case never binds: the best policy uses 0.5 without it"
        )
        assert idle(worth[:, order], tables, {}) is None


def test_a_budget_is_not_judged_without_the_others():
    """The best policy uses few minutes without a budget of cents, but it is too dear."""
    worth, tables = np.array([[0.0, 1.0, 0.9]] * 2), {}
    for name, cost in (("cents", [0.0, 2.0, 0.5]), ("minutes", [0.0, 0.5, 2.0])):
        tables[name] = Tables(np.array([cost]), np.array([cost]))
    assert idle(worth, tables, {"minutes": 1.0, "cents": 1.0}) is None
    assert idle(worth, tables, {"cents": 1.0, "minutes": 1.0}) is None
    assert idle(worth, tables, {"minutes": 1.0, "cents": 3.0}) == (
        "the budgets of 1 minutes and 3 cents per case never bind: the best policy uses 0.5 and 2 without them"
    )


def test_a_curve_does_not_judge_its_budget_without_the_others(log):
    """The best policy uses few cents without a budget, but brings more sales than the other one allows."""
    both = replace(log, problem=problem(subject_to=(Budget("cents", rate=1.9), Budget("sale", rate=0.25))))
    assert curve(both, budgets=3).checks["budget"] is None
    alone = replace(log, problem=problem(subject_to=(Budget("cents", rate=1.9),)))
    assert curve(alone, budgets=3).checks["budget"] is not None


def test_lists_say_what_is_wrong_with_their_log(tmp_path):
    rng, lines = np.random.default_rng(0), ["age,town,sent,p,sale"]
    for i in range(600):
        sent = rng.random() < 0.5
        age = 20 + int(rng.integers(31)) + 5 * sent  # the age is written after the letter
        lines.append(f"{age},{'AB'[i % 2]},{'letter' if sent else 'no'},0.5,{int(rng.random() < 0.3)}")
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "list.csv").write_text("age,town\n" + "".join(f"{20 + i},{'AB'[i % 2]}\n" for i in range(30)))
    (tmp_path / "problem.toml").write_text(PROBLEM)
    files = tmp_path / "list.csv", tmp_path / "problem.toml"
    found = assign(*files, learn_from=tmp_path / "log.csv")
    assert str(found).split("\n")[2].startswith("check: 'age' differs between actions given the propensities: under ")
    assert "The list is not to be relied on, as the log fails the check of its features" in found.summary()
    found = assign(*files, learn_from=tmp_path / "log.csv", budget=30)
    assert "check: the budget of 1 post per case never binds" in str(found)
