"""The smoothed dual against the linear program, solved by HiGHS."""

import numpy as np
import pytest

from evenhand.planning.fluid import Fluid, Places, Program, Solution, dual, solve_fluid, spread, ties
from evenhand.planning.program import Sample, dual_value, solve
from evenhand.planning.soft_lists import ScaledSample
from tests.rows import for_each

ONE = Places(np.ones(1), None)


def instance(seed: int, samples: int = 300, actions: int = 3, rows: int = 2):
    rng = np.random.default_rng(seed)
    g, u = rng.uniform(0, 1, (samples, actions)), rng.uniform(0, 1, (samples, rows, actions))
    u[:, :, 0] = 0.0  # a free action
    return g, u, rng.uniform(0.05, 0.4, rows)


def prices(g, u, low, high, temperatures=(0.05, 0.01, 0.002), start=None, warm=False):
    found = plan_of(g, u, low, high, temperatures, start, warm)
    return found.mu[0], found.plan[0], found.noise[0]


def plan_of(g, u, low, high, temperatures=(0.05, 0.01, 0.002), start=None, warm=False):
    k = u.shape[1]
    mu = np.zeros((1, k)) if start is None else start[None].copy()
    found = Solution(mu, np.zeros((1, 0)), np.zeros((1, k)), np.zeros((1, k)), np.zeros((1, k)))
    one = np.ones(1, bool)
    weight, kept = np.ones((1, len(g))), np.array([len(g)])
    size = spread(weight, g[None], kept)
    falling = size[:, None] * np.array(temperatures)
    fluid = Fluid(weight, g[None], kept, ONE, None, size, low[None], high[None], falling)
    solve_fluid(fluid, u[None], one, one if warm else ~one, found)
    return found


@for_each("seed", range(6))
def test_at_a_low_temperature_prices_are_those_of_the_program(seed):
    g, u, high = instance(seed)
    sample = Sample(g, np.swapaxes(u, 1, 2), np.ones(g.shape))
    value, *_ = solve(sample, high)
    mu, plan, _ = prices(g, u, np.full(2, -np.inf), high)
    assert (mu >= 0).all()
    # the smoothed dual exceeds the dual by at most temperature * spread * ln A; its minimiser is off by no more
    assert value - 1e-9 <= dual_value(sample, high, mu) <= value + 0.002 * 1.0 * np.log(3) + 1e-9
    assert (plan <= high + 0.02).all()


@for_each("seed", range(3))
def test_two_sided_bounds_have_signed_prices(seed):
    rng = np.random.default_rng(seed)
    g = rng.uniform(0, 1, (400, 2))
    u = np.zeros((400, 1, 2))
    u[:, 0, 1] = np.where(rng.random(400) < 0.5, 1.0, -1.0)  # parity of two groups, who gain differently
    g[:, 1] += 0.3 * u[:, 0, 1]
    mu, plan, _ = prices(g, u, np.array([-0.01]), np.array([0.01]))
    rows = np.stack([u[:, 0], -u[:, 0]], 2)
    _, lam, _ = solve(Sample(g, rows, np.ones(g.shape)), np.array([0.01, 0.01]))
    assert mu[0] == pytest.approx(lam[0] - lam[1], abs=0.02)
    assert abs(plan[0]) <= 0.02


def test_far_away_starts_come_home():
    g, u, high = instance(0)
    home, _, _ = prices(g, u, np.full(2, -np.inf), high)
    for start in ([3.0, 0.0], [0.0, 40.0], [20.0, 20.0]):
        for warm in (False, True):  # warm prices that lead nowhere are solved for from scratch
            mu, _, _ = prices(g, u, np.full(2, -np.inf), high, start=np.array(start), warm=warm)
            np.testing.assert_allclose(mu, home, atol=5e-3)


@pytest.mark.parametrize("share", [0.03, 0.01, 0.005])
def test_rare_cases_that_are_worth_much_have_the_price_of_the_program(share):
    """In most contexts nothing is to be gained, and the budget is for 40 % of the others."""
    rng = np.random.default_rng(0)
    samples = 4000
    g, u = np.zeros((samples, 2)), np.zeros((samples, 1, 2))
    u[:, 0, 1] = 1.0
    rare = int(share * samples)
    g[:rare, 1] = rng.uniform(0.5, 1.0, rare)
    high = np.array([0.4 * share])
    mu, plan, _ = prices(g, u, np.full(1, -np.inf), high)
    _, lam, _ = solve(Sample(g, np.swapaxes(u, 1, 2), np.ones(g.shape)), high)
    assert mu[0] == pytest.approx(lam[0], abs=0.03)  # a temperature of 0.0015 and gaps of 0.5 / 20 between the rare
    assert plan[0] <= 1.05 * high[0]


def test_without_any_difference_in_rewards_budgets_are_kept_all_the_same():
    g, u = np.full((50, 2), 0.3), np.zeros((50, 1, 2))
    u[:, 0, 1] = 1.0
    _, plan, _ = prices(g, u, np.full(1, -np.inf), np.array([0.3]))
    assert plan[0] <= 0.3 + 0.01


