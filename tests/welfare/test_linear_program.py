"""The linear program: its tangents, its prices, its units, and the bound against an independent statement."""

import cvxpy as cp
import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.welfare import Capped, Linear, Logarithmic, Power, Round, bound, satisfaction
from evenhand.welfare.linear_program import lines, solve_relaxation
from tests.examples.oracles import CURVES
from tests.rows import for_each
from tests.welfare.instances import round_of


@for_each("curve", CURVES.values(), ids=CURVES.keys())
@for_each("most", [1e-3, 1.0, 40.0, 1e5])
def test_lines_are_above_the_curve_and_within_the_error(curve, most):
    found = lines(curve.curves(3), np.full(3, most))
    for x in np.append(0.0, np.geomspace(1e-6 * most, most, 2000)):
        least = np.full(3, np.inf)
        np.minimum.at(least, found.arm, found.height + found.slope * x)
        r = satisfaction(curve, np.full(3, x))
        assert (least >= r * (1.0 - 1e-12) - 1e-12 * most).all()
        assert (least <= r * (1.0 + 1.0001e-4) + 1e-12 * most).all()


@pytest.mark.parametrize("curve", [Logarithmic(5.0), Power(0.5), Power(1.0), Power(0.01)])
def test_tangents_are_few(curve):
    assert len(lines(curve.curves(1), np.array([50.0])).arm) < 200


@pytest.mark.parametrize("curve", ["linear", "capped", "logarithmic"])
def test_the_bound_is_the_relaxed_optimum_as_cvxpy_states_it(curve):
    """Exactly for straight lines, else from above and within 1e-4."""
    for seed in range(3):
        case = round_of(seed, 12, 3, holes=0.1 * seed, bonus=0.3, room=(6, 12, 12))
        case.eligible[:, :, 2] = True
        x, m = cp.Variable((12, 3), nonneg=True), case.value[0]
        sums = cp.sum(cp.multiply(m, x), axis=0)
        r = {"linear": sums, "capped": cp.minimum(sums, 1.5), "logarithmic": 0.7 * cp.log1p(sums / 0.7)}[curve]
        keeps = [cp.sum(x, axis=1) == 1, cp.sum(x, axis=0) <= case.capacity, x <= case.eligible[0].astype(float)]
        best = cp.Problem(cp.Maximize(cp.sum(r) + cp.sum(cp.multiply(case.bonus[0], x))), keeps).solve()
        above = bound(case, CURVES[curve].curves(3))[0]
        error = 1e-4 * float(cp.sum(r).value) if curve == "logarithmic" else 0.0
        assert best - 1e-6 <= above <= best + error + 1e-6


def test_the_price_of_an_arm_is_what_another_match_is_worth():
    """The slope of the bound as one arm's satisfaction gets matches from elsewhere."""
    case, curve, step = round_of(4, 30, 4, bonus=0.1), Logarithmic(2.0), 0.05
    prices = solve_relaxation(case, curve.curves(4)).prices[0]
    for a in range(4):
        gains = []
        for more in (step, -step):
            x, m = cp.Variable((30, 4), nonneg=True), case.value[0]
            extra = more * (np.arange(4) == a)
            r = 2.0 * cp.log1p((cp.sum(cp.multiply(m, x), axis=0) + extra) / 2.0)
            worth = cp.sum(r) + cp.sum(cp.multiply(case.bonus[0], x))
            gains.append(cp.Problem(cp.Maximize(worth), [cp.sum(x, axis=1) == 1]).solve())
        assert prices[a] == pytest.approx((gains[0] - gains[1]) / (2.0 * step), rel=0.02)


def test_chances_add_up_and_reach_the_value():
    case, curve = round_of(1, 15, 3, holes=0.2, bonus=0.2), Capped(1.5)
    found = solve_relaxation(case, curve.curves(3))
    assert (found.chances[~case.eligible] == 0.0).all()
    np.testing.assert_allclose(found.chances.sum(2)[case.eligible.any(2)], 1.0, atol=1e-7)
    sums = (found.chances * case.value).sum(1)
    reached = satisfaction(curve, sums).sum(1) + (found.chances * case.bonus).sum((1, 2))
    np.testing.assert_allclose(reached, found.value, rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_units_do_not_matter(unit):
    case = round_of(0, 15, 3, bonus=0.2)
    there = case._replace(value=case.value * unit, bonus=case.bonus * unit)
    plain, scaled = solve_relaxation(case, Capped(1.5).curves(3)), solve_relaxation(there, Capped(1.5 * unit).curves(3))
    np.testing.assert_allclose(scaled.value / unit, plain.value, rtol=1e-6)
    np.testing.assert_allclose(scaled.prices, plain.prices, rtol=1e-6, atol=1e-9)


def test_nobody_can_be_placed():
    none = Round(np.ones((1, 2, 2)), np.ones((1, 2, 2)), np.zeros((1, 2, 2), bool), np.array([2, 2]))
    assert bound(none, Linear().curves(2))[0] == 0.0
    assert bound(none._replace(eligible=~none.eligible, capacity=np.array([0, 0])), Linear().curves(2))[0] == 0.0


def test_values_that_are_no_numbers():
    case = round_of(0, 3, 2)
    case.bonus[0, 0, 0] = np.nan
    with pytest.raises((InvalidInput, ValueError)):
        bound(case, Linear().curves(2))
