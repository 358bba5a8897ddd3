"""Which problems can be kept to, by brute force over the sets of actions that a round may play."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.environments import Court, FixedContexts
from evenhand.models import Fixed, Ridge
from evenhand.problem import Budget, Floor, Outcome, Problem, Rows, Within
from evenhand.problem.feasible import feasible, reach
from evenhand.problem.rows import select
from evenhand.recipes import fw_linucb, lin_cbwk
from evenhand.recipes.baselines import even_lottery
from evenhand.recipes.hedge import even_budgets
from evenhand.recipes.terms import Terms
from evenhand.sets import Ball, Box, Halfspaces
from tests.examples.problems import EVERYTHING


def stated(seed, plays):
    """Random costs of few actions, budgets and sometimes a floor near what is possible."""
    rng = np.random.default_rng(seed)
    a, d = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    actions = tuple(f"a{i}" for i in range(a))
    costs = np.round(rng.random((d, a)), 1)
    rates = np.maximum(costs.mean(1) * min(plays, a) * rng.uniform(0.6, 1.1, d), 0.01)
    kinds = [Budget(f"c{j}", rate=float(rates[j])) for j in range(d)]
    if d > 1 and seed % 3 == 0:
        kinds[0] = Floor("c0", rate=float(rates[0]))
    outcomes = [Outcome(f"c{j}", known=dict(zip(actions, costs[j].tolist(), strict=True))) for j in range(d)]
    sign = np.array([-1.0 if isinstance(k, Floor) else 1.0 for k in kinds])
    options = {"actions": actions, "outcomes": (Outcome("gain"), *outcomes), "maximize": "gain", "horizon": 50}
    return options | {"subject_to": tuple(kinds), "n_plays": plays}, sign[:, None] * costs, sign * rates


@pytest.mark.parametrize("plays", [1, 2, 3])
def test_a_problem_is_feasible_where_a_mixture_of_sets_of_actions_is(plays):
    found = []
    for seed in range(60):
        options, costs, bound = stated(seed, plays)
        a = costs.shape[1]
        sets = np.array([costs[:, list(s)].sum(1) for s in combinations(range(a), min(plays, a))])
        n = len(sets)
        mixture = linprog(np.zeros(n), sets.T, bound, np.ones((1, n)), [1.0]).status == 0
        try:
            possible = feasible(Problem(**options))
        except InfeasibleProblem:
            possible = False
        assert possible == mixture, seed
        found.append(mixture)
    assert 10 < sum(found) < 55


def test_two_plays_have_to_fit_that_one_does_not_trouble():
    court = Court().problem
    assert feasible(court)
    with pytest.raises(InfeasibleProblem, match=r"Budget \(ride per round: 0\.05\)"):
        replace(court, n_plays=2)  # one of them is a voucher or a ride
    assert feasible(replace(court, n_plays=2, subject_to=(Budget("voucher", rate=0.5), Budget("ride", rate=0.5))))


def test_a_floor_nobody_can_reach_is_infeasible_and_learned_outcomes_are_taken_at_their_best():
    court = Court().problem
    assert feasible(replace(court, subject_to=(Floor("appears", rate=1.0),)))
    with pytest.raises(InfeasibleProblem, match=r"Floor \(appears per round, at least: 1\.01\)"):
        replace(court, subject_to=(Floor("appears", rate=1.01),))
    assert feasible(replace(court, n_plays=2, subject_to=(Floor("appears", rate=2.0),)))
    with pytest.raises(InfeasibleProblem):
        replace(court, subject_to=(Floor("ride", rate=0.3), Budget("ride", rate=0.2)))
    unbounded = Outcome("gain", high=np.inf, free=("a",))
    both = {"actions": ("a", "b"), "outcomes": (unbounded, Outcome("fee", known={"b": 1})), "maximize": "gain"}
    assert feasible(Problem(**both, horizon=9, subject_to=(Floor("gain", rate=5.0), Budget("fee", rate=0.01))))


def test_reach_is_the_least_and_the_most_of_every_corner():
    rows = Rows.plain(["w"], np.array([[2.0, -1.0]]), np.array([[0.5, 0.0]]))
    least, most = reach(EVERYTHING, rows)
    corners = [2 * gain - hours for gain in (0, 1) for hours in (-0.5, 2.0)]
    letters = np.array([0, 1, 0, 2])
    np.testing.assert_allclose(least[:, 0], min(corners) + 0.5 * letters)
    np.testing.assert_allclose(most[:, 0], max(corners) + 0.5 * letters)
    free = replace(EVERYTHING, outcomes=(Outcome("gain", free=("nothing",)), *EVERYTHING.outcomes[1:]))
    np.testing.assert_array_equal(reach(free, select(free, ("gain",)))[1][:, 0], [0, 1, 1, 1])


def test_more_plays_than_actions_play_every_action():
    assert feasible(replace(Court().problem, n_plays=7, subject_to=(Budget("ride", rate=1.0),)))
    with pytest.raises(InfeasibleProblem):
        replace(Court().problem, n_plays=7, subject_to=(Budget("ride", rate=0.99),))


# Defaults of recipes are per round of P plays

WIDE = FixedContexts(arms=6, dimension=8, horizon=400).problem
TWICE = replace(WIDE, n_plays=2, subject_to=tuple(Budget(b.outcome, total=2 * b.total) for b in WIDE.subject_to))
RIDGE = Ridge(n_features=8, n_outcomes=5, width=Fixed(0.1))


def test_recipes_play_as_many_as_the_problem_says():
    assert fw_linucb(replace(TWICE, subject_to=()), RIDGE).choice.n_plays == 2
    assert lin_cbwk(TWICE, RIDGE).choice.n_plays == 2


def test_a_choice_that_plays_another_number_is_refused():
    with pytest.raises(
        InvalidInput, match=r"^choice: expected one that plays 2 candidates, as problem.n_plays says, got"
    ):
        replace(lin_cbwk(WIDE, RIDGE), problem=TWICE)


def test_defaults_scale_with_what_a_round_can_use():
    np.testing.assert_array_equal(Terms(TWICE).margin, 2 * Terms(WIDE).margin)
    assert (Terms(WIDE).margin > 0).all()
    once, twice = (even_budgets(Terms(p)) for p in (WIDE, TWICE))
    assert once.max_price == 8.0  # a play is worth 2 at most, and a round may spend 0.25
    assert twice.max_price == 8.0  # twice the reward against twice the budget
    assert twice.step == pytest.approx(once.step / 2)  # twice the most against twice the budget
    assert replace(WIDE, n_plays=3).ranges(("reward",))[1] == 3 * WIDE.ranges(("reward",))[1]


def test_the_lottery_of_every_place_is_the_one_whose_round_fits():
    problem = replace(Court().problem, subject_to=(Budget("ride", rate=0.5), Budget("voucher", rate=0.8)), n_plays=2)
    np.testing.assert_allclose(even_lottery(problem)[2], 0.25, atol=1e-6)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_units_do_not_decide_what_is_feasible(unit):
    """A play uses 0.5 units at most, and 0.3 at least."""

    def possible(*constraints):
        used = Outcome("used", known={"a": 0.3 * unit, "b": 0.5 * unit})
        options = {"actions": ("a", "b"), "outcomes": (Outcome("gain", high=unit), used), "horizon": 100}
        try:
            return bool(Problem(**options, maximize="gain", subject_to=constraints))
        except InfeasibleProblem:
            return False

    def near(*center, radius=0.0):
        names = ("used", "gain")[: len(center)]
        return Within(names, Ball(tuple(unit * z for z in center), unit * radius))

    cheap, other = Budget("used", rate=0.4 * unit), Budget("used", rate=0.299 * unit)
    assert possible(near(0.4))
    assert possible(near(0.6, radius=0.1))
    assert possible(cheap, near(0.35, 0.9, radius=0.01))
    assert not possible(near(0.51))
    assert not possible(near(0.6, 0.5, radius=0.09))
    assert not possible(cheap, near(0.5, 0.5, radius=0.09))
    assert not possible(other)
    assert not possible(cheap, Floor("used", rate=0.41 * unit))


def shared(*constraints):
    """Two learned outcomes that several constraints read."""
    outcomes = tuple(Outcome(name) for name in ("gain", "x", "y"))
    return Problem(actions=("a", "b"), outcomes=outcomes, maximize="gain", subject_to=constraints, horizon=100)


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e6])
def test_sets_of_the_same_outcomes_that_exclude_each_other_are_refused_and_named(unit):
    def stated(*constraints):
        outcomes = tuple(Outcome(name, high=unit) for name in ("gain", "x", "y"))
        return Problem(actions=("a", "b"), outcomes=outcomes, maximize="gain", subject_to=constraints, horizon=100)

    def ball(x, y, r):
        return Within(("x", "y"), Ball((unit * x, unit * y), unit * r))

    stated(Budget("gain", rate=0.5 * unit), ball(0.2, 0.2, 0.15), ball(0.4, 0.1, 0.15))  # .224 apart
    with pytest.raises(InfeasibleProblem) as caught:
        stated(Budget("gain", rate=0.5 * unit), ball(0.2, 0.2, 0.1), ball(0.4, 0.1, 0.1))
    assert str(caught.value).count("Within (distance of x, y from Ball: 0)") == 2
    assert "Budget" not in str(caught.value)
    with pytest.raises(InfeasibleProblem, match=r"Within \(distance of x, y from Ball: 0\), Floor \(x per round"):
        stated(ball(0.2, 0.2, 0.1), Floor("x", rate=0.31 * unit))
    low = Within(("x", "y"), Box((0.3 * unit, 0.3 * unit), (unit, unit)))
    with pytest.raises(InfeasibleProblem, match=r"keeps to Within \(.*Box: 0\), Within \(.*Halfspaces: 0\) over"):
        stated(low, Within(("y", "x"), Halfspaces(((1.0, 1.0),), (0.59 * unit,))), Floor("gain", rate=0.1 * unit))


def test_a_budget_and_a_floor_on_one_learned_outcome_may_exclude_each_other():
    assert feasible(shared(Budget("x", rate=0.4), Floor("x", rate=0.4)))
    with pytest.raises(InfeasibleProblem, match=r"Budget \(x per round: 0.4\), Floor \(x per round, at least: 0.41"):
        shared(Budget("x", rate=0.4), Floor("x", rate=0.41))
