"""Prices of rows from those of directions, against NumPy, and a context that is changed while a plan keeps it."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.errors import InvalidInput
from evenhand.problem.merged_rows import MergedRows, merge
from evenhand.problem.rows import Rows


def _expected(d, mu):
    price = np.zeros((len(mu), len(d.of)))
    for i in range(len(d.first)):
        if d.upper[i] >= 0:
            price[:, d.upper[i]] = np.maximum(mu[:, i], 0.0) / d.multiple[d.upper[i]]
        if d.lower[i] >= 0:
            price[:, d.lower[i]] = np.minimum(mu[:, i], 0.0) / d.multiple[d.lower[i]]
    return price


@pytest.mark.parametrize("replicas", [1, 3])
def test_prices_are_divided_by_the_multiples_of_their_rows(replicas):
    d = MergedRows(
        first=np.array([0, 2, 3]),
        of=np.array([0, 0, 1, 2]),
        multiple=np.array([1.0, -2.5, 0.3, 4.0]),
        upper=np.array([0, 2, -1]),
        lower=np.array([1, -1, 3]),
    )
    mu = np.random.default_rng(0).normal(size=(replicas, 5))  # prices of other directions follow
    np.testing.assert_array_equal(d.prices(mu), _expected(d, mu))
    np.testing.assert_array_equal(d.prices(-mu), _expected(d, -mu))


def test_a_row_of_zeros_is_a_direction_of_its_own():
    problem = eh.Problem(actions=("a", "b"), outcomes=(eh.Outcome("y"),), maximize="y", horizon=10)
    learned = np.array([[0.0], [1.0], [0.0], [-2.0]])
    d = merge(problem, Rows.plain(["none", "y", "none again", "minus y twice"], learned, np.zeros((4, 0))), np.ones(4))
    assert d.of.tolist() == [0, 1, 2, 1]
    assert d.multiple.tolist() == [1.0, 1.0, 1.0, -2.0]


def test_a_context_that_is_changed_before_it_is_committed_never_enters_a_plan():
    shop = eh.Problem(
        actions=("none", "letter"),
        features=(eh.Numeric("age", 20, 60),),
        outcomes=(eh.Outcome("answer"), eh.Outcome("cents", known={"letter": 80})),
        maximize="answer",
        subject_to=(eh.Budget("cents", total=800),),
        horizon=100,
    )
    policy = eh.resolving(shop, eh.PerAction.of(shop))
    state, context = policy.start(), policy.encode({"age": 30})
    decision = policy.decide(state, context)
    context.features[0, 1, 1] = np.nan
    with pytest.raises(InvalidInput, match=r"context\.features\[0, 1, 1\]"):
        policy.commit(state, context, decision)
    assert state.t[0] == 0
