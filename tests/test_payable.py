"""How many rounds to come budgets can pay for, by hand; and that models are told."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.policy.payable import Payable
from tests.problems import pose

A = 2


def problem(*limits, horizon=100):
    return pose(
        "gain",
        eh.Outcome("cost", high=10.0, free=("none",)),
        eh.Outcome("fee", known={"spend": 2.0}),
        actions=("none", "spend"),
        subject_to=limits,
        horizon=horizon,
    )


def context(p, replicas=1):
    x = np.tile(np.eye(A), (replicas, 1, 1))
    return eh.Context(x, p.declared[None], np.zeros((replicas, 1, 0), np.int64), np.ones((1, A), bool))


def policy_of(p):
    return eh.resolving(p, eh.BayesianRidge(n_features=A, n_outcomes=2))


def played(policy, state, action, cost, observed=True):
    """One round of a given action, whose cost is seen or not."""
    c = context(policy.problem, len(state.t))
    d = policy.decide(state, c)
    plays = np.full((len(state.t), 1), action)
    x = np.take_along_axis(c.features, plays[:, :, None], 1)
    known = np.take_along_axis(np.broadcast_to(c.known, (len(plays), A, c.known.shape[2])), plays[:, :, None], 1)
    d = d._replace(plays=plays, features=x, known=known.copy())
    policy.commit(state, c, d)
    y = np.zeros((len(plays), 1, 2))
    y[:, 0, 1] = cost
    seen = np.ones(y.shape, bool)
    seen[:, :, 1] = observed
    policy.learn(state, d, np.where(seen, y, 0.0), seen)


def test_rounds_that_were_cancelled_need_not_be_paid_for():
    p = problem(eh.Budget("cost", total=60.0), eh.Budget("fee", total=100.0))
    policy = policy_of(p)
    state, payable = policy.start(replicas=2), Payable(p)
    played(policy, state, 1, 3.0)
    played(policy, state, 1, 3.0)
    c = context(p, 2)
    for _ in range(70):
        policy.cancel(state, policy.act(state, c))
    np.testing.assert_array_equal(payable.rounds(state), 60.0 / 6.0 * 2.0 - 2.0)


def test_by_hand():
    p = problem(eh.Budget("cost", total=60.0), eh.Budget("fee", total=100.0))
    policy = policy_of(p)
    state, payable = policy.start(), Payable(p)
    assert payable.rounds(state) == [100.0]
    played(policy, state, 0, 0.0)
    assert payable.rounds(state) == [99.0]  # nothing was used yet
    played(policy, state, 1, 3.0)
    assert payable.rounds(state) == [60.0 / 3.0 * 2.0 - 2.0]  # 1.5 a round so far, 57 left
    played(policy, state, 1, 0.0)
    played(policy, state, 1, 0.0)
    assert payable.rounds(state) == [pytest.approx(100.0 / 6.0 * 4.0 - 4.0)]  # less than 60 / 3 * 4 - 4


def test_a_cost_that_was_not_seen_is_taken_for_the_average_and_what_waits_is_still_to_be_paid_for():
    p = problem(eh.Budget("cost", total=60.0))
    policy = policy_of(p)
    state, payable = policy.start(), Payable(p)
    played(policy, state, 1, 3.0)
    played(policy, state, 1, 3.0, observed=False)
    assert payable.rounds(state) == [60.0 / 6.0 * 2.0 - 2.0]
    policy.act(state, context(p))
    assert payable.rounds(state) == [60.0 / 6.0 * 2.0 - 3.0]


def test_without_budgets_and_with_soft_ones_and_past_the_end():
    p = problem()
    policy = policy_of(p)
    state = policy.start()
    played(policy, state, 1, 9.0)
    assert Payable(p).rounds(state) == [99.0]
    soft = problem(eh.Budget("cost", total=10.0, hard=False))
    policy = eh.pgd(soft, eh.BayesianRidge(n_features=A, n_outcomes=2))
    state = policy.start()
    played(policy, state, 1, 5.0)
    assert Payable(soft).rounds(state) == [1.0]
    played(policy, state, 1, 9.0)
    assert Payable(soft).rounds(state) == [0.0]


def test_each_replica_has_its_own_and_models_inside_of_others_are_told():
    p = problem(eh.Budget("cost", total=60.0), horizon=50)
    inner = eh.BayesianRidge(n_features=A)
    policy = eh.resolving(p, eh.Stacked((inner, inner)))
    state = policy.start(replicas=2)
    played(policy, state, 1, np.array([3.0, 0.5]))
    policy.decide(state, context(p, 2))
    for part in state.model.parts:
        np.testing.assert_allclose(part.ahead, [19.0 / 50.0, 49.0 / 50.0])


def test_a_policy_that_spends_too_fast_explores_less():
    """The same observations, and a budget that pays for 20 rounds in place of 99."""
    bonus = []
    for total in (30.0, 1e6):
        p = problem(eh.Budget("cost", total=total))
        policy = policy_of(p)
        state = policy.start()
        for _ in range(6):
            played(policy, state, 1, 3.0)
        c = context(p)
        policy.decide(state, c)
        bonus.append(
            policy.model.value(state.model, c.features, np.ones((1, 1, 1, 2)), np.zeros((1, 0))).bonus[0, 0, 1]
        )
    assert 0.0 < bonus[0] < 0.8 * bonus[1]


def test_the_plan_and_the_objective_have_one_bonus_of_the_priced_sum():
    """Two bonuses of the same play, for its gain and for its cost, would say more than its worth is uncertain."""
    p = problem(eh.Budget("cost", total=60.0))
    policy = policy_of(p)
    state, c = policy.start(), context(p)
    for _ in range(4):
        played(policy, state, 1, 3.0)
    state.goals[1].mu[:] = 0.5
    w, *_ = policy._assembly.questions.prices(state, c, p.shares[None])
    assert w.shape == (1, 1, A, 2)  # one reading; the cost has no price where it is free
    worth = policy.model.value(state.model, c.features, w, np.zeros((1, 0)))
    assert worth.bonus.shape == (1, 1, A)
    apart = policy.model.value(state.model, c.features, w * np.eye(2)[:, None], np.zeros((1, 0)))
    assert worth.bonus[0, 0, 1] < apart.bonus[0, :, 1].sum()