@for_each(
    ("best", "share", "tied"),
    [
        (np.full(40, 0.5), 0.3, 1.0),
        (np.repeat([0.9, 0.4], 20), 0.75, 2 / 3),  # half of the cases have a lottery of .5, all together one of .75
        (np.repeat([0.9, 0.4], 20), 0.5, 0.0),
        (np.linspace(0, 1, 4001), 0.3, 0.002 / (0.3 * 0.7)),  # p (1 - p) over a uniform worth is the temperature
    ],
)
def test_ties_are_the_part_of_the_variance_that_lotteries_bring(best, share, tied):
    g = np.stack([np.zeros(len(best)), best], 1)
    u = np.tile([0.0, 7.0], (len(best), 1, 1))
    size = spread(np.ones((1, len(g))), g[None], np.array([len(g)]))[0]
    falling = tuple(np.array([0.05, 0.01, 0.002]) / size)
    found = plan_of(g, u, np.full(1, -np.inf), np.full(1, 7.0 * share), falling)
    np.testing.assert_allclose(ties(found), [[tied]], rtol=1e-2, atol=1e-6)


def test_where_all_use_the_same_a_variance_of_rounding_is_no_tie():
    plan, mixed = np.array([[0.3, 0.0]]), np.array([[1e-16, 0.0]])
    found = Solution(np.ones((1, 2)), np.zeros((1, 0)), plan, np.nextafter(plan * plan, 1.0) * plan.astype(bool), mixed)
    np.testing.assert_array_equal(ties(found), 0.0)


def test_rewards_that_are_equal_but_for_rounding_are_measured_by_their_size():
    """0.1 + 0.2 exceeds 0.3 by rounding. A price in units of that difference, or of 1, would depend on the units."""
    for unit in (1e-8, 1.0, 1e8):
        g = unit * np.array([[[0.1 + 0.2, 0.3]], [[-0.3, -np.inf]], [[0.1, 0.3]]])
        assert g[0, 0, 0] != g[0, 0, 1]
        np.testing.assert_allclose(spread(np.ones((3, 1)), g, np.ones(3, int)), unit * np.array([0.3, 0.3, 0.2]))
    assert spread(np.ones((1, 1)), np.zeros((1, 1, 2)), np.ones(1, int)) == 1.0


def test_an_infeasible_plan_ends_at_capped_prices():
    g, u, _ = instance(1)
    mu, _, _ = prices(g, u + 0.1, np.full(2, -np.inf), np.array([0.01, 0.3]))
    assert np.isfinite(mu).all()
    assert mu[0] > 5.0  # dearer than anything can be worth


def test_the_gradient_and_hessian_are_those_of_the_smooth_part():
    g, u, high = instance(2, samples=20)
    mu, k, h = np.array([0.4, 0.7]), 2, 1e-6
    gradient, hessian, scratch, other = np.empty(k), np.empty((k, k)), np.empty(k), np.empty((k, k))
    low = np.full(k, -1.0)
    program = Program(ScaledSample(np.full(len(g), 1 / len(g)), g, u, 1.0, None), None, low, high)
    dual(program, mu, 0.1, gradient, hessian)
    for i in range(k):
        step = np.eye(k)[i] * h
        up = dual(program, mu + step, 0.1, scratch, other)
        above = scratch.copy()
        down = dual(program, mu - step, 0.1, scratch, other)
        assert (up - down) / (2 * h) == pytest.approx(gradient[i] + high[i], abs=1e-6)
        np.testing.assert_allclose((above - scratch)[i:] / (2 * h), hessian[i:, i], atol=1e-5)


@pytest.mark.parametrize("reward", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("units", [(1.0, 1e4), (1e-8, 1.0), (1e8, 1e-8), (1e-8, 1e8)])
def test_units_of_rewards_and_consumption_do_not_matter(units, reward):
    """Prices, plans and noise are those of the plain units, restated."""
    units = np.array(units)
    for seed in range(3):
        g, u, high = instance(seed)
        mu, plan, noise = prices(g, u, np.full(2, -np.inf), high)
        there, reached, squares = prices(reward * g, u * units[:, None], np.full(2, -np.inf), high * units)
        np.testing.assert_allclose(there * units / reward, mu, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(reached / units, plan, rtol=1e-6)
        np.testing.assert_allclose(squares / units**2, noise, rtol=1e-6)
        assert (mu > 0).any()


@for_each("seed", range(6))
def test_a_plan_meets_its_priced_bounds_to_six_digits(seed):
    """At a positive price the slope of the smoothed dual is 0; the first digits that differ are the eighth or later."""
    g, u, high = instance(seed)
    mu, plan, _ = prices(g, u, np.full(2, -np.inf), high)
    np.testing.assert_allclose(plan[mu > 0], high[mu > 0], rtol=1e-6)


def test_what_nobody_consumes_has_no_price():
    g, u, high = instance(0)
    u[:, 1] = 0.0
    mu, plan, _ = prices(g, u, np.full(2, -np.inf), np.array([high[0], -1.0]))
    assert mu[0] > 0.0
    assert mu[1] == plan[1] == 0.0
