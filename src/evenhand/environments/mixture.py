"""Two knapsack instances, without and with contexts, whose optima mix arms and exhaust several budgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import kernel
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats, Ints
from evenhand.environments._arms import ArmsWorld
from evenhand.environments.base import Arrival
from evenhand.environments.bernoulli_knapsacks import knapsack_problem
from evenhand.environments.knapsack import means
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


@kernel
def coins(mean: Floats, u: Floats) -> Floats:
    """Toss a coin for each mean, `(P,M),(M)->(P,M)`."""
    y = np.zeros_like(mean)
    for r in range(len(y)):
        for p in range(y.shape[1]):
            for m in range(y.shape[2]):
                y[r, p, m] = 1.0 if u[r, m] < mean[r, p, m] else 0.0
    return y


@kernel
def blocks(z: Floats, arms: int) -> Floats:
    """Put (1, z) into the block of each arm; the null action has zeros, `(q)->(A+1,A*(q+1))`."""
    width = z.shape[1] + 1
    x = np.zeros((len(z), arms + 1, arms * width))
    for r in range(len(z)):
        for a in range(arms):
            x[r, a + 1, a * width] = 1.0
            for i in range(width - 1):
                x[r, a + 1, a * width + 1 + i] = z[r, i]
    return x


class _MixedWorld:
    """A world with linear means in two features per case, Bernoulli rewards, and costs uniform on [0, 2 mean]."""

    counts_idle_steps = True

    def __init__(self, steps: int, theta: Floats, arms: int, seed: int, replicas: Ints) -> None:
        self._luck, self._theta, self._arms = Luck(seed=seed, replicas=replicas), theta, arms
        self._known, self._offered = np.zeros((1, arms + 1, 0)), np.ones((1, arms + 1), bool)
        self._groups = np.zeros((len(replicas), 1, 0), np.int64)
        self.steps = steps

    def context(self, step: int) -> Context:
        z = self._luck.uniform(Stream.CONTEXT, np.array([step]), SLOPES.shape[2] - 1)
        return Context(blocks(z, self._arms), self._known, self._groups, self._offered)

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, Sequence[Arrival]]:
        mean = self.expected(context, decision.plays)
        u = self._luck.uniform(Stream.OUTCOME, np.array([step]), mean.shape[2])
        y = coins(mean, u)
        y[:, :, 1:] = 2.0 * mean[:, :, 1:] * u[:, None, 1:]
        return decision, [Arrival(step, decision, y)]

    def expected(self, context: Context, plays: Ints) -> Floats:
        return means(context.features, self._theta, plays)


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
        """Start a world; luck is the same for every policy."""
        return ArmsWorld(self.problem, np.concatenate([np.zeros((1, 3)), ARMS]), False, seed, replicas)


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
        """One constant and two slopes per arm."""
        return int(SLOPES[:, 0].size)

    def start(self, seed: int, replicas: Ints) -> _MixedWorld:
        """Start a world; cases and luck are the same for every policy."""
        theta = np.swapaxes(SLOPES, 0, 1).reshape(SLOPES.shape[1], -1)
        return _MixedWorld(self.horizon, theta.copy(), len(SLOPES), seed, replicas)
