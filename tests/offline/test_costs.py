"""Budgets on outcomes that are learned: plans by predictions, uses by scores, and how often their intervals hold."""

import numpy as np
import pytest

from evenhand.offline import Evidence, assign, curve, value
from evenhand.offline.cautions import sure
from evenhand.offline.plans.fold_plans import Crossed, best
from evenhand.offline.scores import Average
from tests.offline.test_assignments import HEAD, files
from tests.offline.use_coverage import RATE, STATED, drawn, measured


@pytest.fixture(scope="module")
def log():
    return drawn(3000, 1)


def doubly_robust(policy, scores):
    return Average.of((policy * scores).sum(1)).estimate


def test_a_plan_keeps_to_the_budget_by_predictions_and_its_use_is_judged_by_scores(log):
    found, crossed = value(log), Crossed(log, 5, 0)
    policy = next(p for p in found.policies if p.policy == f"targeted, call {RATE:.4g}")
    plan, tables = next(crossed.plans(best([RATE]), "call")).own, crossed.tables
    lottery = plan.probabilities(3)
    for rows in crossed.rows.members:
        assert (lottery * tables["call"].predicted)[rows].sum(1).mean() == pytest.approx(RATE, rel=1e-9)
    cases = log.clusters.effective(lottery[np.arange(log.rows), log.actions] / log.propensities)
    used = doubly_robust(lottery, tables["call"].scores).counted(cases, (0.0, 1.0))
    assert policy.used["call"].pair == pytest.approx(used.pair)
    assert policy.used["call"].interval == pytest.approx(used.interval)
    assert policy.kept[0].confidence == pytest.approx(sure(used, RATE))
    assert 0.0 < policy.kept[0].confidence < 1.0
    assert policy.value.value == pytest.approx(doubly_robust(lottery, tables["sale"].scores).value)


def test_a_curve_says_how_surely_each_budget_is_kept(log):
    found, crossed = curve(log, budgets=(0.1, 0.3)), Crossed(log, 5, 0)
    line, plans = found.lines[0], crossed.plans(best(found.budgets), "call")
    for i, (budget, plan) in enumerate(zip(found.budgets, plans, strict=True)):
        lottery, use = plan.own.probabilities(3), crossed.tables["call"]
        assert (lottery * use.predicted).sum(1).mean() == pytest.approx(budget)
        assert line.spent[i] == pytest.approx(budget)
        assert line.used[i].pair == pytest.approx(doubly_robust(lottery, use.scores).pair)
    said = str(found)
    assert "call used, 95 %, confidence" in said
    low, high = line.used[0].interval
    assert f"{line.used[0].value:.4f} ({low:.4f} to {high:.4f}), {sure(line.used[0], 0.1):.1%}" in said
    assert "Plans keep to the budget by predictions of call, so that it holds on average alone." in said
    assert found.page().parts[-1].title == "How surely the budget of call is kept"
    row = found.to_frame().iloc[0]
    assert (row["used"], row["se used"], row["confidence"]) == (*line.used[0].pair, sure(line.used[0], 0.1))
    measured_ = [z for z in found.results().rows if z.metric == "confidence in the budget" and z.system == "targeted"]
    assert [z.mean for z in measured_] == [sure(u, b) for u, b in zip(line.used, found.budgets, strict=True)]


def test_a_list_keeps_to_a_learned_budget_by_predictions(tmp_path):
    more = '[[budget]]\noutcome = "calls"\nrate = 0.2\n'
    cases, problem = files(tmp_path, "")
    problem.write_text(HEAD.replace("sale = {", "calls = { range = [0, 1] }, sale = {") + more)
    log, rng = tmp_path / "log.csv", np.random.default_rng(0)
    head, *lines = log.read_text().splitlines()
    called = [f"{line},{int(rng.random() < 0.1 + 0.5 * ('call' in line))}" for line in lines]
    log.write_text("\n".join([f"{head},calls", *called]) + "\n")
    found = assign(cases, problem, learn_from=log)
    (used,) = found.budgets
    assert used.learned
    assert found.expected["calls"].sum() == pytest.approx(used.spent)
    assert 0.97 * 60.0 <= used.spent <= 60.0 + 1e-9
    assert "by predictions" in found.headline()
    reading = [part.reading for part in found.page().parts if part.title.startswith("The budget: calls")]
    assert "predicted to use" in reading[0]


def test_nothing_but_a_learned_cost_that_the_log_has_where_it_arose(tmp_path):
    """Minutes are written down for calls alone, and no outcome is known."""
    rng, lines = np.random.default_rng(4), ["age;sent;sale;minutes"]
    for i in range(600):
        sent, age = ("no", "letter", "call")[i % 3], rng.integers(20, 60)
        minutes = f"{rng.uniform(4, 12):.1f}".replace(".", ",") if sent == "call" else ""
        lines.append(f"{age},5;{sent};{int(rng.random() < 0.2 + (age > 40) * (sent == 'call') * 0.3)};{minutes}")
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    problem = tmp_path / "problem.toml"
    problem.write_text("""
maximize = "sale"
horizon = 100
log = { decimal = "," }
features = { numeric = ["age"] }
action = { column = "sent", values = { no = "none", letter = "letter", call = "call" } }
propensity = { constant = 0.333333 }
outcomes = { sale = { range = [0, 1] }, minutes = { range = [0, 20], free = ["none", "letter"] } }
budget = [{ outcome = "minutes", rate = 1.5 }]
""")
    log = Evidence.read(tmp_path / "log.csv", problem)
    assert log.rows == 600
    assert (log.outcomes[log.actions == 2, 1] >= 4.0).all()
    assert not log.outcomes[log.actions != 2, 1].any()
    found = value(log, rules=["call where age > 40,5; else none"])
    policies = {p.policy: p for p in found.policies}
    assert policies["targeted, minutes 1.5"].used["minutes"].value == pytest.approx(1.5, rel=0.1)
    assert policies["call where age > 40,5; else none"].used["minutes"].value == pytest.approx(4.0, rel=0.2)
    assert curve(log, budgets=(0.5,)).lines[0].spent[0] == pytest.approx(0.5)
    (tmp_path / "cases.csv").write_text("who;age\n" + "A;25,5\nB;55,5\n" * 50)
    (spent,) = assign(tmp_path / "cases.csv", problem, learn_from=tmp_path / "log.csv").budgets
    assert 130.0 < spent.spent <= 150.0


def test_intervals_of_learned_uses_hold_them():
    """60 logs: a share of .95 has a standard error of 2.8 %, of which this takes 3.9."""
    assert STATED.learned == ("sale", "call")
    assert measured(60, first=10_000)["covered"] > 0.84


@pytest.mark.slow
def test_intervals_of_learned_uses_hold_them_as_often_as_they_say():
    """600 logs: a share of .95 has a standard error of .9 %."""
    assert 0.935 <= measured(600)["covered"] <= 0.965
