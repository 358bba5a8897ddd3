"""Forecasts of plans: what is asked of a model, and rows at the means and at their ends in one pass."""

import numpy as np
import pytest

from evenhand.core.records import Context, Worth
from evenhand.planning import history
from evenhand.planning.forecast import forecast
from evenhand.problem import Floor, Outcome, Problem
from evenhand.problem.constraints import constraint_rows
from evenhand.problem.rows import select

MEANS, WIDTHS = np.array([0.3, 0.5]), np.array([0.1, 0.2])


def look(problem, side, factors=None, worth=("gain",)):
    """The forecast of two contexts of three actions, and the prices that the model was asked at, `(K,1|S*A,M)`."""
    state, asked = history.start(1), []
    for x in ([1.0, 2.0, 3.0], [0.5, 1.5, 1.0]):
        known = problem.declared[None] if factors is None else np.array(factors)[None, :, None]
        context = Context(np.array(x)[None, :, None], known, np.zeros((1, 1, 0), np.int64), np.ones((1, 3), bool))
        history.keep(state, context, np.ones(1), 10, 1)

    def ask(x, w):
        asked.append(w)
        price = np.broadcast_to(w, (1, w.shape[1], x.shape[1], 2))
        mean = np.einsum("rkam,m,ra->rka", price, MEANS, x[:, :, 0])
        return Worth(mean, np.einsum("rkam,m->rka", abs(price), WIDTHS), False)

    rows, _ = constraint_rows(problem)
    worth = select(problem, worth), np.eye(len(worth))[None]
    return forecast(state, ask, problem.shares[None], worth, rows, np.array([side])), asked[0]


def problem(**gain):
    return Problem(
        actions=("idle", "a", "b"),
        outcomes=(Outcome("gain", **gain), Outcome("sale", free=("idle",)), Outcome("price", known={"a": 1, "b": 1})),
        maximize="gain",
        subject_to=(Floor("sale", rate=0.1),),
        horizon=9,
    )


@pytest.mark.parametrize("side", [0, 1, -1])
def test_an_idle_action_needs_no_readings_of_its_own(side):
    found, asked = look(problem(free=("idle",)), side)
    assert asked.shape[2] == 1
    x = np.array([[1.0, 2.0, 3.0], [0.5, 1.5, 1.0]])
    counts = np.array([0.0, 1.0, 1.0])
    np.testing.assert_allclose(found.gain[0], counts * (0.3 * x + 0.1), atol=1e-15)
    np.testing.assert_allclose(found.bonus[0], counts * np.full((2, 3), 0.1), atol=1e-15)
    np.testing.assert_allclose(found.use[0, :, 0], -counts * 0.5 * x, atol=1e-15)
    np.testing.assert_allclose(found.hope[0, :, 0], -counts * (0.5 * x + side * 0.2), atol=1e-15)
    assert (found.hope is found.use) == (side == 0)


def test_prices_that_differ_between_actions_are_asked_for_each():
    found, asked = look(problem(times="price"), 1, [0.0, 2.0, 3.0])
    assert asked.shape[2] == 6
    x, price = np.array([[1.0, 2.0, 3.0], [0.5, 1.5, 1.0]]), np.array([0.0, 2.0, 3.0])
    np.testing.assert_allclose(found.gain[0], price * (0.3 * x + 0.1), atol=1e-15)


def test_every_reading_of_the_objective_has_a_bonus_of_its_own():
    """As in decisions: one of the sum would be less, and a plan would spend at another rate than its decisions."""
    both = Problem(
        actions=("idle", "a", "b"),
        outcomes=(Outcome("gain", free=("idle",)), Outcome("sale", free=("idle",))),
        maximize="gain",
        subject_to=(Floor("sale", rate=0.1),),
        horizon=9,
    )
    found, asked = look(both, 0, worth=("gain", "sale"))
    assert asked.shape[1:3] == (4, 1)
    x = np.array([[1.0, 2.0, 3.0], [0.5, 1.5, 1.0]])
    np.testing.assert_allclose(found.bonus[0], [[0.0, 0.3, 0.3]] * 2, atol=1e-15)
    np.testing.assert_allclose(found.gain[0], [0.0, 1.0, 1.0] * (0.8 * x + 0.3), atol=1e-15)
    np.testing.assert_allclose(found.use[0, :, 0], -np.array([0.0, 1.0, 1.0]) * 0.5 * x, atol=1e-15)
