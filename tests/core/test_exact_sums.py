"""Amounts of money add up: to the last bit of a double, however many there are."""

import math

import numpy as np
import pytest

import evenhand as eh
from evenhand.core.kernel import kernel
from evenhand.numerics.precision import put


@kernel
def repeated(x, times):
    """The sum of a number that is added many times, by `put` and plainly."""
    sums, rest, plain = np.zeros((1, 1)), np.zeros((1, 1)), 0.0
    for _ in range(times):
        put(sums, rest, 0, 0, x)
        plain += x
    return sums[0, 0], plain


def test_ten_million_additions_of_a_tenth_are_a_million():
    found, plain = repeated(0.1, 10**7)
    assert found == 1e6
    assert abs(plain - 1e6) > 1e-4


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_sums_are_those_of_exact_arithmetic(scale):
    x = np.random.default_rng(0).lognormal(0, 3, 4000) * scale
    x[1::2] = -x[::2][np.random.default_rng(1).permutation(2000)]  # what is held is given back later
    sums, rest = np.full((1, 1), 5.0 * scale), np.zeros((1, 1))
    for z in x:
        put(sums, rest, 0, 0, z)
    assert sums[0, 0] == math.fsum([5.0 * scale, *x])


def decided(policy, state):
    """A decision to pay, if that fits, which is carried out."""
    context = policy.encode({}, offered=["pay"])
    decision = policy.decide(state, context)
    policy.commit(state, context, decision)
    return decision


def test_what_was_held_and_given_back_leaves_nothing():
    problem = eh.Problem(
        actions=("none", "pay"),
        outcomes=(eh.Outcome("gain"), eh.Outcome("bill", 0, 0.3, free=("none",))),
        maximize="gain",
        subject_to=(eh.Budget("bill", total=1000.0),),
        horizon=3000,
    )
    policy = eh.resolving(problem, eh.PerAction.of(problem))
    state = policy.start()
    waiting = [decided(policy, state) for _ in range(1000)]
    for decision in waiting:
        policy.observe(state, decision, {"gain": 1, "bill": 0.1})
    (account,) = policy.status(state).accounts.values()
    assert (account.spent, account.held, account.left) == (100.0, 0.0, 900.0)
    assert policy.status(state).averages["bill"] == 0.1
    assert sum([0.3] * 1000) - 200.0 != 100.0  # plain sums leave something


def test_a_budget_in_tenths_is_used_to_the_last_tenth():
    problem = eh.Problem(
        actions=("none", "pay"),
        outcomes=(eh.Outcome("gain"), eh.Outcome("price", known={"pay": 0.1})),
        maximize="gain",
        subject_to=(eh.Budget("price", total=300.0),),
        horizon=5000,
    )
    policy = eh.resolving(problem, eh.PerAction.of(problem))
    state, played = policy.start(), 0
    for _ in range(3200):
        decision = decided(policy, state)
        played += decision.action is not None
    (account,) = policy.status(state).accounts.values()
    assert (played, account.spent) == (3000, 300.0)
    assert abs(account.left) < 1e-13  # as 0.1 is not a tenth in double precision
