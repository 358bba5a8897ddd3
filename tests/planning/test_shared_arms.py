"""Plans for users who share arms, against the linear program and finite differences."""

import numpy as np
import pytest

from evenhand.planning.fluid import Fluid, Places, Program, Solution, dual, solve_fluid, spread
from evenhand.planning.shared_arms import Shared, arms_of, soft_arms
from evenhand.planning.soft_lists import Moments, ScaledSample, soft_lists
from evenhand.welfare import Capped, Logarithmic, Round, satisfaction
from evenhand.welfare._kernels import conjugate
from evenhand.welfare.linear_program import fluid
from tests.examples.oracles import CURVES

ONE = Places(np.ones(1), None)
USERS = 12.0


def instance(seed, samples=300, arms=3):
    """Matches, bonuses, a cost of arms and a gap between two groups, and what may be used per round."""
    rng = np.random.default_rng(seed)
    match, bonus = rng.random((samples, arms)), 0.1 * rng.random((samples, arms))
    side = np.where(rng.random(samples) < 0.4, 1.0, -1.0)
    match[side > 0] *= 0.6
    use = np.stack([np.broadcast_to(np.arange(arms) / arms, match.shape), match * side[:, None]], 1)
    return match, bonus, use, np.array([-np.inf, -0.2]), np.array([0.3 * USERS, 0.2])


def solved(curve, match, bonus, use, low, high, temperatures=(0.05, 0.01, 0.002), stays=False):
    samples, arms = match.shape
    weight, kept, one = np.ones((1, samples)), np.array([samples]), np.ones(1, bool)
    size = spread(weight, (match + bonus)[None], kept)
    mu, plan, noise = np.zeros((3, 1, use.shape[1]))
    lam = np.full((1, arms), 0.7)
    shared = Shared(match[None], USERS, stays, *curve.curves(arms))
    falling = size[:, None] * np.array(temperatures)
    bounds = low[None] / USERS, high[None] / USERS
    fluid = Fluid(weight, bonus[None], kept, ONE, shared, size, *bounds, falling)
    solve_fluid(fluid, use[None], one, ~one, Solution(mu, lam, plan, noise, np.empty_like(noise)))
    return mu[0], lam[0], plan[0] * USERS


def dual_value(curve, match, bonus, use, low, high, mu, lam, stays=False):
    """The dual by its definition, with sums of matches on a fine grid."""
    worth = lam * match + bonus - np.einsum("i,sia->sa", mu, use)
    sums = np.linspace(0.0, USERS, 200_001)
    gains = (satisfaction(curve, np.repeat(sums[:, None], len(lam), 1)) - sums[:, None] * lam).max(0).sum()
    kept = high @ np.maximum(mu, 0.0) - np.maximum(low, -1e9) @ np.maximum(-mu, 0.0)
    best = np.maximum(worth.max(1), 0.0) if stays else worth.max(1)
    return USERS * best.mean() + gains + kept


@pytest.mark.parametrize("stays", [False, True])
@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES.keys())
def test_prices_are_those_of_the_linear_program(curve, stays):
    """Weak duality, and what the temperature allows: each user's log A, and a bend of each arm."""
    for seed in range(2):
        match, bonus, use, low, high = instance(seed)
        part = USERS / len(match)
        case = Round(part * match[None], part * bonus[None], match[None] >= 0.0, np.full(3, len(match)))
        rows = part * np.stack([use[:, 0], use[:, 1], -use[:, 1]], 2)[None]
        if stays:
            use[:, 0] += 1.0  # no arm is free: many must stay
            rows = part * np.stack([use[:, 0], use[:, 1], -use[:, 1]], 2)[None]
        best, prices, _ = fluid(case, curve.curves(3), rows, np.array([high[0], high[1], -low[1]]), may_stay=stays)
        mu, lam, plan = solved(curve, match, bonus, use, low, high, stays=stays)
        found = dual_value(curve, match, bonus, use, low, high, mu, lam, stays)
        assert best * (1.0 - 2e-4) <= found <= best + 0.01 * USERS
        np.testing.assert_allclose(mu, [prices[0], prices[1] - prices[2]], atol=0.05)
        assert (plan <= high + 0.02).all()
        assert (plan >= low - 0.02).all()


