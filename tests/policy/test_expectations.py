"""The outcomes that candidates are expected to have: what the model predicts, and what the context knows."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.policy.reasons import expected
from tests.problems import pose


def context(problem, fees):
    x = np.arange(len(fees))[:, None, None] + np.array([[[1.0, 0.0], [0.0, 1.0]]])
    known = problem.declared[None] * np.array(fees)[:, None, None]
    return eh.Context(x, known, np.zeros((len(fees), 1, 0), np.int64), np.ones((1, 2), bool))


def test_a_replica_among_others_is_as_it_is_alone():
    fee = eh.Outcome("fee", known={"call": 2.0})
    problem = pose("gain", eh.Outcome("hours"), fee, actions=("none", "call"), horizon=50)
    policy = eh.resolving(problem, eh.BayesianRidge(n_features=2, n_outcomes=2))
    together, alone = policy.start(replicas=2), [policy.start(replicas=[r]) for r in (0, 1)]
    fees = (1.0, 3.0)
    for state, rows in ((together, [0, 1]), (alone[0], [0]), (alone[1], [1])):
        for k in range(6):
            c = context(problem, fees)
            c = c._replace(features=c.features[rows], known=c.known[rows], groups=c.groups[rows])
            decision = policy.act(state, c)
            y = np.array([[[0.2 + 0.5 * r, 0.1 * k * r]] for r in rows])
            policy.learn(state, decision, y)
    c = context(problem, fees)
    for r, state in enumerate(alone):
        own = c._replace(features=c.features[[r]], known=c.known[[r]], groups=c.groups[[r]])
        found = expected(policy, together, c, r)
        np.testing.assert_array_equal(found, expected(policy, state, own))
        np.testing.assert_array_equal(found[:, 2], [0.0, 2.0 * fees[r]])
    assert abs(expected(policy, together, c, 0) - expected(policy, together, c, 1))[:, :2].min() > 0.01
    with pytest.raises(eh.core.errors.InvalidInput, match=r"^replica"):
        expected(policy, together, c, 2)
