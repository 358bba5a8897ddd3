"""Targeted policies within several limits: optima in every fold, their influence, and errors over drawn logs."""

import re
from dataclasses import replace

import numpy as np
import pytest

from evenhand.core.errors import InfeasibleProblem
from evenhand.objectives import Linear
from evenhand.offline import curve, value
from evenhand.offline.curve_policies import limit_of, others_of, planned
from evenhand.offline.outcome_models import RidgeByErrors, members_of
from evenhand.offline.plans.allocation import Resource, allocate
from evenhand.offline.plans.fold_plans import Crossed, fixed_limits, program
from evenhand.offline.plans.limits import Bound
from evenhand.offline.plans.planned_policies import ProgramPlan
from evenhand.offline.policies import policies_of
from evenhand.problem import Budget, Floor, Outcome, Parity
from tests.offline.curve_coverage import drawn, means
from tests.offline.logs import COSTS, draw, problem
from tests.offline.test_limits import by_highs

PAPER = np.array([0.0, 0.2, 1.0])
KNOWN = {"cents": {"small": 1.0, "large": 2.0}, "paper": {"large": 1.0, "small": 0.2}}
OUTCOMES = (Outcome("sale"), *(Outcome(name, known=known) for name, known in KNOWN.items()))
LIMITS = (Budget("cents", rate=0.5), Budget("paper", rate=0.14), Floor("visit", rate=0.31))


def stated(*subject_to, **other):
    return problem(outcomes=OUTCOMES, subject_to=subject_to, **other)


def test_the_first_budget_of_the_file_is_the_one_that_curves_vary():
    budgets = Budget("sale", rate=0.4), Budget("cents", rate=0.6)
    for first, second in (budgets, budgets[::-1]):
        found = limit_of(draw(300, 2, stated=stated(first, second)).evidence)
        assert found == (first.outcome, pytest.approx(first.rate), first.outcome == "sale")


def test_every_fold_has_the_optimum_within_all_limits():
    limits = Budget("cents", rate=0.6), Budget("paper", rate=0.2), Parity("cents", by="area", tolerance=0.05)
    log = draw(1500, 2, stated=stated(*limits, Floor("sale", rate=0.3))).evidence
    crossed, limit = Crossed(log, 3, 0), limit_of(log)
    fixed = fixed_limits(log, others_of(log, limit))
    (plan,) = crossed.own(program(fixed, limit.outcome, [limit.rate]), limit.outcome)
    for part, fold in zip(plan.parts, crossed.each_fold(limit.outcome), strict=True):
        cost = Resource.budget(fold.cost, limit.rate)
        paper = Resource.budget(PAPER[None], 0.2)
        even = Resource.parity(fold.cost, log.groups["area"][fold.rows], 0.05)
        sold = Resource.of_groups(-fold.aim.worth, None, np.ones((1, 1)), np.array([-0.3]))
        best = by_highs(fold.aim.worth, [cost, paper, even, sold])
        assert part.of(fold.aim.worth).mean() == pytest.approx(best, rel=1e-6)
        assert part.of(fold.cost).mean() <= 0.6 + 1e-6
        lottery = part.probabilities(3)
        assert (lottery * fold.aim.worth).sum(1) == pytest.approx(part.of(fold.aim.worth))
        assert part.total(PAPER[None]) == pytest.approx((lottery @ PAPER).sum())


