"""The optimum of many rounds under averages, against an independent statement and against its own dual."""

import cvxpy as cp
import numpy as np
import pytest

from evenhand.core.errors import InfeasibleProblem
from evenhand.welfare import Capped, Logarithmic, bound
from evenhand.welfare.linear_program import fluid
from tests.examples.oracles import CURVES
from tests.welfare.instances import round_of


def instance(seed, rounds=6, users=8, arms=3):
    case = round_of(seed, users, arms, holes=0.1, replicas=rounds)
    case.eligible[:, :, 0] = True
    side = np.where(np.random.default_rng(seed).random((rounds, users)) < 0.4, 1.0, -1.0)
    cost = np.broadcast_to(np.arange(arms), case.value.shape)
    gap = case.value * side[:, :, None]
    return case, np.stack([cost, gap, -gap], 3), np.array([4.0, 0.3, 0.3])


@pytest.mark.parametrize("may_stay", [False, True])
@pytest.mark.parametrize("curve", [Capped(1.5), Logarithmic(0.7)], ids=["capped", "logarithmic"])
def test_the_optimum_is_as_cvxpy_states_it(curve, may_stay):
    for seed in range(3):
        case, use, limit = instance(seed)
        if may_stay:
            use[..., 0] += 1.0  # no arm is free
        value, _, chances = fluid(case, curve.curves(3), use, limit, may_stay=may_stay)
        x = [cp.Variable((8, 3), nonneg=True) for _ in case.value]
        worth, keeps = 0.0, []
        for s, m in enumerate(case.value):
            sums = cp.sum(cp.multiply(m, x[s]), axis=0)
            r = cp.minimum(sums, 1.5) if isinstance(curve, Capped) else 0.7 * cp.log1p(sums / 0.7)
            worth += cp.sum(r) / len(x)
            of_users = cp.sum(x[s], axis=1)
            keeps += [of_users <= 1 if may_stay else of_users == 1, x[s] <= case.eligible[s].astype(float)]
        rows = [sum(cp.sum(cp.multiply(use[s, :, :, j], x[s])) for s in range(len(x))) / len(x) for j in range(3)]
        best = cp.Problem(cp.Maximize(worth), keeps + [rows[j] <= limit[j] for j in range(3)]).solve()
        error = 0.0 if isinstance(curve, Capped) else 1e-4 * best
        assert best - 1e-5 <= value <= best + error + 1e-5
        averages = (use * chances[..., None]).sum((1, 2)).mean(0)
        assert (averages <= limit + 1e-6).all()


@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES.keys())
def test_value_and_prices_certify_each_other(curve):
    """Rounds by themselves at the prices: mean_s V_s(mu) + mu.limit is the value, and is above it at other prices."""
    case, use, limit = instance(3)
    curves = curve.curves(3)
    value, prices, _ = fluid(case, curves, use, limit, may_stay=False)

    def above(mu):
        return bound(case._replace(bonus=case.bonus - use @ mu), curves).mean() + mu @ limit

    # Where bonuses are negative nobody leaves, so that the tangents, 1e-4 of satisfaction, are all that may differ.
    assert above(prices) == pytest.approx(value, rel=2e-4)
    for other in np.random.default_rng(0).random((5, 3)):
        assert above(other) >= value * (1.0 - 2e-4)


@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_units_of_rows_do_not_matter(unit):
    case, use, limit = instance(1)
    scale = np.array([unit, 1.0, 1.0])
    plain, scaled = (fluid(case, Capped(1.5).curves(3), use * z, limit * z) for z in (np.ones(3), scale))
    assert scaled[0] == pytest.approx(plain[0], rel=1e-9)
    np.testing.assert_allclose(scaled[1] * scale, plain[1], rtol=1e-6, atol=1e-9)


def test_what_cannot_be_kept_is_said():
    case, use, limit = instance(0)
    with pytest.raises(InfeasibleProblem, match="no allocation of 6 sampled rounds keeps to the constraints"):
        fluid(case, Capped(1.5).curves(3), use, np.array([-1.0, *limit[1:]]))
