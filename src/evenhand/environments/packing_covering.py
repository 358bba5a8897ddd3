"""Random packing and covering instances: budgets and floors, without a null action."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context
from evenhand.core.types import Floats, Ints, cached_property
from evenhand.core.validate import counts, number
from evenhand.environments._arms import instance_luck
from evenhand.environments._cases import Cases, blocks, means, no_groups
from evenhand.problem.constraints import Budget, Floor
from evenhand.problem.outcome import Outcome
from evenhand.problem.problem import Problem

TRAITS = 2  # features of a case, beside the constant


@named("X16", source="evenhand's own: random instances of the setting of Slivkins et al. 2024")
@dataclass(frozen=True, kw_only=True)
class PackingCovering:
    """Has a reward, costs with budgets and goods with floors, all of them learned, and no null action.

    Equation: the mean of outcome m under action a is theta_ma0 + theta_ma1 z_1 + theta_ma2 z_2, z uniform on [0, 1]^2,
    with theta_ma0 uniform on [0, 1/2] and the other two on [0, 1/4]; every outcome is a coin. Budgets are (1 + slack)
    and floors (1 - slack) times what a lottery of the actions brings, which is drawn uniformly from the simplex.

    Args:
        arms: A, at least 2.
        costs, goods: how many budgets and how many floors, at least 1 each.
        slack: in (0, 1), by how much the lottery keeps to all constraints.

    >>> PackingCovering(costs=1, goods=2).problem.names
    ('reward', 'cost 1', 'good 1', 'good 2')
    """

    arms: int = 4
    costs: int = 2
    goods: int = 2
    instance: int = 0
    slack: float = 0.1
    horizon: int = 4000

    def __post_init__(self) -> None:
        counts(self, {"arms": 2, "costs": 1, "goods": 1, "instance": 0})
        number("PackingCovering.slack", self.slack, "a number in (0, 1)", lambda x: 0 < x < 1)

    @cached_property
    def theta(self) -> Floats:
        """The coefficients: a constant and two slopes per action, `->(M,A*3)`."""
        outcomes = 1 + self.costs + self.goods
        u = instance_luck(self.instance, 1, outcomes * self.arms * (1 + TRAITS))
        theta = u.reshape(outcomes, self.arms, 1 + TRAITS) * [0.5, 0.25, 0.25]
        costs, goods = theta[1 : 1 + self.costs].mean(0), theta[1 + self.costs :].mean(0)
        theta[0] = (theta[0] + costs + [0.5, 0.25, 0.25] - goods) / 3.0
        return np.asarray(theta.reshape(outcomes, -1))

    @cached_property
    def rates(self) -> Floats:
        """The budgets and then the floors per round."""
        lottery = -np.log(1.0 - instance_luck(self.instance, 2, self.arms))
        mean = self.theta.reshape(-1, self.arms, 1 + TRAITS) @ np.array([1.0, 0.5, 0.5]) @ (lottery / lottery.sum())
        return np.concatenate(
            [(1.0 + self.slack) * mean[1 : 1 + self.costs], (1.0 - self.slack) * mean[1 + self.costs :]]
        )

    @cached_property
    def problem(self) -> Problem:
        costs = [f"cost {i}" for i in range(1, self.costs + 1)]
        goods = [f"good {i}" for i in range(1, self.goods + 1)]
        rates = self.rates.tolist()
        budgets = [Budget(name, rate=rate) for name, rate in zip(costs, rates[: self.costs], strict=True)]
        floors = [Floor(name, rate=rate) for name, rate in zip(goods, rates[self.costs :], strict=True)]
        return Problem(
            actions=tuple(f"arm {a}" for a in range(1, self.arms + 1)),
            outcomes=tuple(Outcome(name) for name in ("reward", *costs, *goods)),
            maximize="reward",
            subject_to=(*budgets, *floors),
            horizon=self.horizon,
        )

    @property
    def n_features(self) -> int:
        return self.arms * (1 + TRAITS)

    def start(self, seed: int, replicas: Ints) -> Cases:
        luck, theta, groups = Luck(seed=seed, replicas=replicas), self.theta, no_groups(replicas)
        known, offered = self.problem.declared[None], np.ones((1, self.arms), bool)

        def case(step: int) -> Context:
            z = luck.uniform(Stream.CONTEXT, np.array([step]), TRAITS)
            x = blocks(z, self.arms)[:, 1:]  # without the null action
            return Context(np.ascontiguousarray(x), known, groups, offered)

        return Cases(self.horizon, luck, case, lambda x, plays: means(x, theta, plays))
