"""Four arms whose means a policy may know, for tests of goals."""

import numpy as np

from evenhand.core.records import Context
from evenhand.problem import Outcome, Problem
from tests.known import Known

ARMS = np.array([[0.9, 0.1, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.4, 0.3, 0.1]])
CASE = Context(np.eye(4)[None], np.zeros((1, 4, 0)), np.zeros((1, 1, 0), np.int64), np.ones((1, 4), bool))


def truth(means=ARMS, unit=1.0):
    """A model that knows the means of some arms."""
    return Known(lambda x: unit * (x @ means), *means.shape)


def problem(objective, horizon=4000, subject_to=()):
    return Problem(
        actions=("a", "b", "c", "d"),
        outcomes=tuple(Outcome(n) for n in ("u", "v", "w")),
        maximize=objective,
        subject_to=subject_to,
        horizon=horizon,
    )


def averages(policy, horizon, unit=1.0):
    """The average of the true means, when outcomes are the means."""
    state, total = policy.start(), np.zeros(3)
    for _ in range(horizon):
        decision = policy.act(state, CASE)
        if decision.plays[0, 0] < 0:
            continue
        y = unit * ARMS[decision.plays[0, 0]]
        policy.learn(state, decision, y[None, None])
        total += y
    return total / horizon
