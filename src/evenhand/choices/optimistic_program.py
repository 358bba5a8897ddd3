"""The best lottery for the most hopeful outcomes within their intervals, for any concave objective and convex sets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from evenhand.choices._shared import check_candidates, draw, go_on, place_of
from evenhand.choices.base import Offer, Pick, Worth
from evenhand.core.checked import checked
from evenhand.core.errors import InvalidInput
from evenhand.core.records import Decision
from evenhand.core.types import Floats
from evenhand.core.validate import counts, number, numbers
from evenhand.objectives.base import Objective
from evenhand.planning.optimistic_program import Intervals, optimistic_lottery
from evenhand.sets.base import ConvexSet


@dataclass
class OptimisticProgramState:
    """The last lottery and the averages that it hoped for; chances of 0 before the first."""

    lottery: Floats  # (R, A)
    wanted: Floats  # (R, m)
    placed: Floats  # (R, D)


@checked
@dataclass(frozen=True, kw_only=True)
class OptimisticProgram:
    """Draw from the best lottery when all outcomes, within their intervals, are as good as they can be together.

    Equation: max f(u) s.t. low.p <= u <= high.p, use.p <= bound, low'.p <= v <= high'.p, v in all regions, over
    lotteries p, with ends of intervals that `goals.Intervals` reads: both ends of the outcomes of f, the lower ends of
    budgets, both ends of what is to be in the regions. Solved by cutting planes in every round, or in every `every`-th.
    If no lottery keeps to budgets and regions, the largest excess is made as small as can be: of a budget, or a
    half-space that a region states, as a part of the largest number in its row, of the distance from another region
    as a part of the largest of its outcomes. Identical candidates share equally.
    Source: Agrawal & Devanur 2014, Algorithm 1, in its convex form: U p is u, and V p is v.

    Args:
        objective: f; only values and supergradients are used, so kinks need no smoothing.
        start_at: a point in the domain of f.
        candidates: A.
        bound: of the budgets.
        regions: convex sets (`evenhand.sets`); their coordinates are placed one region after the other.
        nothing: the candidate that does nothing, whose outcomes are 0 whatever the model says, if there is one.
        every: how many rounds one lottery serves; hard limits mask candidates in every round.
        tolerance: of what is missing to the optimum and of distances from regions, per unit of what outcomes can add.

    Raises:
        InvalidInput: sizes below 1, bounds that are not finite, or, from `pick`, another number of readings.

    >>> from evenhand.objectives import GeneralizedGini
    >>> gini = GeneralizedGini(("a", "b"), (1.0, 0.0))  # the smaller of the two averages
    >>> choice = OptimisticProgram(objective=gini, start_at=(0.5, 0.5), candidates=2)
    >>> high, low = np.array([[1.0, 0.0], [0.0, 0.5]]), np.zeros((2, 2))
    >>> worth = Worth(np.concatenate([high, -low])[None], np.zeros((1, 4, 2)))
    >>> offer = Offer(np.ones((1, 2), bool), worst=np.zeros((1, 2, 0)), left=np.zeros((1, 0)))
    >>> choice.pick(choice.start(1), worth, offer, np.zeros(1), np.array([[0.5]])).lottery.round(3)
    array([[0.333, 0.667]])
    """

    objective: Objective
    start_at: tuple[float, ...]
    candidates: int
    bound: tuple[float, ...] = ()
    regions: tuple[ConvexSet, ...] = ()
    nothing: int | None = None
    every: int = 1
    tolerance: float = 1e-4
    n_plays: ClassVar[int] = 1
    reads_bonus = True
    goes_on: ClassVar[bool] = True

    def __post_init__(self) -> None:
        counts(self, {"candidates": 1, "every": 1})
        m = len(self.bound)
        numbers("OptimisticProgram.bound", self.bound, m, f"{m} finite numbers")
        number("OptimisticProgram.tolerance", self.tolerance, "a number above 0", lambda x: 0.0 < x < np.inf)
        self.objective.check(self._start, "OptimisticProgram.start_at")

    def draws(self, candidates: int) -> int:
        return 1

    def start(self, n_replicas: int) -> OptimisticProgramState:
        wanted = np.tile(self._start, (n_replicas, 1))
        return OptimisticProgramState(
            np.zeros((n_replicas, self.candidates)), wanted, np.zeros((n_replicas, self._placed))
        )

    def pick(self, state: OptimisticProgramState, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        check_candidates("OptimisticProgram", self.candidates, worth)
        m, placed, budgets = len(self.start_at), self._placed, len(self.bound)
        if worth.mean.shape[1] != 2 * (m + placed) + budgets:
            expected = f"2 ({m} + {placed}) + {budgets}, both ends of outcomes and one of budgets"
            raise InvalidInput("readings", expected, worth.mean.shape[1])
        ends = worth.mean + worth.bonus
        nothing = place_of("OptimisticProgram", self.nothing, worth)
        if nothing >= 0:
            ends[:, :, nothing] = 0.0
        due = (t % self.every == 0.0) | ~state.lottery.any(1)
        lottery, wanted, there = state.lottery.copy(), state.wanted.copy(), state.placed.copy()
        if due.any():
            cut = np.cumsum([m, m, budgets, placed])
            high, low, use, over, under = np.split(ends[due], cut, axis=1)
            known = Intervals((-low, np.maximum(high, -low)), -use, (-under, np.maximum(over, -under)))
            plan = optimistic_lottery(
                self.objective,
                self._start,
                known,
                np.array(self.bound, float),
                self.regions,
                offer.playable[due],
                (state.wanted[due], state.placed[due]),
                self.tolerance,
            )
            lottery[due], wanted[due], there[due] = plan.lottery, plan.wanted, plan.placed
        made = draw(lottery, offer.playable, offer.worst, offer.left, u, 1)
        return Pick(*made, np.zeros(len(due)), np.concatenate([lottery, wanted, there], 1))

    def on_decision(self, state: OptimisticProgramState, decision: Decision) -> None:
        go_on(decision, state.lottery, state.wanted, state.placed)

    @cached_property
    def _placed(self) -> int:
        return sum(region.dim for region in self.regions)

    @cached_property
    def _start(self) -> Floats:
        return np.array(self.start_at, float)
