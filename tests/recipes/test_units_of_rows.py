"""Defaults of recipes: in units of the most that a play can bring."""

from dataclasses import replace

import numpy as np
import pytest

from evenhand.environments import Court
from evenhand.goals import Falling, Steady
from evenhand.goals.frank_wolfe import frank_wolfe
from evenhand.objectives import GeneralizedGini, Linear, WeightedSum
from evenhand.problem import Budget, Groups, Outcome, Parity, Problem
from evenhand.problem.constraints import constraint_rows
from evenhand.recipes.fw_dual import gentle
from evenhand.recipes.terms import Terms

PROBLEM = Problem(
    actions=("wait", "ask", "buy"),
    outcomes=(
        Outcome("gain", low=-1.0, high=3.0),
        Outcome("delay", high=60.0, free=("wait",)),
        Outcome("cents", known={"ask": 20.0, "buy": 500.0}),
    ),
    maximize=Linear({"gain": 2.0, "cents": 0.01}),
    subject_to=(Budget("cents", rate=50.0), Budget("delay", rate=12.0), Parity("delay", by="side", tolerance=6.0)),
    groups=(Groups("side", {"left": 0.25, "right": 0.75}),),
    horizon=10_000,
)


def test_rows_and_bounds_are_divided_by_what_a_play_can_add():
    rows, bound = Terms(PROBLEM).rows_by_reach()
    raw, limits = constraint_rows(PROBLEM)
    unit = np.array([500.0, 60.0, *[60.0] * 4])
    np.testing.assert_allclose(bound, limits / unit)
    np.testing.assert_allclose(rows.learned, raw.learned / unit[:, None])
    np.testing.assert_allclose(rows.known, raw.known / unit[:, None])
    assert rows.names[:2] == ("cents / 500", "delay / 60")


def test_balanced_rows_count_what_groups_multiply_by():
    """Factors for a share of 1/4 are 3 and -1, with a mean square of 3; for one of 3/4 they are 1/3 and -1, and 1/3."""
    rows, bound = Terms(PROBLEM).rows_by_scale()
    raw, limits = constraint_rows(PROBLEM)
    left, right = np.sqrt(3.0 * np.sqrt(3.0)), np.sqrt(np.sqrt(1 / 3))
    unit = np.array([500.0, 60.0, *[60.0 * x for x in (left, left, right, right)]])
    np.testing.assert_allclose(bound, limits / unit)
    np.testing.assert_allclose(rows.learned, raw.learned / unit[:, None])
    np.testing.assert_allclose(rows.known, raw.known / unit[:, None])


def test_shares_that_are_to_be_estimated_count_as_equal():
    estimated = replace(PROBLEM, groups=(Groups("side", ["left", "right"]),))
    known = replace(PROBLEM, groups=(Groups("side", {"left": 0.5, "right": 0.5}),))
    np.testing.assert_array_equal(Terms(estimated).rows_by_scale()[1], Terms(known).rows_by_scale()[1])


@pytest.mark.parametrize("plays", [1, 2])
def test_the_default_step_knows_the_plays_and_that_a_play_is_of_one_item(plays):
    """Slopes at equal exposures are -1 for the click and weights of 1, 1/2, 1/3 averaged; a play moves one of three."""
    items = {name: name for name in PROBLEM.actions}
    problem = replace(PROBLEM, subject_to=(), groups=(Groups("item", tuple(items), of=items),), n_plays=plays)
    fair = GeneralizedGini(problem.each("gain", by="item"), (1.0, 1.0, 1.0))
    problem = replace(problem, maximize=WeightedSum(((1.0, Linear({"delay": -0.5})), (2.0, fair))))
    goal = frank_wolfe(problem, problem.objective)
    step = gentle(Terms(problem), goal, None)
    assert isinstance(step, Falling)
    assert step.size == pytest.approx((0.5 * 60.0 + 2.0 * 4.0) / (2 * np.sqrt(plays)))
    assert gentle(Terms(problem), goal, 0.3) == Steady(0.3)


def test_where_everything_is_at_most_1_nothing_changes():
    for made in (Terms.rows_by_reach, Terms.rows_by_scale):
        _nothing_changes(*made(Terms(Court().problem)))


def _nothing_changes(rows, bound):
    raw, limits = constraint_rows(Court().problem)
    assert rows.names == raw.names
    np.testing.assert_array_equal(bound, limits)
    np.testing.assert_array_equal(rows.known, raw.known)


def test_the_worth_of_a_play_counts_all_that_the_objective_weighs():
    assert Terms(PROBLEM).worth == pytest.approx(2.0 * 3.0 + 0.01 * 500.0)


def test_sums_over_groups_count_in_the_worth_of_a_play():
    """An objective may weigh the sum over one group; its size does not depend on which plays are in the group."""
    labels = Groups("label", ["major", "indie"], of={"wait": "major", "ask": "indie", "buy": "indie"})
    problem = Problem(
        actions=PROBLEM.actions,
        outcomes=PROBLEM.outcomes[:2],
        maximize=Linear({"gain label=indie": 2.0, "delay": 0.5}),
        groups=(labels,),
        horizon=100,
    )
    assert Terms(problem).worth == 2.0 * 3.0 + 0.5 * 60.0