def test_influence_is_the_derivative_of_the_optimum_by_the_weight_of_a_row():
    luck = np.random.default_rng(4)
    worth, cost, sales = luck.normal(size=(60, 3)), COSTS[None], luck.random((60, 3))
    groups, step = luck.integers(0, 3, 60), 1e-5

    def limits(weights):
        """The program of rows with some weights, as sums over copies of rows: `Resource` has shares of groups."""
        shares = np.bincount(groups, weights)
        floors = np.diag(1.0 / shares)
        return [
            Resource.budget(cost, 0.7),
            Resource.of_groups(-sales, groups, floors, np.full(3, -0.55), floors),
            Resource.parity(cost, groups, 0.1),
        ]

    plain = limits(np.full(60, 1.0 / 60.0))
    found = allocate(worth, plain, np.arange(60))
    plan = ProgramPlan(found, [Bound("", z) for z in plain])
    psi = plan.of(worth) - plan.offset(plan.of(cost))
    psi -= psi.mean()
    assert sum(float(z.max()) > 0.0 for z in found.prices) == 3

    def optimum(weights):
        shares = np.bincount(groups, weights)
        inside = np.eye(3)[:, groups] * weights
        rows = [weights[:, None] * cost, *(-inside[g][:, None] * sales / shares[g] for g in range(3))]
        apart = [(inside[g] / shares[g] - weights)[:, None] * cost for g in range(3)]
        each = [*rows, *apart, *(-z for z in apart)]
        most = [0.7, *([-0.55] * 3), *([0.1] * 6)]
        stacked = [
            Resource.of_groups(60.0 * u, None, np.ones((1, 1)), np.array([m])) for u, m in zip(each, most, strict=True)
        ]
        return by_highs(60.0 * weights[:, None] * worth, stacked)

    for row in range(0, 60, 7):
        weights = np.ones(60)
        weights[row] += 60.0 * step
        moved = (optimum(weights / weights.sum()) - optimum(np.full(60, 1.0 / 60.0))) / step
        assert moved == pytest.approx(psi[row], abs=2e-3)


VISITS = (Outcome("sale"), Outcome("visit"), *OUTCOMES[1:])
THREE = problem(outcomes=VISITS, subject_to=LIMITS)


def two_outcomes(seed, rows):
    """A log with sales and visits."""
    rng = np.random.default_rng(seed)
    log, again = drawn(rng, rows, 3, 0.3, 0.05), np.random.default_rng(900 + seed)
    chance = visits(log.features[:, 1:])[np.arange(rows), log.actions]
    both = np.column_stack([log.outcomes[:, 0], again.random(rows) < chance])
    return replace(log, problem=THREE, outcomes=both.astype(float), known=THREE.declared[None])


def visits(traits):
    return 0.2 + 0.1 * np.tanh(traits[:, 1:2]) * np.array([1.0, 0.0, -1.0]) + np.array([0.0, 0.3, 0.05])


def truth(log, crossed, traits):
    """What the plans for folds are worth in a population, by the models of each fold."""
    cases, found = np.column_stack([np.ones(len(traits)), traits]), 0.0
    for mine in members_of(np.arange(log.rows), crossed.folds, crossed.seed):
        others, q = np.setdiff1d(np.arange(log.rows), mine), []
        for m in range(2):
            each = [others[log.actions[others] == a] for a in range(3)]
            q.append(
                np.stack([RidgeByErrors().fit(log.features[z], log.outcomes[z, m]).predict(cases) for z in each], 1)
            )
        worth, seen = (np.clip(z, 0.0, 1.0) for z in q)
        plan = within(worth, seen)
        found += len(mine) / log.rows * float((plan * means(traits, 3, 0.3, 0.05)).sum(1).mean())
    return found


def within(worth, seen):
    limits = [
        Resource.budget(COSTS[None], 0.5),
        Resource.budget(PAPER[None], 0.14),
        Resource.of_groups(-seen, None, np.ones((1, 1)), np.array([-0.31])),
    ]
    return np.eye(3)[allocate(worth, limits, np.arange(len(worth)), free=500).actions]


def errors(logs, rows=3000):
    """By log, the error of the value within two budgets and a floor, its standard error, and prices."""
    found = []
    for seed in range(logs):
        log, traits = two_outcomes(seed, rows), np.random.default_rng(5000 + seed).standard_normal((20_000, 3))
        crossed, limit = Crossed(log, 3, seed), limit_of(log)
        planner = program(fixed_limits(log, others_of(log, limit)), limit.outcome, [limit.rate])
        (at,) = planned(crossed, planner, limit.outcome)
        prices = np.mean([np.concatenate(part.found.prices) for part in at.policy.parts], 0)
        found.append([at.value - truth(log, crossed, traits), at.estimate.se, *prices])
    return np.array(found)


@pytest.mark.slow
def test_values_within_two_budgets_and_a_floor_are_unbiased_and_their_intervals_hold():
    found = errors(200)
    error, binds = found[:, 0], (found[:, 2:] > 1e-9).mean(0)
    assert abs(error.mean()) <= 2.0 * error.std() / np.sqrt(200)
    assert (np.abs(error / found[:, 1]) < 1.96).mean() >= 0.9
    assert (binds > 0.3).all()


