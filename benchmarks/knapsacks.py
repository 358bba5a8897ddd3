"""A knapsack of many arms and budgets, all outcomes coins, for what a round without contexts costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import linprog

from evenhand.core.kernel import kernel
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats, Ints
from evenhand.environments import WithoutContexts
from evenhand.environments.base import Arrival
from evenhand.environments.mixture import coins
from evenhand.models import Tabular
from evenhand.numerics.simplex import lotteries
from evenhand.policy.policy import Policy
from evenhand.problem import Budget, Outcome, Problem
from evenhand.recipes import bwcr, greedy_bwk, lin_cbwk, pd_bwk, ucb_bwcr, ucb_bwk
from evenhand.report.summary import table

ARMS, BUDGETS = 50, 10


@kernel
def _means(mean: Floats, plays: Ints) -> Floats:
    """Means of the plays, `(A,M),(P)->(P,M)`; 0 where nothing is played."""
    y = np.zeros((*plays.shape, mean.shape[1]))
    for r in range(len(plays)):
        for p in range(plays.shape[1]):
            if plays[r, p] >= 0:
                y[r, p] = mean[plays[r, p]]
    return y


class _Coins:
    counts_idle_steps = True

    def __init__(self, steps: int, mean: Floats, seed: int, replicas: Ints) -> None:
        self._luck, self._mean, self.steps = Luck(seed=seed, replicas=replicas), mean, steps
        count, arms = len(replicas), len(mean)
        none, groups = np.zeros((count, arms, 0)), np.zeros((count, 1, 0), np.int64)
        self._context = Context(none, np.zeros((1, arms, 0)), groups, np.ones((1, arms), bool))

    def context(self, step: int) -> Context:
        return self._context

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, list[Arrival]]:
        mean = _means(self._mean, decision.plays)
        u = self._luck.uniform(Stream.OUTCOME, np.array([step]), mean.shape[2])
        return decision, [Arrival(step, decision, coins(mean, u))]

    def expected(self, context: Context, plays: Ints) -> Floats:
        return _means(self._mean, plays)


@dataclass(frozen=True)
class Coins:
    """Uniform means; the first arm does nothing."""

    horizon: int
    n_features = 0

    @cached_property
    def problem(self) -> Problem:
        """Reward under budgets of 0.4 per round."""
        names = [f"cost {i}" for i in range(BUDGETS)]
        return Problem(
            actions=tuple(f"arm {a}" for a in range(ARMS)),
            outcomes=tuple(Outcome(name, free=("arm 0",)) for name in ["reward", *names]),
            maximize="reward",
            subject_to=tuple(Budget(name, rate=0.4) for name in names),
            horizon=self.horizon,
        )

    def start(self, seed: int, replicas: Ints) -> _Coins:
        """The same means in every replica."""
        mean = np.random.default_rng(0).random((ARMS, BUDGETS + 1))
        mean[0] = 0.0
        return _Coins(self.horizon, mean, seed, replicas)


def round_table(cost: Callable[[Policy, WithoutContexts, int], float]) -> str:
    """Microseconds per replica and round of runs of 1,000 rounds, the world and the trace included."""
    rows = []
    for recipe in (bwcr, pd_bwk, greedy_bwk, lin_cbwk, ucb_bwk, ucb_bwcr):
        world = WithoutContexts(Coins(100 if recipe is ucb_bwcr else 1000))
        policy = recipe(world.problem, Tabular(arms=ARMS, n_outcomes=BUDGETS + 1, confidence=0.5))
        cost(policy, world, 2)  # compiles
        rows.append([f"{policy.name}, 100 replicas", f"{cost(policy, world, 100):.1f}"])
    return table(["", "microseconds"], rows)


def program_table() -> str:
    """One linear program over the arms by the kernel, beside HiGHS."""
    rng = np.random.default_rng(0)
    worth, use, bound = rng.random((100, ARMS)), rng.random((100, BUDGETS, ARMS)), np.full(BUDGETS, 0.4)
    worth[:, 0], use[:, :, 0] = 0.0, 0.0
    everything, one = np.ones((100, ARMS), bool), np.ones((1, ARMS))
    lotteries(worth, use, bound, everything)  # compiles
    kernel_time = min(_seconds(lambda: lotteries(worth, use, bound, everything)) for _ in range(20)) / 100
    highs = min(_seconds(lambda: linprog(-worth[0], use[0], bound, one, [1.0])) for _ in range(20))
    ours = ["kernel simplex", f"{1e6 * kernel_time:.1f}", "1.0"]
    theirs = ["HiGHS", f"{1e6 * highs:.0f}", f"{highs / kernel_time:.0f}"]
    return table(["", "microseconds", "times slower"], [ours, theirs])


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
