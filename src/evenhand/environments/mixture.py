"""Two knapsack instances, without and with contexts, whose optima mix arms and exhaust several budgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import kernel
from evenhand.core.luck import Luck, Stream, uniform_within
from evenhand.core.records import Context, Decision
from evenhand.core.types import Bools, Floats, Ints, cached_property
from evenhand.environments._arms import ArmsWorld
from evenhand.environments._cases import Cases, blocks, coins, means, no_groups
from evenhand.environments.bernoulli_knapsacks import knapsack_problem
from evenhand.problem.problem import Problem

# reward, then two costs, of each arm: no arm suits both budgets, and the cheap one is worth little
ARMS = np.array([[0.80, 0.90, 0.20], [0.70, 0.20, 0.80], [0.50, 0.35, 0.35], [0.20, 0.05, 0.10]])
RATES = (0.35, 0.30)
# constant and slopes in two features, for reward and two costs of each of three arms; means of costs stay within 1/2
SLOPES: Floats = np.array(
    [
        [[0.20, 0.60, 0.10], [0.30, 0.15, 0.00], [0.05, 0.05, 0.05]],
        [[0.25, 0.10, 0.55], [0.05, 0.10, 0.00], [0.30, 0.00, 0.15]],
        [[0.40, 0.05, 0.05], [0.15, 0.05, 0.05], [0.15, 0.05, 0.05]],
    ]
)
CONTEXT_RATES = (0.15, 0.12)
_CONTEXT, _OUTCOME = np.uint64(Stream.CONTEXT), np.uint64(Stream.OUTCOME)


@named("S5", source="evenhand's own instance: a mixture of arms is optimal, costs are coins")
@dataclass(frozen=True, kw_only=True)
class MixedArms:
    """Four arms and doing nothing, without contexts; Bernoulli reward and two Bernoulli costs; both budgets bind.

    The best lottery mixes three arms. Playing a single arm until a budget is used up earns at most 85% as much.

    Args:
        horizon: T; budgets are 0.35 T and 0.30 T.

    >>> MixedArms(horizon=1000).problem.spending[1].total
    300.0
    """

    horizon: int = 4000

    @cached_property
    def problem(self) -> Problem:
        return knapsack_problem(len(ARMS), self.horizon, RATES)

    @property
    def n_features(self) -> int:
        return len(ARMS)

    def start(self, seed: int, replicas: Ints) -> ArmsWorld:
        return ArmsWorld(self.problem, np.concatenate([np.zeros((1, 3)), ARMS]), False, seed, replicas)


@kernel
def _outcomes(mean: Floats, u: Floats) -> Floats:
    """A coin for the reward, and costs that are uniform between 0 and twice their means, `(P,M),(M)->(P,M)`."""
    y = coins(mean, u)
    for r in range(len(y)):
        for p in range(y.shape[1]):
            for m in range(1, y.shape[2]):
                y[r, p, m] = 2.0 * mean[r, p, m] * u[r, m]
    return y


class _MixedView(NamedTuple):
    seed: Any
    replicas: Ints
    known: Floats
    groups: Ints
    offered: Bools
    theta: Floats
    every_play: Bools  # shown
    size: int  # numbers that describe a case

    @kernel
    def context(self, step: int) -> tuple[Context, None]:
        z = uniform_within(self.seed, _CONTEXT, self.replicas, np.full(1, step), self.size)
        return Context(blocks(z, self.offered.shape[1] - 1), self.known, self.groups, self.offered, None), None

    @kernel
    def respond(self, step: int, c: Context, hidden: None, d: Decision) -> tuple[Floats, Bools, Floats]:
        mean = means(c.features, self.theta, d.plays)
        u = uniform_within(self.seed, _OUTCOME, self.replicas, np.full(1, step), mean.shape[2])
        return _outcomes(mean, u), self.every_play, mean


@named("S5", source="evenhand's own instance: a mixture of arms is optimal, with contexts and bounded costs")
@dataclass(frozen=True, kw_only=True)
class MixedContexts:
    """Three arms and doing nothing, two features per case; Bernoulli reward, two costs uniform on [0, 2 mean].

    Args:
        horizon: T; budgets are 0.15 T and 0.12 T.

    >>> MixedContexts().n_features
    9
    """

    horizon: int = 4000

    @cached_property
    def problem(self) -> Problem:
        return knapsack_problem(len(SLOPES), self.horizon, CONTEXT_RATES)

    @property
    def n_features(self) -> int:
        return int(SLOPES[:, 0].size)

    def start(self, seed: int, replicas: Ints) -> Cases:
        luck, arms, groups = Luck(seed=seed, replicas=replicas), len(SLOPES), no_groups(replicas)
        theta = np.swapaxes(SLOPES, 0, 1).reshape(SLOPES.shape[1], -1).copy()
        known, offered = self.problem.declared[None], np.ones((1, arms + 1), bool)

        def case(step: int) -> Context:
            z = luck.uniform(Stream.CONTEXT, np.array([step]), SLOPES.shape[2] - 1)
            return Context(blocks(z, arms), known, groups, offered)

        def outcomes(step: int, decision: Decision, mean: Floats) -> Floats:
            return _outcomes(mean, luck.uniform(Stream.OUTCOME, np.array([step]), mean.shape[2]))

        fixed = np.ascontiguousarray(known), groups, offered, theta
        view = _MixedView(np.uint64(seed), replicas, *fixed, np.zeros((0, 0), bool), SLOPES.shape[2] - 1)
        return Cases(self.horizon, luck, case, lambda x, plays: means(x, theta, plays), outcomes, view)
