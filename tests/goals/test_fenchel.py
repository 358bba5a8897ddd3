"""B3: steps by hand, what steps when, and what is refused."""

import numpy as np
import pytest

from evenhand.choices import TopK
from evenhand.goals import Descent, Falling, Fenchel, Steady
from evenhand.goals.fenchel import Box, OfSet, fenchel, fenchel_within
from evenhand.objectives import AlphaFair, GeneralizedGini, Linear
from evenhand.policy import Policy
from evenhand.problem import Budget, Outcome, Problem, Rows
from evenhand.problem.constraints import constraint_rows
from evenhand.sets import Box as Range
from tests.goals.arms import averages, problem, truth
from tests.goals.test_dual import receipt
from tests.goals.test_frank_wolfe import best


def costs(d=2):
    return Rows.plain([f"c{j}" for j in range(d)], np.eye(d), np.zeros((d, 0)))


def within(on="observed", rows=None, radius=1.0, step=0.5):
    """Two costs of at most 1/2 and 1/4."""
    of = OfSet(Range.below((0.5, 0.25)), Box(low=np.zeros(2), high=np.ones(2)))
    return Fenchel(rows=costs() if rows is None else rows, conjugate=of, mirror=Descent(radius, Steady(step)), on=on)


def test_three_rounds_by_hand():
    """From phi = 0 the point of least size is the best, then h(phi) = phi.b for phi >= 0."""
    goal = within()
    state = goal.start(1)
    expected = [
        ((1.0, 0.0), (0.5, 0.0)),  # phi = 0 - (0 - x) / 2
        ((1.0, 1.0), (0.75, 0.5)),  # best (0.5, 0), as 0 is best where phi is 0: phi + (x - best) / 2
        ((1.0, 1.0), (1.0 / np.hypot(1.0, 0.875), 0.875 / np.hypot(1.0, 0.875))),  # best (0.5, 0.25), then projected
    ]
    for x, phi in expected:
        goal.on_decision(state, receipt(), None)
        goal.on_outcome(state, receipt(), np.ones(1), np.array([x]))
        q, o = goal.price(state)
        np.testing.assert_allclose(q.sum(1)[0], -np.array(phi))
        assert o[0] == pytest.approx(phi[0] * 0.5 + phi[1] * 0.25)
    assert q.shape == (1, 2, 2)


def test_the_prices_are_a_tangent_from_above():
    """q.x + o is at least f(x), and equal to it somewhere."""
    gini = GeneralizedGini(("u", "v", "w"))
    goal = fenchel(problem(gini), gini)
    state, rng = goal.start(4), np.random.default_rng(0)
    points = rng.random((2000, 3))
    for _ in range(200):
        goal.enter(state, np.ones(4), rng.random((4, 3)))
        q, o = goal.price(state)
        tangent = points @ q.sum(1).T + o
        assert (tangent >= gini.value(points)[:, None] - 1e-12).all()
        corner = goal.conjugate.best(goal.theta(state))[1]
        np.testing.assert_allclose((q.sum(1) * corner).sum(1) + o, gini.value(corner), atol=1e-12)


@pytest.mark.parametrize("norm", ["euclidean", "sup"])
@pytest.mark.parametrize("objective", [GeneralizedGini(("u", "v", "w")), AlphaFair(("u", "v", "w"), 1.0, offset=0.05)])
def test_with_a_known_truth_the_average_tends_to_the_optimum(norm, objective):
    """Theorem 5.1 without learning: f(best) - f(average) <= regret / T, half of the bound at most here."""
    horizon = 2000
    stated = problem(objective, horizon)
    goal = fenchel(stated, objective, norm=norm)
    reached = averages(Policy(problem=stated, model=truth(), goals=(goal,), choice=TopK()), horizon)
    m, radius = 3, goal.mirror.radius
    bound = radius * np.sqrt(m / horizon) if norm == "euclidean" else radius * np.sqrt(2 * np.log(2 * m + 1) / horizon)
    top = best(objective)[0]
    assert top - 0.5 * bound <= objective.value(reached) <= top + 1e-6


def test_estimates_step_at_commit_and_are_asked_at_the_end_that_theta_likes_least():
    goal = within("optimistic")
    state = goal.start(2)
    state.at[:] = [[0.5, -0.5], [0.0, 1e-9]]
    np.testing.assert_array_equal(goal.ends(state), [[-1.0, 1.0], [1.0, -1.0]])
    assert goal.on_estimates
    state = goal.start(1)
    goal.on_decision(state, receipt(), np.array([[1.0, 0.0]]))
    np.testing.assert_array_equal(state.at, [[0.5, 0.0]])
    goal.on_outcome(state, receipt(), np.ones(1), np.array([[0.0, 1.0]]))  # the estimate has stepped already
    np.testing.assert_array_equal(state.at, [[0.5, 0.0]])