@pytest.mark.parametrize("curve", [CURVES["logarithmic"], CURVES["power"], CURVES["per_arm"], CURVES["capped"]])
def test_gradients_and_curvatures_are_those_of_differences(curve):
    match, bonus, use, low, high = instance(3, samples=30)
    shared = Shared(match[None], USERS, False, *curve.curves(3))
    arms = arms_of(shared, 0, 30, 0.8)
    x, share, h = np.array([0.3, -0.2, 0.63, 0.57, 0.41]), np.full(30, 1.0 / 30.0), 1e-6
    bounds = np.append(np.maximum(low, -1.0), np.zeros(3)), np.append(high, np.zeros(3))

    def at(price):
        gradient, hessian = np.empty(5), np.empty((5, 5))
        value = dual(Program(ScaledSample(share, bonus, use, 1.0, None), arms, *bounds), price, 0.1, gradient, hessian)
        return value, gradient, np.tril(hessian) + np.tril(hessian, -1).T

    _, gradient, hessian = at(x)
    gradient = gradient + np.where(x > 0, bounds[1], bounds[0])
    for i in range(5):
        up, down = at(x + h * np.eye(5)[i]), at(x - h * np.eye(5)[i])
        assert (up[0] - down[0]) / (2 * h) == pytest.approx(gradient[i], abs=1e-6)
        np.testing.assert_allclose((up[1] - down[1]) / (2 * h), hessian[i], atol=1e-5)


def test_without_prices_of_matches_users_are_cases_of_one_play():
    """Where every match is worth the same, soft arms are soft lists of one place, with matches in their gain."""
    match, bonus, use, _, _ = instance(5, samples=40)
    price, share = np.array([0.3, -0.1, 0.9, 0.9, 0.9]), np.full(40, 1.0 / 40.0)
    mean, square, both = np.empty(5), np.empty(2), np.empty((5, 5))
    arms = arms_of(Shared(match[None], USERS, False, *CURVES["power"].curves(3)), 0, 40, 1.0)._replace(match=match)
    cases = ScaledSample(share, bonus, use, 0.8, None)
    found = soft_arms(cases, arms, price, 0.05, Moments(mean, square, both))
    plain, squares, some = np.empty(2), np.empty(2), np.empty((2, 2))
    worth = cases._replace(gain=bonus + 0.9 * match)
    expected = soft_lists(worth, price[:2].copy(), 0.05, Moments(plain, squares, some))
    assert found == pytest.approx(expected)
    np.testing.assert_allclose(mean[:2], plain)
    np.testing.assert_allclose(square, squares)
    np.testing.assert_allclose(np.tril(both[:2, :2]), np.tril(some), atol=1e-12)


@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES.keys())
def test_conjugates_are_the_largest_gain_on_a_grid(curve):
    curves, y = curve.curves(3), np.linspace(0.0, 0.9, 100_001)
    for price in (-0.2, 0.0, 0.2, 0.5, 0.95, 1.2):
        for a in range(3):
            r = satisfaction(curve, np.repeat(7.0 * y[:, None], 3, 1))[:, a] / 5.0
            gains = r - price * y - 0.05 * y * y
            value, taken, _ = conjugate(curves, a, price, 0.9, 0.1, 7.0, 5.0)
            assert gains.max() - 1e-12 <= value <= gains.max() + 1e-5  # a step of the grid is 0.9e-5, a slope 1.4
            assert taken == pytest.approx(y[gains.argmax()], abs=1e-3)


@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_units_do_not_matter(unit):
    match, bonus, use, low, high = instance(2)
    mu, lam, plan = solved(Capped(1.5), match, bonus, use, low, high)
    there = solved(Capped(1.5 * unit), unit * match, unit * bonus, unit * use, unit * low, unit * high)
    np.testing.assert_allclose(there[0], mu, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(there[1], lam, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(there[2] / unit, plan, rtol=1e-6, atol=1e-9)


def test_what_is_not_offered_is_not_planned():
    match, bonus, use, low, high = instance(4)
    bonus[:, 1] = -np.inf
    match[:, 1] = 0.0
    use[:, 0, 1] = -50.0
    _, _, plan = solved(Logarithmic(0.7), match, bonus, use, low, high)
    assert plan[0] >= 0.0