def test_limits_that_exclude_each_other_are_named_by_values_and_curves():
    log = draw(900, 3, stated=stated(Budget("cents", rate=0.05), Floor("sale", rate=0.4))).evidence
    (told,) = (note for note in value(log, folds=3).notes if "all limits" in note)
    pattern = (
        r"no plan keeps to the budget of cents \((.+) per case is what the others allow\) "
        r"and sale per case, at least 0.4 \((.+) per case is what the others allow\)"
    )
    assert re.match(f"no 'targeted, all limits': {pattern}", told)
    floor = r"no plan keeps to sale per case, at least 0.9 \((.+) per case is what the others allow\)"
    with pytest.raises(InfeasibleProblem, match=floor):  # as no budget of a curve is enough
        curve(replace(log, problem=stated(Budget("cents", rate=0.05), Floor("sale", rate=0.9))), folds=3)


def test_a_cost_is_minimised_for_a_stated_volume():
    log = draw(1200, 5, stated=stated(Floor("sale", rate=0.4))).evidence
    log = replace(log, problem=stated(Floor("sale", rate=0.4), maximize=Linear({"cents": -1.0})))
    found = value(log, folds=3)
    (plan,) = (p for p in found.policies if p.policy == "targeted, all limits")
    crossed = Crossed(log, 3, 0)
    (own,) = crossed.own(program(fixed_limits(log, others_of(log, None)), None, [0.0]), None)
    for part, fold in zip(own.parts, crossed.each_fold(None), strict=True):
        predicted = fold.tables["sale"].predicted
        floor = Resource.of_groups(-predicted, None, np.ones((1, 1)), np.array([-0.4]))
        least = -by_highs(np.broadcast_to(-COSTS, predicted.shape), [floor])
        assert part.of(COSTS[None]).mean() == pytest.approx(least, abs=1e-6)
    assert plan.value.value == pytest.approx(-own.of(COSTS[None]).mean())
    (told,) = (note for note in found.notes if note.startswith("a limit that gives way by one unit"))
    assert re.search(r"so much .*: [.0-9]+ for sale per case, at least 0.4$", told)


def test_a_plan_within_all_limits_is_the_same_in_other_units():
    plans = []
    for sales, money in ((1.0, 1.0), (1000.0, 1.0), (1.0, 1e-4), (1000.0, 1e-4)):
        known = {name: {k: money * z for k, z in known.items()} for name, known in KNOWN.items()}
        outcomes = Outcome("sale", high=sales), *(Outcome(name, known=z) for name, z in known.items())
        limits = Budget("cents", rate=0.5 * money), Budget("paper", rate=0.14 * money)
        limits = *limits, Parity("cents", by="area", tolerance=0.05 * money), Floor("sale", rate=0.3 * sales)
        log = draw(900, 8, stated=problem(outcomes=outcomes, subject_to=limits)).evidence
        found = policies_of(Crossed(replace(log, outcomes=sales * log.outcomes), 3, 0))
        plans.append(found.policies["targeted, all limits"])
    for other in plans[1:]:
        assert other == pytest.approx(plans[0], abs=1e-6)


def test_fair_lines_and_targeted_ones_keep_to_a_second_budget():
    limits = Budget("cents", rate=0.4), Budget("paper", rate=0.1), Parity("cents", by="area", tolerance=0.02)
    log = draw(900, 6, stated=stated(*limits)).evidence
    found = curve(log, budgets=(0.2, 0.4), folds=3)
    assert [line.name for line in found.lines] == [
        "targeted",
        "only small",
        "only large",
        "fair by area, 0.02",
        "as logged",
        "all none",
    ]
    fixed = fixed_limits(log, others_of(log, limit_of(log))[:1])
    plans = Crossed(log, 3, 0).own(program(fixed, "cents", (0.2, 0.4)), "cents")
    for plan, spent in zip(plans, found.lines[0].spent, strict=True):
        assert plan.of(PAPER[None]).mean() <= 0.1 + 1e-6
        assert spent == pytest.approx(plan.of(COSTS[None]).mean())
