import math

import cvxpy as cp
import numpy as np
import pytest

from evenhand.goals import DualHedge
from evenhand.problem import Rows
from tests import twins
from tests.goals.test_dual import receipt
from tests.properties import drawn


def rides(d):
    return Rows.plain([f"c{j}" for j in range(d)], np.zeros((d, 1)), np.eye(d))


def hedge(d=1, max_price=4.0, step=0.1, bound=0.25, **options):
    return DualHedge(rows=rides(d), bound=np.full(d, bound), max_price=max_price, step=step, **options)


def mirror_step(weight, gain):
    """argmax of gain . w - KL(w, weight) over the simplex, the slack's gain being 0, by cvxpy."""
    w = cp.Variable(len(weight))
    objective = cp.Maximize(np.append(gain, 0.0) @ w - cp.sum(cp.kl_div(w, weight)))
    cp.Problem(objective, [w >= 0, cp.sum(w) == 1]).solve(solver=cp.CLARABEL)
    return w.value


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("step", [0.02, 0.7, 3.0])
def test_a_step_is_the_mirror_step_with_the_relative_entropy(d, step):
    """The solver's own tolerance is 1e-8 on the objective, so about 1e-4 on a strongly concave argument."""
    rng = np.random.default_rng(17 * d + int(10 * step))
    bound = rng.random(d)
    goal = DualHedge(rows=rides(d), bound=bound, max_price=3.0, step=step)
    state = goal.start(1)
    for _ in range(4):
        v = rng.random((1, d))
        expected = mirror_step(state.weight[0], step * (v[0] - bound))
        goal.on_outcome(state, receipt(), np.ones(1), v)
        np.testing.assert_allclose(state.weight[0], expected, atol=1e-4)


@drawn(replicas=4, d=5, step=[0.0, 0.05, 1.0, 5.0])
def test_steps_are_their_twin_and_prices_stay_in_their_set(replicas, d, step, seed):
    rng = np.random.default_rng(seed)
    bound = rng.normal(size=d)
    goal = DualHedge(rows=rides(d), bound=bound, max_price=2.5, step=step)
    state = goal.start(replicas)
    weight = np.full((replicas, d + 1), 1 / (d + 1))
    for _ in range(12):
        rounds = (rng.random(replicas) < 0.8).astype(float)
        v = rng.normal(size=(replicas, d)) * rounds[:, None]
        weight = twins.hedge(weight, step, bound, rounds, v)
        goal.on_outcome(state, receipt(replicas), rounds, v)
        np.testing.assert_allclose(state.weight, weight, rtol=1e-9, atol=1e-290)
        q, o = goal.price(state)
        np.testing.assert_allclose(q[:, 0], -2.5 * weight[:, :-1], rtol=1e-9, atol=1e-290)
        np.testing.assert_allclose(o, -(q[:, 0] * bound).sum(1), atol=1e-12)
        assert (q <= 0.0).all()
        assert (-q.sum((1, 2)) <= 2.5 * (1 + 1e-12)).all()


def test_four_rounds_by_hand():
    """One row, step ln 2, bound 0: costs 1, 1, 0, 1 make the odds of price against slack 2, 4, 4, 8."""
    goal = hedge(step=math.log(2.0), bound=0.0)
    state = goal.start(1)
    for cost, odds in zip([1.0, 1.0, 0.0, 1.0], [2, 4, 4, 8], strict=True):
        goal.on_outcome(state, receipt(), np.ones(1), np.array([[cost]]))
        assert goal.price(state)[0][0, 0, 0] == pytest.approx(-4.0 * odds / (1 + odds))


def test_entries_in_pieces_are_the_entry_as_a_whole():
    """A round's costs may come late, and one by one: rounds = 0 and the rest of v."""
    rng = np.random.default_rng(2)
    goal, v = hedge(3, step=0.4), rng.random((1, 3))
    whole, pieces = goal.start(1), goal.start(1)
    goal.on_outcome(whole, receipt(), np.ones(1), v)
    goal.on_outcome(pieces, receipt(), np.ones(1), np.zeros((1, 3)))
    for j in (2, 0, 1):
        goal.on_outcome(pieces, receipt(), np.zeros(1), v * (np.arange(3) == j))
    np.testing.assert_allclose(pieces.weight, whole.weight, rtol=1e-13)


def test_a_weight_that_all_but_vanished_comes_back():
    goal = hedge(step=50.0, bound=0.5)
    state = goal.start(1)
    for _ in range(100):
        goal.on_outcome(state, receipt(), np.ones(1), np.zeros((1, 1)))
    assert goal.price(state)[0][0, 0, 0] > -1e-200
    for _ in range(100):
        goal.on_outcome(state, receipt(), np.ones(1), np.ones((1, 1)))
    assert goal.price(state)[0][0, 0, 0] == pytest.approx(-4.0)
    assert np.isfinite(state.weight).all()


def test_regret_against_every_fixed_price_is_at_most_that_of_the_theorem():
    """Gains g in [-1, 1]^d, T = 2,000: Z (ln(d+1) / step + step T / 2), at the best step Z sqrt(2 T ln(d+1)).

    Adversarial gains: alternating, drifting and random; the bound holds for every sequence, so no luck is allowed for.
    """
    rng, rounds, d, max_price = np.random.default_rng(5), 2000, 4, 3.0
    t = np.arange(rounds)[:, None]
    sequences = {
        "alternating": np.where((t + np.arange(d)) % 2 == 0, 1.0, -1.0),
        "drifting": np.sin(2 * math.pi * t / rounds + np.arange(d)),
        "random": rng.choice([-1.0, 1.0], size=(rounds, d)) * 0.5 + 0.1,
    }
    step = math.sqrt(2 * math.log(d + 1) / rounds)
    for gains in sequences.values():
        goal = DualHedge(rows=rides(d), bound=np.zeros(d), max_price=max_price, step=step)
        state, got = goal.start(1), 0.0
        for g in gains:
            got -= (goal.price(state)[0][0, 0] * g).sum()
            goal.on_outcome(state, receipt(), np.ones(1), g[None])
        best = max_price * max(0.0, gains.sum(0).max())
        assert best - got <= max_price * math.sqrt(2 * rounds * math.log(d + 1))


def test_rounds_that_prices_did_not_steer_move_nothing():
    goal = hedge()
    state = goal.start(2)
    goal.on_outcome(state, receipt(2)._replace(forced=np.array([1.0, 0.0])), np.ones(2), np.ones((2, 1)))
    assert state.weight[0].tolist() == [0.5, 0.5]
    assert state.weight[1, 0] > 0.5


def test_rows_of_learned_outcomes_are_read_one_by_one_or_net():
    rows = Rows.plain(["a", "b"], np.eye(2), np.zeros((2, 0)))
    shapes = {"row": (1, 2, 2), "net": (1, 1, 2)}
    for optimism, shape in shapes.items():
        goal = DualHedge(rows=rows, bound=np.zeros(2), max_price=3.0, step=0.1, optimism=optimism)
        q = goal.price(goal.start(1))[0]
        assert q.shape == shape
        np.testing.assert_allclose(q.sum(1), -1.0)
