"""Four arms whose means a policy may know, for tests of goals."""

from dataclasses import dataclass, field

import numpy as np

from evenhand.core.records import Context, Worth
from evenhand.models import Ridge
from evenhand.problem import Outcome, Problem

ARMS = np.array([[0.9, 0.1, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.4, 0.3, 0.1]])


@dataclass(frozen=True, eq=False)
class Truth:
    """Knows the means of some arms."""

    means: np.ndarray = field(default_factory=lambda: ARMS)
    unit: float = 1.0

    @property
    def n_features(self):
        return len(self.means)

    @property
    def n_outcomes(self):
        return self.means.shape[1]

    def start(self, replicas, low, high, horizon):
        return Ridge(n_features=self.n_features, n_outcomes=self.n_outcomes).start(replicas, low, high, horizon)

    def draws(self, candidates):
        return 0

    def value(self, state, x, w, u):
        mean = self.unit * w[:, :, 0] @ np.swapaxes(x @ self.means, 1, 2)
        return Worth(mean, np.zeros_like(mean))

    def update(self, state, x, y, seen, w, lesson=None):
        pass


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
    context = Context(np.eye(4)[None], np.zeros((1, 4, 0)), np.zeros((1, 1, 0), np.int64), np.ones((1, 4), bool))
    for _ in range(horizon):
        decision = policy.act(state, context)
        if decision.plays[0, 0] < 0:
            continue
        y = unit * ARMS[decision.plays[0, 0]]
        policy.learn(state, decision, y[None, None])
        total += y
    return total / horizon
