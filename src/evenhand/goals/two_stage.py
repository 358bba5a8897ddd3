"""Dual prices whose largest sum is estimated after a first stage of exploration."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from evenhand.core.errors import InfeasibleProblem, InvalidInput
from evenhand.core.records import Context, Decision, Worth
from evenhand.core.signatures import checked
from evenhand.core.types import Floats
from evenhand.core.validate import nonnegative, positive, whole
from evenhand.goals._shared import check_bound
from evenhand.goals.dual import DualHedge, HedgeState
from evenhand.goals.linear_reward import LinearReward
from evenhand.models.base import Ask
from evenhand.planning import history
from evenhand.planning.forecast import forecast
from evenhand.planning.growth import Appended
from evenhand.planning.history import HistoryState
from evenhand.planning.program import Sample, solve
from evenhand.problem.rows import Rows


@dataclass
class TwoStageState:
    """Weights, the largest sum of prices, and the contexts collected in the first stage."""

    hedge: HedgeState
    max_price: Floats  # (R,) Z, 0 until it is known
    history: HistoryState


@checked
@dataclass(frozen=True, kw_only=True, eq=False)
class TwoStage:
    """Exponentiated gradient on a simplex whose size Z is estimated after a first stage.

    Equation: Z = (OPT_hat + M) / b with b the smallest budget per round, OPT_hat = max mean_s sum_a p_sa r_hat(s, a)
    s.t. mean_s sum_a p_sa v_hat(s, a) <= bound + 2 M, over the contexts s of the rounds in (collect_from,
    collect_until]; solved once, by HiGHS, with the model's predictions then. Until then prices are 0.
    Source: Han et al. 2022, Algorithm 2.

    Args:
        hedge: with a max_price of 1 and the bounds of the second stage.
        objective: the goal that prices outcomes.
        bound: per round over the whole horizon, `(d)`.
        smallest_budget: per round, above 0.
        radius: M, the largest error of estimates, at least 0.
        collect_from, collect_until: the rounds after which contexts are collected, and after which Z is estimated.

    Raises:
        InvalidInput: a max_price other than 1, bounds of the wrong number, or numbers out of their range.

    >>> rows = Rows.plain(["cost"], np.array([[0.0, 1.0]]), np.zeros((1, 0)))
    >>> gain = LinearReward(rows=Rows.plain(["gain"], np.array([[1.0, 0.0]]), np.zeros((1, 0))), weights=(1.0,))
    >>> hedge, half = DualHedge(rows=rows, bound=np.array([0.4]), max_price=1.0, step=0.1), np.array([0.5])
    >>> when = {"collect_from": 4, "collect_until": 6}
    >>> goal = TwoStage(hedge=hedge, objective=gain, bound=half, smallest_budget=0.5, radius=0.1, **when)
    >>> gains, costs = np.array([[0.0, 1.0]]), np.array([[[0.0], [1.0]]])
    >>> round(goal.estimate(gains, costs, np.ones(1)), 6)  # (min(1, 0.5 + 2 M) + M) / 0.5
    1.6
    """

    hedge: DualHedge
    objective: LinearReward
    bound: Floats
    smallest_budget: float
    radius: float
    collect_from: int
    collect_until: int
    enters_forced: ClassVar[bool] = False
    one_play: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.hedge.max_price != 1.0:
            raise InvalidInput("TwoStage.hedge", "a DualHedge of max_price 1", self.hedge.max_price)
        check_bound("TwoStage", self.bound, self.rows)
        positive("TwoStage.smallest_budget", self.smallest_budget)
        nonnegative("TwoStage.radius", self.radius)
        whole("TwoStage.collect_from", self.collect_from, 0)
        whole("TwoStage.collect_until", self.collect_until, self.collect_from + 1)

    @property
    def rows(self) -> Rows:
        return self.hedge.rows

    def start(self, n_replicas: int) -> TwoStageState:
        return TwoStageState(self.hedge.start(n_replicas), np.zeros(n_replicas), history.start(n_replicas))

    def price(self, state: TwoStageState) -> tuple[Floats, Floats]:
        q, o = self.hedge.price(state.hedge)
        return q * state.max_price[:, None, None], o * state.max_price

    def on_shares(self, state: TwoStageState, decision: Decision, v: Floats) -> None:
        self.hedge.on_shares(state.hedge, decision, v)

    def on_outcome(self, state: TwoStageState, decision: Decision, counted: Floats, v: Floats) -> None:
        self.hedge.on_outcome(state.hedge, decision, counted, v)

    def append(self, state: TwoStageState, appended: Appended) -> None:
        appended.enter(state.history)

    def on_context(self, state: TwoStageState, context: Context, decision: Decision, t: Floats, ask: Ask) -> None:
        collecting = decision.counted * (t > self.collect_from) * (t <= self.collect_until)
        if not collecting.any():
            return
        history.keep(state.history, context, collecting, self.collect_until - self.collect_from)
        due = (collecting > 0) & (t == self.collect_until)
        if not due.any():
            return
        plain = partial(_plain, ask)
        worth = self.objective.rows, self.objective.read(self.objective.slope(state.max_price[:, None], t))
        side = np.zeros(len(self.rows), np.int64)
        look = forecast(state.history, plain, decision.shares, worth, self.rows, side, due)
        for r in np.flatnonzero(due):
            used = look.kept[r]
            share = used * look.weight[r, :used] / look.weight[r, :used].sum()
            state.max_price[r] = self.estimate(look.gain[r, :used], np.swapaxes(look.use[r, :used], 1, 2), share)

    def estimate(self, gain: Floats, use: Floats, share: Floats) -> float:
        """Return Z from rewards and rows of S contexts, weighted by shares that sum to S, `(S,A),(S,A,d),(S)->()`."""
        offered = gain > -np.inf
        gain = np.where(offered, gain, 0.0)
        try:
            scaled = Sample(gain * share[:, None], use * share[:, None, None], offered.astype(float))
            best = solve(scaled, self.bound + 2 * self.radius).value
        except InfeasibleProblem:  # by these estimates no policy is feasible: use the optimum without constraints
            best = float((np.where(offered, gain, -np.inf).max(1) * share).mean())
        return max(best + self.radius, 1e-9) / self.smallest_budget


def _plain(ask: Ask, x: Floats, w: Floats) -> Worth:
    """Ask for predictions without optimism."""
    worth = ask(x, w)
    return worth._replace(bonus=0.0 * worth.bonus)
