"""Constraints kept by the best policy for the contexts so far, which is re-solved without regard to past use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from evenhand.core.records import Context, Decision
from evenhand.core.signatures import checked
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import counts, nonnegative, positive
from evenhand.goals._shared import check_bound, row_prices
from evenhand.goals.linear_reward import LinearReward
from evenhand.models.base import Ask
from evenhand.planning import history
from evenhand.planning.fluid import Fluid, Places, Solution, solve_fluid, spread
from evenhand.planning.forecast import forecast
from evenhand.planning.growth import Appended
from evenhand.planning.history import HistoryState
from evenhand.problem.merged_rows import MergedRows, merge, separate
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows

_RUNGS = 4.0 ** np.arange(9)[::-1]  # falling temperatures, in units of the last


@dataclass
class PrimalState:
    """Prices, and the contexts so far."""

    mu: Floats  # (R, k) signed prices of the directions
    due: Floats  # (R,) number of decided rounds at which to solve next
    solved: Ints  # (R,) number of solves
    history: HistoryState


@checked
@dataclass(frozen=True, kw_only=True, eq=False)
class Primal:
    """Keep the average of rows below a bound, by the policy that is best for the contexts so far.

    Equation: max over policies pi of mean_s [sum_a pi_sa r_ucb(s, a) + temperature H(pi_s)] subject to
    mean_s sum_a pi_sa v_lcb(s, a) <= bound + slack / sqrt(t), s running over the contexts so far. Its solution is
    pi_sa ~ exp((r_ucb - lam.v_lcb)(s, a) / temperature) with the dual prices lam. `choices.Gibbs` at the same
    temperature plays this lottery, in contexts that came before and in new ones. As the temperature falls, it tends to
    a solution of the linear program; its value is at most temperature ln A below the optimum.
    Source: Chzhen et al. 2023, Box D (after Li & Stoltz 2022). There the program is solved in every round (`every=1`)
    and only finite context sets are covered; here others are sampled, and the last outcome enters a round later.

    Args:
        problem: for shares and horizon.
        objective: the goal that prices outcomes.
        rows, bound: the constraints; any margin is already taken off.
        slack: xi, of a slack xi / sqrt(t) that is added to every bound.
        temperature: in units of the objective, above 0.
        contexts: the largest number of different contexts kept.
        growth: relative growth of t after which to solve again.
        every: largest number of rounds between two solves.

    Raises:
        InvalidInput: bounds of the wrong number, or numbers that are out of range.

    >>> from evenhand.goals.linear_reward import reward
    >>> from evenhand.problem import Outcome
    >>> calls = Outcome("calls", known={"call": 1})
    >>> problem = Problem(actions=("wait", "call"), outcomes=(Outcome("gain"), calls), maximize="gain", horizon=9)
    >>> rows = Rows.plain(["calls"], np.zeros((1, 1)), np.ones((1, 1)))
    >>> goal = Primal(problem=problem, objective=reward(problem), rows=rows, bound=np.array([0.5]))
    >>> goal.start(2).mu.shape
    (2, 1)
    """

    problem: Problem
    objective: LinearReward
    rows: Rows
    bound: Floats
    slack: float = 0.0
    temperature: float = 0.002
    contexts: int = 1000
    growth: float = 0.05
    every: int = 100
    one_play: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_bound("Primal", self.bound, self.rows)
        nonnegative("Primal.slack", self.slack)
        positive("Primal.temperature", self.temperature)
        counts(self, {"contexts": 2, "every": 1})
        nonnegative("Primal.growth", self.growth)

    def start(self, n_replicas: int) -> PrimalState:
        mu = np.zeros((n_replicas, len(self._merged.first)))
        return PrimalState(mu, np.ones(n_replicas), np.zeros(n_replicas, np.int64), history.start(n_replicas))

    def price(self, state: PrimalState) -> tuple[Floats, Floats]:
        """Minus the prices of the rows, each row in its own reading if it reads learned outcomes, `->(k,d),()`."""
        return row_prices(self._merged.prices(state.mu), 1.0, self.bound, self.rows.readings(by_row=True))

    def append(self, state: PrimalState, appended: Appended) -> None:
        appended.enter(state.history)

    def keep(self, state: PrimalState, context: Context, counted: Floats) -> None:
        history.keep(state.history, context, counted, self.contexts)

    def on_context(self, state: PrimalState, context: Context, decision: Decision, t: Floats, ask: Ask) -> None:
        history.keep(state.history, context, decision.counted, self.contexts)
        due = (decision.counted > 0) & (t != self.problem.last_round) & (t >= state.due)
        if not due.any():
            return
        worth = self.objective.rows, self.objective.read(self.objective.slope(state.mu, t))
        side = np.ones(len(self._directed), np.int64)
        look = forecast(state.history, ask, decision.shares, worth, self._directed, side, due)
        slack = self.slack / np.sqrt(np.maximum(t, 1.0))[:, None]
        low, high = self._merged.bounds(self.bound + slack)
        size = spread(look.weight, look.gain, look.kept)
        falling = np.minimum(self.temperature * _RUNGS, np.maximum(0.1 * size, self.temperature)[:, None])
        plan, noise, place = np.zeros_like(state.mu), np.zeros_like(state.mu), Places(np.ones(len(due)), None)
        fluid = Fluid(look.weight, look.gain, look.kept, place, None, size, low, high, falling)
        solution = Solution(state.mu, np.zeros((len(due), 0)), plan, noise, np.empty_like(noise))
        solve_fluid(fluid, look.hope, due, state.solved > 0, solution)
        state.due = np.where(due, t + np.clip(np.floor(self.growth * t), 1, self.every), state.due)
        state.solved[due] += 1

    @cached_property
    def _merged(self) -> MergedRows:
        """Rows that are multiples of each other share a direction, unless rows have bonuses of their own."""
        rows, bound = self.rows, self.bound
        return separate(bound) if rows.reads_learned else merge(self.problem, rows, bound)

    @cached_property
    def _directed(self) -> Rows:
        return self.rows.take(self._merged.first)
