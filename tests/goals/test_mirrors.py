"""Regret of the two mirrors against the theorems: any sequence of outcomes, chosen after the vector is known."""

import math

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand.core.norms import dual_order, order
from evenhand.goals import Descent, Entropic, Falling, PowerBall, Steady
from evenhand.goals.fenchel import Box, OfObjective, OfSet
from evenhand.goals.mirrors import mirror
from evenhand.objectives import AlphaFair, GeneralizedGini, Linear
from evenhand.objectives.steepness import steepness
from evenhand.sets import Ball, Box as Range, Halfspaces, Simplex
from tests.rows import for_each

NAMES = ("a", "b", "c")
UNIT = Box(low=np.zeros(3), high=np.ones(3))
OBJECTIVES = {
    "gini": GeneralizedGini(NAMES),
    "fair": AlphaFair(NAMES, alpha=1.0, offset=0.2),
    "linear": Linear({"a": 1.0, "b": -0.5, "c": 0.25}),
}
SETS = {
    "budgets": Range.below((0.3, 0.5, 0.9)),
    "ball": Ball((0.5, 0.4, 0.3), 0.2),
    "simplex": Simplex(3),
    "halfspaces": Halfspaces(((1.0, -1.0, 0.0), (-1.0, -1.0, -1.0)), (0.1, -0.6)),
}
SEQUENCES = {
    "against": lambda theta, t, rng: np.where(theta[0] > 0.0, 0.0, 1.0),  # the highest loss of all points
    "with": lambda theta, t, rng: np.where(theta[0] > 0.0, 1.0, 0.0),
    "blocks": lambda theta, t, rng: np.roll([1.0, 0.0, 0.0], t // 50),
    "steady": lambda theta, t, rng: np.array([1.0, 0.0, 0.4]),
    "random": lambda theta, t, rng: rng.random(3),
    "coins": lambda theta, t, rng: (rng.random(3) < 0.3).astype(float),
}
T = 400


def conjugates(norm):
    for name, f in OBJECTIVES.items():
        yield name, OfObjective(f, UNIT), steepness(f, UNIT.unit, norm), f.value
    for name, s in SETS.items():
        yield name, OfSet(s, UNIT), 1.0, lambda x, s=s: -distance(s, x, norm)


def distance(within, x, norm):
    """From the part of the set that can be reached, by cvxpy."""
    y = cp.Variable(3)
    if isinstance(within, Ball):
        inside = [cp.norm(y - np.array(within.centre)) <= within.radius]
    else:
        a, b = within.halfspaces()
        inside = [a @ y <= b]
    problem = cp.Problem(
        cp.Minimize(cp.norm(y - x, "inf" if norm == "sup" else order(norm))), [*inside, y >= 0, y <= 1]
    )
    return problem.solve(solver="CLARABEL")


def losses(conjugate, learns, sequence, rng, rounds=T):
    """The sum of g_t(theta_t), and the average of x_t."""
    at, total, mean = np.zeros((1, 3)), 0.0, np.zeros(3)
    for t in range(rounds):
        count = np.full(1, float(t))
        theta = learns.theta(at, count)
        ball = {Descent: 2.0, Entropic: 1.0}.get(type(learns)) or learns.order
        assert np.linalg.norm(theta[0], ball) <= learns.radius * (1 + 1e-12)
        value, y = conjugate.best(theta)
        x = sequence(theta, t, rng)
        total, mean = total + value[0] - theta[0] @ x, mean + x / rounds
        learns.move(at, y - x, count + 1.0)
    return total, mean


@for_each("sequence", SEQUENCES)
@for_each("norm", ["euclidean", "sup", "one", 1.4, 3.0])
def test_regret_is_within_the_bound_of_the_theorem(norm, sequence):
    """The best fixed vector has the loss T f(average), by Lemma 2.2."""
    for name, conjugate, radius, value in conjugates(norm):
        learns = mirror(norm, radius, 3, T)
        total, mean = losses(conjugate, learns, SEQUENCES[sequence], np.random.default_rng(0))
        regret = total - T * value(mean)
        bound = radius * 3 ** (1.0 / order(norm)) * math.sqrt(T / min(dual_order(norm) - 1.0 or 1.0, 1.0))
        if norm == "sup":
            bound = radius * math.sqrt(2 * T * math.log(7))
        assert regret <= bound + 1e-5 * T, name


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_falling_steps_need_no_horizon(sequence):
    """Zinkevich 2003: with steps c / sqrt(t) at most (2 radius)^2 sqrt(T) / (2 c) + c G^2 sqrt(T), c = radius / G."""
    for name, conjugate, radius, value in conjugates("euclidean"):
        for rounds in (50, 400):
            learns = Descent(radius, Falling(radius / math.sqrt(3.0)))
            total, mean = losses(conjugate, learns, SEQUENCES[sequence], np.random.default_rng(1), rounds)
            assert total - rounds * value(mean) <= 3.0 * radius * math.sqrt(3 * rounds), name


@for_each("p", [1.2, 1.5, 2.5, 4.0, 12.0, math.inf])
@for_each("m", [1, 3, 5])
def test_vectors_in_balls_of_any_power_are_the_regularised_leader(m, p):
    """argmin step theta.G + ||theta||^2 / 2 over the ball, by cvxpy: the square of L_p below 2, else Euclidean."""
    rng = np.random.default_rng(int(10 * min(p, 100)) + m)
    for step, radius in ((0.1, 1.0), (2.0, 0.3), (5.0, 2.0)):
        learns, at = PowerBall(radius, Steady(step), p), np.zeros((1, m))
        for g in rng.normal(size=(4, m)) * 10.0 ** rng.integers(-2, 2, (4, m)):
            learns.move(at, g[None], np.ones(1))
        theta = cp.Variable(m)
        ball = cp.norm(theta, "inf" if p == math.inf else p)
        square = cp.square(ball) if p < 2.0 else cp.sum_squares(theta)
        cp.Problem(cp.Minimize(step * at[0] @ theta + square / 2), [ball <= radius]).solve(solver="CLARABEL")
        np.testing.assert_allclose(learns.theta(at, np.ones(1))[0], theta.value, atol=2e-4 * radius)
    assert not learns.theta(np.zeros((2, m)), np.ones(2)).any()
    assert not PowerBall(0.0, Steady(1.0), p).theta(at, np.ones(1)).any()


@given(st.integers(0, 10_000), st.integers(1, 6), st.floats(0.01, 3.0), st.floats(0.1, 5.0))
def test_exponential_weights_are_the_regularised_leader(seed, m, step, radius):
    """Weights of both signs and a slack, as Hedge keeps them: multiplied round by round."""
    rng = np.random.default_rng(seed)
    learns, at, weight = Entropic(radius, Steady(step)), np.zeros((1, m)), np.full(2 * m + 1, 1.0 / (2 * m + 1))
    for _ in range(10):
        g = rng.normal(size=m)
        learns.move(at, g[None], np.ones(1))
        weight *= np.exp(-step * np.concatenate([g, -g, [0.0]]))
        weight /= weight.sum()
        theta = radius * (weight[:m] - weight[m : 2 * m])
        np.testing.assert_allclose(learns.theta(at, np.ones(1))[0], theta, atol=1e-12 * radius)


def test_vectors_survive_sums_of_any_size():
    at = np.array([[1e9, -1e9, 0.0]])
    np.testing.assert_allclose(Entropic(2.0, Steady(1.0)).theta(at, np.ones(1)), [[-1.0, 1.0, 0.0]])
