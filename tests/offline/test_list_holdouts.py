"""Holdouts of lists: what each lottery plays, what it costs, and that the list says so."""

import numpy as np
import pytest

from evenhand.cli import main
from evenhand.core.errors import InvalidInput
from evenhand.offline import assign
from tests.offline.test_assignments import BUDGET, PARITY, files

COST = np.array([0.0, 1.0, 3.0])
LOTTERIES = {
    "uniform": [1 / 3, 1 / 3, 1 / 3],
    "none": [1.0, 0.0, 0.0],
    "letter": [0.0, 1.0, 0.0],
    "letters": [0.75, 0.25, 0.0],
}


def stated(name):
    return {"none": 0.75, "letter": 0.25} if name == "letters" else name


@pytest.mark.parametrize("name", LOTTERIES)
def test_a_lottery_plays_and_costs_what_it_says(tmp_path, name):
    cases, problem = files(tmp_path, BUDGET)
    alone = assign(cases, problem, learn_from=tmp_path / "log.csv")
    chances, planned = np.array(LOTTERIES[name]), []
    for seed in range(3):
        found = assign(cases, problem, learn_from=tmp_path / "log.csv", holdout=0.2, lottery=stated(name), seed=seed)
        held, out = found.holdout, found.held_out
        assert held.cases == out.sum()
        assert list(held.chances.values()) == pytest.approx(chances)
        assert held.used[0].spent == COST[found.chosen[out]].sum()
        assert found.budgets[0].spent == COST[found.chosen].sum() <= 120
        shares = np.bincount(found.chosen[out], minlength=3) / held.cases
        assert shares == pytest.approx(chances, abs=0.1)  # 60 cases
        assert held.less == pytest.approx(alone.expected["sale"].sum() - found.expected["sale"].sum())
        assert found.probability[~out].min() >= 0.8
        by_lottery = out & (found.probability < 0.8)  # not what the plan played as well
        assert found.probability[by_lottery] == pytest.approx(0.2 * chances[found.chosen[by_lottery]])
        planned.append(held.less)
        assert str(held) in str(found)
        assert f"there are {held}." in found.summary()
    assert min(planned) > 0.0


def test_the_lottery_of_the_plan_has_its_shares_and_costs_about_as_much(tmp_path):
    """Of 300 cases with a budget of 120, a fifth of the cases has a fifth of it, within what chance moves."""
    cases, problem = files(tmp_path, BUDGET)
    alone = assign(cases, problem, learn_from=tmp_path / "log.csv")
    found = assign(cases, problem, learn_from=tmp_path / "log.csv", holdout=0.2, lottery="plan")
    assert list(found.holdout.chances.values()) == pytest.approx(np.bincount(alone.chosen, minlength=3) / 300)
    assert found.holdout.used[0].spent == pytest.approx(24, abs=8)
    none = assign(cases, problem, learn_from=tmp_path / "log.csv", holdout=0.2, lottery="none")
    even = assign(cases, problem, learn_from=tmp_path / "log.csv", holdout=0.2)
    assert none.holdout.used[0].spent == 0.0
    assert even.holdout.used[0].spent > 60  # half of the budget and more
    assert found.holdout.less < even.holdout.less
    assert none.holdout.less < even.holdout.less


def test_a_budget_that_pays_for_no_uniform_holdout_pays_for_one_of_nothing(tmp_path):
    cases, problem = files(tmp_path, BUDGET + PARITY)
    with pytest.raises(InvalidInput, match="which the cheapest actions and the holdout cost"):
        assign(cases, problem, learn_from=tmp_path / "log.csv", holdout=0.5, budget=100.0)
    found = assign(cases, problem, learn_from=tmp_path / "log.csv", holdout=0.5, budget=100.0, lottery="none")
    assert found.budgets[0].spent <= 100


@pytest.mark.parametrize(
    ("lottery", "said"),
    [
        ("noone", r"lottery: expected uniform, plan, or actions, .* got noone \(did you mean none\?\)"),
        ({"none": 0.5}, "lottery: expected chances that sum to 1, got a sum of 0.5"),
        ({"none": 1.5, "call": -0.5}, r"lottery\['none'\]: expected a chance in \[0, 1\], got 1.5"),
        ({}, "chances that sum to 1"),
    ],
)
def test_wrong_lotteries_are_refused(tmp_path, lottery, said):
    cases, problem = files(tmp_path)
    with pytest.raises(InvalidInput, match=said):
        assign(cases, problem, learn_from=tmp_path / "log.csv", holdout=0.1, lottery=lottery)


def test_the_command_says_what_a_holdout_costs_before_it_writes(tmp_path, capsys):
    cases, problem = files(tmp_path)
    args = ["assign", str(cases), "--problem", str(problem), "--learn-from", str(tmp_path / "log.csv")]
    args += ["--holdout", "0.1", "--out", str(tmp_path / "out.csv")]
    assert main([*args, "--lottery", "none=0.9, letter=0.1"]) == 0
    said = capsys.readouterr().out
    assert "cases held out: none 90.0%, letter 10.0%; they use " in said.split("written: ")[0]
    assert " sale less than without a holdout" in said.split("written: ")[0]
    assert main([*args, "--lottery", "none"]) == 0
    assert "cases held out: 'none' for all of them; they use 0 of 120 post, and" in capsys.readouterr().out
    assert main([*args, "--lottery", "none=much"]) != 0
    assert "lottery: expected chances by action, such as none=0.8,letter=0.2" in capsys.readouterr().err


def test_actions_that_are_called_like_lotteries_are_stated_with_their_chance(tmp_path, capsys):
    cases, problem = files(tmp_path)
    text = problem.read_text().replace('"none"', '"uniform"').replace('"letter"', '"plan"')
    problem.write_text(text.replace("letter = 1", "plan = 1"))
    args = ["assign", str(cases), "--problem", str(problem), "--learn-from", str(tmp_path / "log.csv")]
    args += ["--holdout", "0.1", "--out", str(tmp_path / "out.csv"), "--lottery"]
    for lottery in ("plan", "uniform"):
        assert main([*args, f"{lottery}=1"]) == 0
        assert f"cases held out: '{lottery}' for all of them; they use" in capsys.readouterr().out
        assert main([*args, lottery]) == 0
        assert f"'{lottery}' for all of them" not in capsys.readouterr().out


def test_a_holdout_of_nobody_says_so(tmp_path):
    cases, problem = files(tmp_path)
    found = assign(cases, problem, learn_from=tmp_path / "log.csv", holdout=1e-6)
    said = "o case is held out: the share is too small for so few cases, and nothing can judge the list"
    assert found.holdout.cases == 0
    assert f"\nn{said}\n" in str(found)
    assert found.summary().endswith(f" N{said}.")
