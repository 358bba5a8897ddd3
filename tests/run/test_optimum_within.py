"""The optimum with averages in convex sets, against one conic program over all contexts at once."""

import re

import cvxpy as cp
import numpy as np
import pytest

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.objectives import GeneralizedGini, Linear
from evenhand.planning.mixing import SetLimit as Inside, Truth, maximize
from evenhand.problem import Budget, Within
from evenhand.problem.constraints import constraint_rows, regions, stated_rows
from evenhand.run import opt, opt_without_contexts
from evenhand.run.optimum import draw
from evenhand.sets import Ball, Box, Convex, Halfspaces, Intersection, Polytope, Simplex
from tests.ads import CLICKS, PER_AGE, Ads
from tests.sets.twins import constraints

BALL = Ball((0.16, 0.12, 0.1), 0.04)
MIX = Halfspaces(((-0.2, 0.8, -0.2), (-0.3, -0.3, 0.7), (0.6, -0.4, -0.4)), (0.0, 0.0, 0.05))
SETS = {
    "ball": BALL,
    "mix": MIX,
    "box": Box((0.0, 0.08, 0.09), (0.2, 1.0, 1.0)),
    "hull": Polytope(((0.1, 0.1, 0.1), (0.25, 0.1, 0.1), (0.1, 0.15, 0.1), (0.1, 0.1, 0.15))),
    "both": Intersection((Ball((0.2, 0.12, 0.06), 0.06), MIX)),
    "written": Convex(3, lambda z: [cp.sum_squares(z - 0.12) <= 0.001, z[0] >= z[1]]),
}


def by_cvxpy(world, contexts, seed=0, replica=0, value=None):
    """The same program with one variable per context and candidate."""
    problem, truth = world.problem, draw(world, contexts, seed, replica)
    _, bound = stated_rows(problem)
    p = cp.Variable(truth.offered.shape, nonneg=True)
    stated = [cp.sum(p, 1) == 1]

    def mean(z):
        return cp.hstack([cp.sum(cp.multiply(p, z[:, :, i])) / contexts for i in range(z.shape[2])])

    stated += [mean(truth.rows)[j] <= bound[j] for j in range(len(bound))]
    for region, followed in zip(regions(problem.stated), truth.followed, strict=True):
        w = cp.Variable(region.within.dim)
        stated += [w == mean(followed), *constraints(region.within, w)]
    z = mean(truth.outcomes)
    goal = cp.Problem(cp.Maximize(z[0] if value is None else value(z)), stated)
    goal.solve(solver="CLARABEL")
    return goal.value


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("name", SETS)
def test_the_optimum_is_that_of_one_conic_program(name, apart):
    world = Ads(extra=(Within(PER_AGE if apart else CLICKS, SETS[name]),), apart=apart)
    found = opt(world, contexts=60, replicas=1)
    assert found.value == pytest.approx(by_cvxpy(world, 60), rel=2e-5)
    assert found.value < opt(Ads(), contexts=60, replicas=1).value - 0.01  # it binds


@pytest.mark.parametrize("name", ["ball", "both"])
def test_a_concave_objective_and_several_sets(name):
    gini = GeneralizedGini(PER_AGE)
    extra = (Within(PER_AGE, SETS[name]), Within(("click", PER_AGE[2]), Ball((0.3, 0.1), 0.05)))
    world = Ads(extra=extra, apart=True, maximize=gini)
    w = np.array(gini.weights)
    found = opt(world, contexts=60, replicas=1)
    value = by_cvxpy(
        world, 60, value=lambda z: w[2] * cp.sum(z) + sum((w[k] - w[k + 1]) * cp.sum_smallest(z, k + 1) for k in (0, 1))
    )
    assert found.value == pytest.approx(value, rel=2e-5)