def test_known_rows_step_at_commit_and_others_when_they_arrive():
    rows = Rows.plain(["known", "learned"], np.array([[0.0], [1.0]]), np.array([[1.0], [0.0]]))
    goal, decision = within(rows=rows), receipt()._replace(known=np.ones((1, 1, 1)))
    state = goal.start(1)
    goal.on_decision(state, decision, None)
    np.testing.assert_array_equal(state.at, [[0.5, 0.0]])
    goal.on_outcome(state, decision, np.ones(1), np.array([[1.0, 1.0]]))
    np.testing.assert_array_equal(state.at, [[0.5, 0.5]])


def test_what_was_not_observed_or_does_not_count_moves_nothing():
    goal = within(radius=0.5)
    state = goal.start(2)
    state.at[:] = [[0.3, 0.4], [0.3, 0.4]]  # on the sphere, where projecting again could move by rounding
    before = state.at.copy()
    goal.on_outcome(state, receipt(2), np.array([0.0, 1.0]), np.array([[0.0, 0.0], [np.nan, np.nan]]))
    np.testing.assert_array_equal(state.at, before)
    goal.on_outcome(state, receipt(2), np.ones(2), np.array([[np.nan, 1.0], [0.5, 0.25]]))
    assert state.at[0, 0] < before[0, 0]  # only by the projection
    np.testing.assert_array_equal(state.at[1], before[1])


def test_steps_that_fall_do_so_by_rounds_that_were_played():
    """Two rounds are under way before the first outcome: steps are 1/2 over sqrt(2), sqrt(2) and sqrt(3)."""
    of = OfSet(Range.below((0.5, 0.25)), Box(low=np.zeros(2), high=np.ones(2)))
    goal = Fenchel(rows=costs(), conjugate=of, mirror=Descent(5.0, Falling(0.5)), on="observed")
    state, x = goal.start(1), np.array([[1.0, 0.0]])
    for played in (2, 0, 1):
        for _ in range(played):
            goal.on_decision(state, receipt(), None)
        goal.on_outcome(state, receipt(), np.ones(1), x)
    first = 0.5 / np.sqrt(2.0)  # then the best point has 1/2 of the first cost
    assert goal.theta(state)[0] == pytest.approx([1.5 * first + 0.25 / np.sqrt(3.0), 0.0])


def test_outcomes_count_in_units_of_their_ranges():
    """A problem in cents has the same vector, in the same units."""
    states = []
    for unit in (1.0, 100.0):
        euros = Outcome("cost", low=0.0, high=2.0 * unit)
        stated = Problem(
            actions=("a", "b"),
            outcomes=(Outcome("gain"), euros),
            maximize=Linear({"gain": 1.0, "cost": -0.5 / unit}),
            subject_to=(Budget("cost", rate=0.5 * unit),),
            horizon=100,
        )
        rows, bound = constraint_rows(stated)
        for goal in (
            fenchel(stated, stated.objective),
            fenchel(stated, stated.objective, norm="sup"),
            fenchel_within(stated, rows, Range.below(tuple(bound.tolist()))),
        ):
            state, cost = goal.start(1), len(goal.rows) - 1
            for x in (0.3, 1.9, 0.0, 1.2):
                v = np.full((1, len(goal.rows)), x)
                v[:, cost] *= unit * goal.rows.learned[cost, 1]
                goal.enter(state, np.ones(1), v)
            states.append(goal.theta(state).tolist())
    assert np.concatenate(states[:3], 1) == pytest.approx(np.concatenate(states[3:], 1), rel=1e-12)


@pytest.mark.parametrize("norm", ["euclidean", "sup"])
def test_the_order_of_outcomes_does_not_matter(norm):
    turned, rng = (2, 0, 1), np.random.default_rng(4)
    names = ("u", "v", "w")
    one = fenchel(problem(GeneralizedGini(names)), GeneralizedGini(names), norm=norm)
    other = GeneralizedGini([names[i] for i in turned])
    two = fenchel(problem(other), other, norm=norm)
    first, second = one.start(1), two.start(1)
    for _ in range(50):
        x = rng.random((1, 3))
        one.enter(first, np.ones(1), x)
        two.enter(second, np.ones(1), x[:, turned])
        np.testing.assert_allclose(one.theta(first)[:, turned], two.theta(second), atol=1e-12)
