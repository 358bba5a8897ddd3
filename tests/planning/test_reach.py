"""Bounds that a plan aims at where a learned row was overspent: by a linear program, by hand, and in a run."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import evenhand as eh
from evenhand.models import Tabular
from evenhand.planning.fluid import Fluid, Places
from evenhand.planning.reach import within_reach
from evenhand.recipes import resolving
from tests.problem.test_ratio import COST, Alike, fixed

YES, NO = np.ones(1, bool), np.zeros(1, bool)


def aimed(u, low, high, rest=0.0, *, weight=None, gain=None, due=None, upper=YES, lower=YES):
    """The bounds of one direction that replicas aim at, by uses `(R,S,A)` and bounds `(R)`."""
    count, contexts, actions = u.shape
    weight = np.ones((count, contexts)) if weight is None else weight
    gain = np.zeros((count, contexts, actions)) if gain is None else gain
    low, high = np.array(low, float)[:, None], np.array(high, float)[:, None]
    kept, one = np.full(count, contexts), np.ones(count)
    fluid = Fluid(weight, gain, kept, Places(one, None), None, one, low, high, np.ones((count, 1)))
    due = np.ones(count, bool) if due is None else due
    within_reach(fluid, u[:, :, None].copy(), due, upper, lower, np.full((count, 1), rest))
    return low[:, 0], high[:, 0]


@pytest.mark.parametrize("seed", range(5))
def test_what_the_rest_can_earn_back_is_the_least_use_of_any_lottery(seed):
    """Beyond reach, the aim is the whole of it once no round is left, and nine tenths at the start."""
    rng = np.random.default_rng(seed)
    u, weight, gain = rng.normal(size=(1, 7, 4)), rng.random((1, 7)) + 0.1, np.zeros((1, 7, 4))
    gain[rng.random((1, 7, 4)) < 0.3] = -np.inf  # not offered
    gain[:, :, 0] = 0.0
    share, offered = weight[0] / weight.sum(), np.isfinite(gain[0])
    one, up = np.kron(np.eye(7), np.ones((1, 4))), [(0.0, float(z)) for z in offered.ravel()]
    least = linprog((share[:, None] * u[0]).ravel(), A_eq=one, b_eq=np.ones(7), bounds=up, method="highs").fun
    for rest in (0.0, 0.5, 1.0):
        for bound in (-9.0, -1.0, 0.9 * least):
            _, (high,) = aimed(u, [-np.inf], [min(bound, -1e-9)], rest, weight=weight, gain=gain)
            assert high == pytest.approx((1.0 - rest / 10.0) * least if least < 0.0 else least)


@pytest.mark.parametrize(
    ("bound", "aim"), [(0.1, 0.1), (0.0, 0.0), (-0.002, -0.00216), (-0.02, -0.036), (-0.06, -0.19), (-0.5, -0.19)]
)
def test_what_was_overspent_is_made_up_for_sooner(bound, aim):
    """A round brings back .2, of which a bound asks for c: c + 8 c^2 are aimed at, and .95 with half of a run left."""
    u = np.array([[[-0.3, 0.5], [-0.1, 0.2]]])
    assert aimed(u, [-np.inf], [bound], 0.5)[1] == pytest.approx([aim])
    assert aimed(-u, [-bound], [np.inf], 0.5)[0] == pytest.approx([-aim])
    for unit in (1e-9, 1e6):
        assert aimed(unit * u, [-np.inf], [unit * bound], 0.5)[1] == pytest.approx([unit * aim])


def test_where_the_means_bring_nothing_back_the_aim_is_to_lose_least():
    u = np.array([[[0.3, 0.5], [0.1, 0.0]]])
    for bound in (-0.01, -0.1, -9.0):
        assert aimed(u, [-np.inf], [bound], 0.5)[1] == pytest.approx([0.15])


def test_other_bounds_stay_and_no_bound_passes_the_other():
    u, low, high = np.tile([-1.0, 1.0], (4, 3, 1)), [-np.inf, -0.5, -0.12, 0.1], [-0.1, 0.2, -0.1, 0.12]
    for change in ({"due": np.zeros(4, bool)}, {"upper": NO, "lower": NO}):
        np.testing.assert_array_equal(aimed(u, low, high, **change), [low, high])
    found = aimed(u, low, high)
    np.testing.assert_allclose(found, [[-np.inf, -0.5, -0.12, 0.12], [-0.18, 0.2, -0.12, 0.12]])
    for r in range(4):  # a replica alone has the same
        np.testing.assert_array_equal(
            aimed(u[r : r + 1], low[r : r + 1], high[r : r + 1]), np.array(found)[:, r : r + 1]
        )


@pytest.mark.parametrize(("dear", "cheap"), [(10, 10), (30, 30), (60, 60), (200, 100)])
def test_a_plan_aims_at_a_part_of_what_its_means_can_earn_back(dear, cheap):
    """A dear offer overspends .16 and a cheap one brings .05 back, in 400 rounds; both are learned."""
    problem = replace(fixed(COST), outcomes=(eh.Outcome("sale"), eh.Outcome("dollars")))
    policy = resolving(problem, Tabular(arms=2, n_outcomes=2, confidence=1.0))
    state, run = policy.start(), Alike(problem).start(0, np.arange(1))
    for t in range(dear + cheap + 1):
        context, offer = run.context(t), int(t < dear)
        made = policy.decide(state, context)
        made = made._replace(plays=np.array([[offer]]), features=context.features[:, [offer]])
        if t == dear + cheap:
            policy.goals[1].replan(state.goals[1])
        policy.commit(state, context, made)
        if t < dear + cheap:
            policy.learn(state, made, np.array([[[[0.5, 0.1], [0.8, 0.4]][offer]]]))
    rest, back = 400 - dear - cheap, 0.05 * cheap / (cheap + 1)  # by the estimates of `Tabular`
    needed = (0.16 * dear - 0.05 * cheap) / rest / back
    aim = min(needed + 8.0 * needed**2, 1.0 - 0.1 * rest / 400)
    assert state.goals[1].plan[0, 0] / -back == pytest.approx(aim, rel=0.02)