def test_one_lottery_for_all_is_that_of_a_conic_program_too():
    world = Ads(extra=(Within(PER_AGE, Ball((0.2, 0.1, 0.06), 0.05)),), apart=True)
    found, truth = opt_without_contexts(world, contexts=300, replicas=1), draw(world, 300, 0)
    p = cp.Variable(truth.offered.shape[1], nonneg=True)
    outcomes, rows, followed = truth.outcomes.mean(0), truth.rows.mean(0), truth.followed[0].mean(0)
    inside = [cp.sum(p) == 1, rows.T @ p <= 0.3, cp.norm(followed.T @ p - np.array((0.2, 0.1, 0.06))) <= 0.05]
    goal = cp.Problem(cp.Maximize((outcomes.T @ p)[0]), inside)
    goal.solve(solver="CLARABEL")
    assert found.value == pytest.approx(goal.value, rel=2e-5)
    assert found.value < opt(world, contexts=300, replicas=1).value - 1e-4


def test_what_cannot_be_kept_is_named():
    far = Within(PER_AGE, Ball((0.2, 0.4, 0.4), 0.05))
    loose = Within(("click",), Ball((0.3,), 0.3))
    with pytest.raises(InfeasibleProblem) as caught:
        opt(Ads(extra=(loose, far), apart=True, rate=0.9), contexts=60, replicas=1)
    assert str(caught.value).endswith(f"60 sampled contexts: {far.label}")
    tight = Within(PER_AGE, Ball((0.2, 0.13, 0.08), 0.04))
    opt(Ads(extra=(tight,), apart=True, rate=0.9), contexts=60, replicas=1)
    with pytest.raises(InfeasibleProblem) as caught:  # within this budget it cannot be reached
        opt(Ads(extra=(loose, tight), apart=True, rate=0.1), contexts=60, replicas=1)
    assert str(caught.value).endswith(f": {tight.label}, spend per round")


def test_rows_that_exclude_each_other_are_named():
    floor = Within(("click",), Box((0.4,), (1.0,)))
    free = Within(PER_AGE, Box.below((0.9, 0.9, 0.9)))
    with pytest.raises(InfeasibleProblem) as caught:
        opt(Ads(extra=(free, floor), rate=0.1, apart=True), contexts=60, replicas=1)
    assert str(caught.value).endswith(f": spend per round, {floor.label}")


def test_a_set_that_no_mixture_of_actions_reaches_is_refused_with_the_problem():
    with pytest.raises(InfeasibleProblem, match=re.escape("Within (distance of click from Ball: 0)")):
        _ = Ads(extra=(Within(("click",), Ball((1.5,), 0.1)),)).problem
    with pytest.raises(InfeasibleProblem, match=r"Budget \(spend per round: 0.05\), Within"):
        _ = Ads(extra=(Within(("spend", "click"), Ball((0.3, 0.5), 0.1)),), rate=0.05).problem
    assert Ads(extra=(Within(("spend", "click"), Ball((0.1, 0.2), 0.1)),), rate=0.05).problem
    assert Ads(extra=(Within(PER_AGE, Simplex(3)),), apart=True).problem


def test_inside_of_the_set_nothing_changes():
    one, two = Ads(), Ads(extra=(Within(CLICKS, Ball((0.2, 0.2, 0.2), 2.0)),))
    assert opt(two, contexts=100, replicas=2).value == pytest.approx(opt(one, contexts=100, replicas=2).value, rel=1e-6)


def test_units_do_not_matter():
    rng = np.random.default_rng(1)
    outcomes, rows = rng.random((40, 4, 1)), rng.random((40, 4, 1))
    followed = rng.random((40, 4, 2))
    values = []
    for unit, gain in ((1.0, 1.0), (1e4, 1e-3), (1e-4, 1e3)):
        truth = Truth(gain * outcomes, unit * rows, np.ones((40, 4)), 1, (unit * followed,))
        sets = (Inside("disc", Ball((unit * 0.5, unit * 0.55), unit * 0.05)),)
        best = maximize(Linear({"a": 1.0}), truth, unit * np.array([0.6]), np.zeros(1), sets, tolerance=1e-6 * gain)
        values.append(best.value / gain)
    assert values == pytest.approx([values[0]] * 3, rel=1e-5)


def test_what_keeps_to_rows_alone_refuses_a_curved_set():
    problem = Ads(extra=(Within(CLICKS, BALL),)).problem
    assert len(stated_rows(problem)[0]) == 1
    assert isinstance(problem.subject_to[0], Budget)
    with pytest.raises(InvalidInput, match="resolving"):
        constraint_rows(problem)
