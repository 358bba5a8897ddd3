"""An environment for tests: any problem, outcomes all over their ranges, candidates that come and go."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.environments import Arrival
from evenhand.problem.problem import Problem


@dataclass(frozen=True, kw_only=True)
class Market:
    """Outcome m of a play is low + (high - low) (x_0 + luck) / 2, with the same luck for all plays of a round."""

    problem: Problem
    n_features: int = 3
    offered: float = 1.0  # chance of every candidate to be on offer

    def start(self, seed, replicas):
        return _MarketWorld(self, Luck(seed=seed, replicas=replicas))


class _MarketWorld:
    def __init__(self, market: Market, luck: Luck) -> None:
        self._market, self._luck, self._problem = market, luck, market.problem
        self.steps, self.counts_idle_steps = market.problem.horizon + 20, True

    def context(self, step: int) -> Context:
        problem, n = self._problem, self._market.n_features
        a, g, count = len(problem.actions), len(problem.groups), len(self._luck.replicas)
        u = self._luck.uniform(Stream.CONTEXT, np.array([step]), a * (n + 1) + g)
        sizes = np.diff(problem.ends)
        groups = problem.ends[:-1] + (u[:, :g] * sizes).astype(np.int64)
        features = u[:, g : g + a * n].reshape(count, a, n).copy()
        offered = u[:, g + a * n :] < self._market.offered
        return Context(features, problem.declared[None], problem.groups_of(groups[:, ~problem.by_action]), offered)

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, Sequence[Arrival]]:
        u = self._luck.uniform(Stream.OUTCOME, np.array([step]), len(self._problem.learned))[:, None, :]
        return decision, [Arrival(step, decision, self._scaled((decision.features[..., :1] + u) / 2))]

    def expected(self, context: Context, plays):
        x = np.take_along_axis(context.features, np.maximum(plays, 0)[:, :, None], 1)
        return self._scaled((x[..., :1] + np.full(len(self._problem.learned), 0.5)) / 2)

    def _scaled(self, v):
        return self._problem.low + (self._problem.high - self._problem.low) * v
