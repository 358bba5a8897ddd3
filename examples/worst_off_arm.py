"""Maximise the matches of the arm that has least: an objective of an allocation that is no sum over arms."""

from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

import evenhand as eh
from evenhand.welfare.base import Allocation, Round

USERS, ARMS = 5, 3


def least(arms, matches):
    """The matches of the arm that has least: a match more or less changes them by one at most, `(U),(U)->()`."""
    return np.min([np.where(arms == a, matches, 0.0).sum(-1) for a in range(ARMS)], 0)


@dataclass(frozen=True)
class BestOfAll:
    """An oracle that compares all allocations by the least, and by the bonus that explores."""

    blind: bool = False

    def draws(self, users, arms):
        return 0

    def allocate(self, case: Round, curves, prices, u) -> Allocation:
        """Return the best allocation, whose probability is 1; there are no prices of arms."""
        every, user = np.array(list(product(range(ARMS), repeat=USERS))), np.arange(USERS)
        worth = least(every, case.value[:, user, every]) + case.bonus[:, user, every].sum(2)
        arms = every[np.where(case.eligible[:, user, every].all(2), worth, -np.inf).argmax(1)]
        return Allocation(arms, np.ones(arms.shape), np.full(prices.shape, np.nan))


@dataclass(frozen=True)
class Least:
    """What is reported beside the matches."""

    name: str = "matches of the worst-off arm"
    worst: Literal["low", "high"] = "low"

    def on(self, problem):
        return lambda plays, y: least(plays % ARMS, y[:, :, problem.observed.index("match")])


world = eh.environments.Matching(users=USERS, arms=ARMS, n_features=3, horizon=500, measures=(Least(),))
model = eh.models.Logistic(n_features=3, ridge=3.0, width=eh.models.Fixed(3**0.5), clipped=False)
policies = [
    eh.recipes.cab_ucb(world.problem, model, oracle=BestOfAll(), name="for the worst-off arm"),
    eh.recipes.cab_ucb(world.problem, model, name="for satisfaction"),
    eh.recipes.random_allocation(world.problem, n_features=3),
]
print(eh.compare(policies, world, replicas=5))
