"""Policies that are planned for objectives of averages: against one conic program, bootstraps and the truth."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.objectives import AlphaFair, EqualExposure, GeneralizedGini, Linear, WeightedSum
from evenhand.offline import curve, value
from evenhand.offline.curve_policies import planned
from evenhand.offline.evidence import Tables
from evenhand.offline.plans.fold_plans import Crossed, FairFrontier, best as best_within, within
from evenhand.offline.plans.objectives import Aim
from evenhand.offline.scores import Estimate
from evenhand.problem import Budget, Outcome, Parity
from tests.objectives.twins import expression
from tests.offline.bootstraps import resampled
from tests.offline.folds import folds_of
from tests.offline.logs import draw, problem
from tests.offline.test_delta import OUTCOMES, WELFARE, drawn
from tests.rows import for_each

NAMES = ("sale", "visit")
OBJECTIVES = {
    **WELFARE,
    "least": GeneralizedGini(NAMES, (1.0, 0.0)),
    "both": WeightedSum(((1.0, Linear(dict.fromkeys(NAMES, 0.3))), (1.0, AlphaFair(NAMES, alpha=1.0, offset=0.01)))),
    "even": EqualExposure(NAMES),
}
MONEY = (Budget("cents", rate=0.5), Parity("cents", by="area", tolerance=0.05))


def amounts(seed, rows=80, unit=1.0):
    """What three actions are predicted to bring of three outcomes, and cost."""
    rng = np.random.default_rng(seed)
    tables = rng.random((3, rows, 3)) * np.array([1.0, 0.5, 0.2])[:, None, None] * unit + 0.05 * unit
    return tables, np.array([[0.0, 1.0, 2.0]]), rng.integers(0, 3, rows)


def optimum(objective, tables, cost, budget, groups=None, tolerance=0.0):
    """The optimum over lotteries of all rows at once, by Clarabel."""
    rows = tables.shape[1]
    p = cp.Variable(tables.shape[1:], nonneg=True)
    z = cp.hstack([cp.sum(cp.multiply(p, table)) / rows for table in tables])
    spent = cp.sum(p @ cost[0]) / rows
    kept = [cp.sum(p, 1) == 1, spent <= budget]
    for g in range(3 if groups is not None else 0):
        kept.append(cp.abs(cp.sum((p @ cost[0])[groups == g]) / (groups == g).sum() - spent) <= tolerance)
    asked = cp.Problem(cp.Maximize(expression(objective, z)), kept)
    asked.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return asked.value


def aim_of(objective, tables):
    names = ("sale", "visit", "cents")
    each = [tables[names.index(name)] for name in objective.outcomes]
    return Aim(objective, tuple(Tables(z, z) for z in each), np.full(len(each), 0.5)), np.stack(each)


@for_each("seed", range(3))
@pytest.mark.parametrize("name", OBJECTIVES)
def test_plans_are_within_a_millionth_of_the_optimum(name, seed):
    tables, cost, groups = amounts(seed)
    objective = OBJECTIVES[name]
    aim, each = aim_of(objective, tables)
    for budget in (0.0, 0.4, 1.2, 2.0):
        plan = aim.best(within(cost, budget))
        z = np.array([plan.of(table).mean() for table in each])
        best = optimum(objective, each, cost, budget)
        assert plan.of(cost).mean() <= budget + 1e-12
        assert abs(float(objective.value(z)) - best) <= 1e-6 * max(1.0, abs(best))
        lottery = plan.probabilities(3)
        assert lottery.sum(1) == pytest.approx(np.ones(len(lottery)))
        assert [(lottery * table).sum(1).mean() for table in each] == pytest.approx(z.tolist(), rel=1e-12)
    fair = aim.best(lambda worth: FairFrontier.of(worth, cost, groups).at(0.7, 0.02))
    z, spent = np.array([fair.of(table).mean() for table in each]), fair.of(cost)
    best = optimum(objective, each, cost, 0.7, groups, 0.02)
    assert abs(float(objective.value(z)) - best) <= 1e-6 * max(1.0, abs(best))
    assert max(abs(spent[groups == g].mean() - spent.mean()) for g in range(3)) <= 0.02 + 1e-9
    assert [(fair.probabilities(3) * table).sum(1).mean() for table in each] == pytest.approx(z.tolist(), rel=1e-12)


def test_units_of_outcomes_and_the_order_of_rows_change_no_plan():
    objective = OBJECTIVES["nash"]
    tables, cost, _ = amounts(4)
    plain = aim_of(objective, tables)[0].best(within(cost, 0.5)).probabilities(3)
    other = Aim(objective, tuple(Tables(1e4 * z, 1e4 * z) for z in tables[:2]), np.full(2, 5e3))
    assert other.best(within(100.0 * cost, 50.0)).probabilities(3) == pytest.approx(plain, abs=1e-3)
    back = tables[:, ::-1]
    turned = aim_of(objective, back)[0].best(within(cost, 0.5)).probabilities(3)
    assert turned[::-1] == pytest.approx(plain, abs=1e-3)


@pytest.mark.parametrize("name", ["nash", "gini", "least"])
def test_the_price_is_what_one_more_unit_brings(name):
    """By a difference of two optima; the price of a minimum is that of a linear program."""
    objective = OBJECTIVES[name]
    tables, cost, _ = amounts(5, 2000)
    aim, each = aim_of(objective, tables)

    def worth(budget):
        plan = aim.best(within(cost, budget))
        return float(objective.value(np.array([plan.of(table).mean() for table in each])))

    at = aim.at(aim.best(within(cost, 0.4)), Tables(cost, cost))
    assert at.value == pytest.approx(worth(0.4), abs=1e-6)
    assert at.spent == pytest.approx(0.4)
    assert at.price == pytest.approx((worth(0.42) - worth(0.38)) / 0.04, rel=0.02)


def by_folds(aim, cost, budget):
    """The lotteries of a log whose five folds are planned each for itself."""
    fold, found = folds_of(aim.rows, 5, 0), np.empty((aim.rows, 3))
    for k in range(5):
        rows = np.flatnonzero(fold == k)
        found[rows] = aim.part(rows).best(within(cost, budget)).probabilities(3)
    return found


def test_value_has_a_targeted_policy_for_welfare():
    log, means = drawn(WELFARE["nash"], rows=20_000)
    found = value(log)
    by_name = {p.policy: p for p in found.policies}
    mine = by_name["targeted, no budget"]
    best = max(by_name[f"all {name}"].value.value for name in log.names)
    assert mine.value.value > best + 3.0 * mine.value.se
    tables = log.tables()
    lottery = by_folds(Aim.of(log, tables), np.zeros((1, 3)), 0.0)
    truth = np.log((lottery * means).sum(1).mean()) + np.log(0.25 + 0.35 * lottery[:, 1].mean())
    assert abs(mine.value.value - truth) < 4.0 * mine.value.se
    assert mine.value.se < 0.05


def test_a_curve_of_welfare_has_values_of_averages():
    objective = WELFARE["nash"]
    log, _ = drawn(objective, kept=MONEY)
    found = curve(log, budgets=(0.1, 0.5, 0.9))
    tables, cost = log.tables(), log.problem.declared[None, :, 0]
    aim, by_name = Aim.of(log, tables), {line.name: line for line in found.lines}
    assert list(by_name) == ["targeted", "only small", "only large", "fair by area, 0.05", "as logged", "all none"]
    for i, budget in enumerate(found.budgets):
        lottery = by_folds(aim, cost, budget)
        terms = np.stack([(lottery * tables[o].scores).sum(1) for o in objective.outcomes], 1)
        v, z = by_name["targeted"].value[i], terms.mean(0)
        assert v.value == pytest.approx(float(objective.value(z)), rel=1e-9)
        c = (lottery * cost).sum(1)
        psi = (terms - z) @ (1.0 / z) - by_name["targeted"].price[i] * (c - c.mean())
        assert 0.999 < v.se / (psi.std(ddof=1) / np.sqrt(len(psi))) < 1.15  # with what folds have in common
        half = np.full((4000, 3), [1.0 - budget, budget, 0.0])
        mean = np.array([(half * tables[o].scores).sum(1).mean() for o in objective.outcomes])
        assert by_name["only small"].value[i].value == pytest.approx(float(objective.value(mean)), rel=1e-9)
        assert by_name["fair by area, 0.05"].spent[i] <= budget + 1e-9
    values = [v.value for v in by_name["targeted"].value]
    assert values[0] < values[1] < values[2]


def test_the_last_even_budget_is_the_least_that_the_best_policy_needs():
    log, _ = drawn(WELFARE["nash"], kept=MONEY)
    found = curve(log, budgets=3)
    free, fold = by_folds(Aim.of(log, log.tables()), np.zeros((1, 3)), 0.0), folds_of(4000, 5, 0)
    cost = (free * log.problem.declared[:, 0]).sum(1)
    assert found.budgets[-1] == pytest.approx(max(cost[fold == k].mean() for k in range(5)), abs=1e-3)
    assert found.lines[0].price[-1] == pytest.approx(0.0, abs=1e-3)


def test_averages_without_a_slope_are_refused_before_anything_is_printed():
    log, _ = drawn(AlphaFair(("sale", "cents"), alpha=1.0), kept=MONEY)
    with pytest.raises(
        InvalidInput, match="the averages of the best policy, outcome 'cents': expected an average above"
    ):
        curve(log, budgets=(0.0, 0.5))
    found = value(log)
    assert "targeted, cents 0.5" in [p.policy for p in found.policies]


@pytest.mark.slow
def test_standard_errors_of_planned_welfare_are_those_of_bootstraps():
    """Plans are made anew in 300 resamples, which have an error of 4.1 % themselves; the seeds are fixed."""
    objective = WELFARE["nash"]
    log, _ = drawn(objective, kept=MONEY)
    cost = log.problem.declared[None, :, 0]
    crossed, again = Crossed(log, 5, 0), []
    (at,) = planned(crossed, best_within((0.5,)), "cents")
    for counts in resampled(4000, 750, seed=2):
        for k in counts[:100]:
            z = np.zeros(2)
            for fold in crossed.rows.members:
                part = crossed.aim.part(np.repeat(fold, k[fold].astype(int)))
                plan = part.best(within(cost, 0.5))
                z += [plan.of(t.scores).sum() / 4000 for t in part.tables]
            again.append(float(objective.value(z)))
    assert Estimate.of(at.psi, 0.0).se == pytest.approx(np.std(again, ddof=1), rel=0.08)


def test_why_there_is_no_targeted_policy_is_said():
    free = problem(outcomes=(*OUTCOMES, Outcome("fee", known={})), maximize=AlphaFair(("sale", "fee"), alpha=1.0))
    log, _ = drawn(WELFARE["nash"])
    found = value(replace(log, problem=free, known=free.declared[None]))
    assert [p.policy for p in found.policies] == ["as logged", "all none", "all small", "all large"]
    assert any(note.startswith("no 'targeted, cents 0.4': ") and "'fee'" in note for note in found.notes)
    log = draw(400, 3).evidence
    found = value(replace(log, known=log.known + 1.0))  # of cases that are dearer than usual
    assert "no 'targeted, cents 0.4': the cheapest actions cost 1 per case" in found.notes


def test_welfare_of_what_is_known_is_planned_as_any_other():
    """No table has the rows of the log, as every case has the same amounts."""
    known = {"small": 1.0, "large": 0.2}
    outcomes = (Outcome("sale"), Outcome("songs", known=known), Outcome("films", known={"small": 0.1, "large": 1.5}))
    least = GeneralizedGini(("songs", "films"), (1.0, 0.0))
    stated = problem(outcomes=outcomes, maximize=least, subject_to=(Budget("songs", rate=0.5),))
    log = draw(600, 3, stated=stated).evidence
    targeted = value(log).policies[-1]
    # of shares s and l of both letters: s + .2 l <= .5, and .1 s + 1.5 l is no less
    assert targeted.value.value == pytest.approx(0.5, abs=1e-6)
    assert targeted.used["songs"].value <= 0.5 + 1e-9
    assert all(0.0 <= line.value[0].value <= 0.5 + 1e-9 for line in curve(log, budgets=[0.5]).lines)


def test_welfare_of_costs_that_all_rows_share_has_standard_errors():
    """No row says anything about what is known: every line has the value of its averages, and no error."""
    goal, costs = AlphaFair(("cents", "work"), alpha=1.0, offset=0.1), ([0.0, 1.0, 2.0], [1.0, 0.0, 0.5])
    outcomes = tuple(
        Outcome(name, known=dict(zip(("none", "small", "large"), own, strict=True)))
        for name, own in zip(goal.outcomes, costs, strict=True)
    )
    p = problem(outcomes=(Outcome("sale"), *outcomes), maximize=goal, subject_to=(Budget("cents", rate=0.7),))
    log = replace(draw(60, 0).evidence, problem=p, known=p.declared[None])
    assert Aim.of(log, log.tables()).rows == log.rows
    found = {line.name: line for line in curve(log, budgets=[0.2, 0.7]).lines}
    assert set(found) == {"targeted", "only small", "only large", "as logged", "all none"}
    for name, action in (("only small", 1), ("only large", 2)):
        for i, budget in enumerate((0.2, 0.7)):
            share = budget / costs[0][action]
            averages = [(1 - share) * cost[0] + share * cost[action] for cost in costs]
            assert found[name].value[i].pair == pytest.approx((float(goal.value(np.array(averages))), 0.0), abs=1e-9)
            assert found[name].less[i].se == pytest.approx(0.0, abs=1e-9)
    assert all(one.value >= -1e-6 for one in found["only large"].less)
