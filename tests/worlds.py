"""Environments for tests: any problem with outcomes all over their ranges, and requests whose bills are random."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.environments import Arrival
from evenhand.environments._cases import Cases, blocks, means
from evenhand.objectives import Objective
from evenhand.problem import Budget, Constraint, Groups, Outcome, Problem


@dataclass(frozen=True, kw_only=True)
class Market:
    """Outcome m of a play is low + (high - low) (x_0 + luck) / 2, with the same luck for all plays of a round.

    With `coins` it is either end of the range, high with the chance x_0.
    """

    problem: Problem
    n_features: int = 3
    offered: float = 1.0  # chance of every candidate to be on offer
    coins: bool = False

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
        return Context(
            features, problem.declared[None], problem.groups_of(groups.compress(~problem.by_action, 1)), offered
        )

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, Sequence[Arrival]]:
        u = self._luck.uniform(Stream.OUTCOME, np.array([step]), len(self._problem.observed))[:, None, :]
        x = decision.features[..., :1]
        y = self._scaled((u < x).astype(float) if self._market.coins else (x + u) / 2)
        return decision, [Arrival(step, decision, np.where(decision.plays[:, :, None] >= 0, y, 0.0))]

    def expected(self, context: Context, plays):
        x = np.take_along_axis(context.features, np.maximum(plays, 0)[:, :, None], 1)
        mean = x[..., :1] if self._market.coins else (x[..., :1] + 0.5) / 2
        return self._scaled(np.repeat(mean, len(self._problem.observed), -1))

    def _scaled(self, v):
        low, high = self._problem.span
        return low + (high - low) * v


@dataclass(frozen=True, kw_only=True)
class Router:
    """Requests for a small or a large model, or a human; a bill is 8 times its mean with chance 1/8, else 0.

    With `noisy=False` the bills are their means, and declared as known.
    """

    horizon: int = 1000
    noisy: bool = True
    total: float = 12.0
    hard: bool | None = None
    sure: bool = True
    maximize: str | Objective = "answered"
    extra: tuple[Constraint, ...] = ()
    fallback: float | None = None

    n_features = 6

    @cached_property
    def problem(self) -> Problem:
        means = {"small": 0.002, "large": 0.03}
        dollars = Outcome("dollars", high=0.24, mean=means, sure=self.sure, fallback=self.fallback)
        return Problem(
            actions=("human", "small", "large"),
            outcomes=(dollars if self.noisy else Outcome("dollars", known=means, sure=self.sure), Outcome("answered")),
            maximize=self.maximize,
            subject_to=(Budget("dollars", total=self.total, hard=self.hard), *self.extra),
            groups=(Groups("team", {"red": 0.5, "blue": 0.5}),),
            horizon=self.horizon,
        )

    def start(self, seed, replicas):
        luck, theta = Luck(seed=seed, replicas=replicas), np.array([[0.1, 0.0, 0.7, -0.5, 0.8, 0.1]])

        def case(step):
            u = luck.uniform(Stream.CONTEXT, np.array([step]), 2)
            groups = (u[:, 1:] < 0.5).astype(np.int64)[:, None]
            x = blocks(u[:, :1].copy(), 3)[:, 1:]
            return Context(x, self.problem.declared[None], groups, np.ones((1, 3), bool))

        def mean(x, plays):
            bills = self.problem.declared[np.maximum(plays, 0), :1] if self.noisy else np.zeros((*plays.shape, 0))
            return np.concatenate([means(x, theta, plays), bills], 2)

        def outcomes(step, decision, mean):
            u = luck.uniform(Stream.OUTCOME, np.array([step]), 2)[:, None]
            bills = np.where(u[:, :, 1:] < 0.125, 8.0, 0.0) * mean[:, :, 1:]
            return np.concatenate([(u[:, :, :1] < mean[:, :, :1]).astype(float), bills], 2)

        return Cases(self.horizon, luck, case, mean, outcomes)
