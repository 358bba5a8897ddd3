"""Defaults of recipes: in units of the most that a play can bring."""

import numpy as np
import pytest

from evenhand.environments import Court
from evenhand.goals.linear_reward import reward
from evenhand.objectives import Linear
from evenhand.problem import Budget, Groups, Outcome, Parity, Problem
from evenhand.problem.constraints import constraint_rows
from evenhand.recipes.defaults import priced_rows, worth_unit

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
    rows, bound = priced_rows(PROBLEM)
    raw, limits = constraint_rows(PROBLEM, PROBLEM.subject_to)
    unit = np.array([500.0, 60.0, *[60.0] * 4])
    np.testing.assert_allclose(bound, limits / unit)
    np.testing.assert_allclose(rows.learned, raw.learned / unit[:, None])
    np.testing.assert_allclose(rows.known, raw.known / unit[:, None])
    assert rows.names[:2] == ("cents / 500", "delay / 60")


def test_where_everything_is_at_most_1_nothing_changes():
    rows, bound = priced_rows(Court().problem)
    raw, limits = constraint_rows(Court().problem, Court().problem.subject_to)
    assert rows.names == raw.names
    np.testing.assert_array_equal(bound, limits)
    np.testing.assert_array_equal(rows.known, raw.known)


def test_the_worth_of_a_play_counts_all_that_the_objective_weighs():
    assert worth_unit(PROBLEM, reward(PROBLEM)) == pytest.approx(2.0 * 3.0 + 0.01 * 500.0)


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
    assert worth_unit(problem, reward(problem)) == 2.0 * 3.0 + 0.5 * 60.0
