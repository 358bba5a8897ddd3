"""Horizons that may end at any round between two: the rates of Balseiro, Kroer & Kumar (2022), and refusals."""

import pickle
from copy import deepcopy

import numpy as np
import pytest

from evenhand.core.errors import InvalidInput
from evenhand.planning.pace import Pace
from evenhand.problem import Between, Budget, Outcome, Problem


def problem(horizon, **more):
    return Problem(
        actions=("nothing", "go"),
        outcomes=(Outcome("gain", free=("nothing",)), Outcome("cost", known={"go": 1})),
        maximize="gain",
        subject_to=(Budget("cost", total=30),),
        horizon=horizon,
        **more,
    )


def test_a_total_that_is_spent_at_its_rate_has_the_published_rates_and_lasts_until_the_latest_end():
    first, last, total = 200, 900, 30.0
    pace = Pace(problem=problem(Between(first, last)), spans=(None,))
    length, used = np.array([float(last)]), 0.0
    for t in range(last):
        rest = pace.rest(length, np.array([[float(t)]]), np.array([True]))[0, 0]
        rate = (total - used) / rest
        published = total / (max(t, first) * (1.0 + np.log(last / first)))
        if t < 880:  # the last rounds take what whole rounds left
            assert rate == pytest.approx(published, rel=0.15 if t > 700 else 0.02)
        used += rate
    assert used == pytest.approx(total, rel=0.01)


def test_averages_are_kept_at_the_earliest_end_and_soon_after_any_round():
    pace = Pace(problem=problem(Between(200, 900)), spans=(None,))
    state, time = pace.start(4), np.zeros(4)
    np.testing.assert_allclose(pace.length(state, np.array([0.0, 150.0, 500.0, 850.0]), time), [200, 200, 600, 900])
    rest = pace.rest(np.array([600.0]), np.array([[480.0]]), np.array([False]))
    assert rest.item() == 120.0
    certain = Pace(problem=problem(900), spans=(None,))
    assert certain.rest(np.array([900.0]), np.array([[480.0]]), np.array([True])).item() == 420.0


def test_it_counts_as_the_latest_end_and_survives_copies():
    horizon = Between(200, 900)
    stated = problem(horizon)
    assert stated.last_round == 900.0
    assert stated.size == "2 actions over 200 to 900 rounds"
    for copy in (deepcopy(horizon), pickle.loads(pickle.dumps(horizon))):
        assert repr(copy) == "Between(200, 900)"
        assert copy.earliest == 200


@pytest.mark.parametrize(
    ("first", "last", "message"),
    [
        (0, 9, r"Between\.earliest: expected a whole number of at least 1, got 0"),
        (3, 2.5, r"Between\.latest: expected a whole number"),
        (10, 9, r"Between\.earliest: expected at most the latest end, 9, got 10"),
    ],
)
def test_ends_in_the_wrong_order_are_refused(first, last, message):
    with pytest.raises(InvalidInput, match=message):
        Between(first, last)


def test_an_end_in_time_leaves_no_end_open():
    with pytest.raises(InvalidInput, match=r"horizon: expected a number of rounds, as until= states"):
        problem(Between(3, 9), until=5.0)
