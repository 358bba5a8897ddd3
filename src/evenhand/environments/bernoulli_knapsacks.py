"""Random knapsack instances without contexts, with Bernoulli rewards and costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.types import Floats, Ints, cached_property
from evenhand.core.validate import counts, positive
from evenhand.environments._arms import ArmsWorld, instance_luck
from evenhand.problem.constraints import Budget
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem


@named("B11", source="the setting of Badanidiyuru, Kleinberg & Slivkins 2013; instances are evenhand's own")
@dataclass(frozen=True, kw_only=True)
class BernoulliKnapsacks:
    """Has A arms and a null arm, a Bernoulli reward and M Bernoulli costs with budgets, and no contexts.

    Equation: mean costs c_aj are uniform on [0, 1], and mean rewards r_a = (u_a + mean_j c_aj) / 2 with u_a uniform on
    [0, 1], so that arms that use more also earn more. Every budget is `scarcity` times what uniform play of the arms
    uses. All replicas and seeds have the same means.

    Args:
        arms: the number of arms A.
        resources: the number of resources M.
        scarcity: the budgets relative to uniform play, above 0; at 1 or more, most do not bind.

    >>> world = BernoulliKnapsacks(arms=10, resources=3, horizon=1000)
    >>> world.problem.names
    ('reward', 'cost 1', 'cost 2', 'cost 3')
    """

    arms: int = 10
    resources: int = 3
    instance: int = 0
    scarcity: float = 0.5
    horizon: int = 10_000

    def __post_init__(self) -> None:
        counts(self, {"arms": 1, "resources": 1, "instance": 0})
        positive("BernoulliKnapsacks.scarcity", self.scarcity)

    @cached_property
    def means(self) -> Floats:
        """The means of the reward and the costs of every action, the null action first, `->(A+1,1+M)`."""
        u = instance_luck(self.instance, 0, self.arms * (1 + self.resources)).reshape(self.arms, -1)
        arms = np.column_stack([0.5 * (u[:, 0] + u[:, 1:].mean(1)), u[:, 1:]])
        return np.concatenate([np.zeros((1, 1 + self.resources)), arms])

    @cached_property
    def problem(self) -> Problem:
        rates = self.scarcity * self.means[1:, 1:].mean(0)
        return knapsack_problem(self.arms, self.horizon, tuple(rates.tolist()))

    @property
    def n_features(self) -> int:
        return self.arms

    def start(self, seed: int, replicas: Ints) -> ArmsWorld:
        return ArmsWorld(self.problem, self.means, False, seed, replicas)


def knapsack_problem(arms: int, horizon: int, rates: tuple[float, ...]) -> Problem:
    """Build the problem of a reward under budgets per round, with arms and a null action."""
    names = [f"cost {i}" for i in range(1, len(rates) + 1)]
    return Problem(
        actions=("nothing", *(f"arm {a}" for a in range(1, arms + 1))),
        outcomes=tuple(Outcome(name, free=("nothing",)) for name in ["reward", *names]),
        maximize="reward",
        subject_to=tuple(Budget(name, total=rate * horizon) for name, rate in zip(names, rates, strict=True)),
        horizon=horizon,
    )
