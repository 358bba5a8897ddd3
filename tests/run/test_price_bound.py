"""The bound of prices, against linear programs that scipy solves."""

import numpy as np
import pytest
from scipy.optimize import linprog

from evenhand.core.errors import InvalidInput
from evenhand.environments import BernoulliKnapsacks, Court, Lessons
from evenhand.problem.constraints import constraint_rows
from evenhand.run import opt, price_bound

EXACT = {"replicas": 1, "contexts": 1, "progress": False}  # worlds without contexts
FEW = {"replicas": 2, "contexts": 400, "progress": False}


def solved(world, bound):
    """Value and prices of the best lottery, by scipy."""
    means = world.means
    found = linprog(-means[:, 0], A_ub=means[:, 1:].T, b_ub=bound, A_eq=np.ones((1, len(means))), b_eq=[1.0])
    return -found.fun, -found.ineqlin.marginals


@pytest.mark.parametrize("resources", [1, 2, 4])
def test_prices_of_random_programs_never_exceed_the_bound(resources):
    draw, reached = np.random.default_rng(resources), []
    for instance in range(25):
        world = BernoulliKnapsacks(arms=5, resources=resources, instance=instance, scarcity=float(draw.uniform(0.1, 1)))
        bound = constraint_rows(world.problem)[1]
        for slack in (None, bound, draw.uniform(0.05, 1.0, resources) * bound):
            off = 0.5 * bound if slack is None else slack
            (best, prices), (less, _) = solved(world, bound), solved(world, bound - off)
            found = price_bound(world, slack=slack, **EXACT)
            assert found.gain == pytest.approx(best - less, abs=1e-9)
            assert (prices <= found.each + 1e-9).all()
            assert np.linalg.norm(prices) <= prices.sum() <= found.total + 1e-9
            assert off @ prices <= found.gain + 1e-9
            reached.append(off @ prices / found.gain if found.gain > 0 else 1.0)
    assert max(reached) > 0.99  # where the optimum is linear in the bounds, nothing is given away


def test_with_one_arm_the_bound_is_the_price():
    world = BernoulliKnapsacks(arms=1, resources=1)
    reward, cost = world.means[1]
    assert price_bound(world, **EXACT).each == pytest.approx([reward / cost])


@pytest.mark.parametrize("world", [Court(tolerance=0.025), Lessons()], ids=["signed costs", "a concave objective"])
def test_prices_of_contexts_keep_to_the_bound(world):
    _, bound = constraint_rows(world.problem)
    slack = np.where(bound > 0, 0.3 * bound, 0.01)
    found, best = price_bound(world, slack=slack, **FEW), opt(world, **FEW)
    assert best.prices.sum() > 0.01
    assert (best.prices <= found.each + 1e-6).all()
    assert slack @ best.prices <= found.gain + 1e-6


def test_budgets_that_do_not_bind_have_prices_of_0():
    found = price_bound(BernoulliKnapsacks(arms=3, resources=2, scarcity=10.0), **EXACT)
    assert found.total == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("world", "arguments", "told"),
    [
        (Court(), {"slack": np.ones(3)}, r"slack: expected an amount above 0 for each of 10 rows"),
        (Court(), {"slack": np.zeros(10)}, "slack: expected an amount above 0"),
        (Court(), {"contexts": 0}, "contexts"),
        (Court(tolerance=0.0), {}, "the default is half of each bound"),
    ],
)
def test_a_slack_that_bounds_nothing_is_refused(world, arguments, told):
    with pytest.raises(InvalidInput, match=told):
        price_bound(world, **{**FEW, **arguments})
