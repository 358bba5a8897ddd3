"""The choice from the lottery that a linear program over arms gives: all budgets at once, on estimates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from evenhand.choices._shared import draw, place_of
from evenhand.choices.base import Offer, OneDraw, Pick, Worth
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import numbers, whole
from evenhand.numerics.simplex import lotteries


@kernel
def _draw(
    mean: Floats,
    bonus: Floats,
    playable: Bools,
    worst: Floats,
    left: Floats,
    wanted: int,
    bound: Floats,
    nothing: int,
    u: Floats,
) -> tuple[Ints, Floats, Floats]:
    count, readings, candidates = mean.shape
    worth, use = np.zeros((count, candidates)), np.zeros((count, readings - wanted, candidates))
    for r in range(count):
        for k in range(readings):
            for a in range(candidates):
                if a == nothing:
                    continue
                if k < wanted:
                    worth[r, a] += mean[r, k, a] + bonus[r, k, a]
                else:
                    use[r, k - wanted, a] = -(mean[r, k, a] + bonus[r, k, a])
    return draw(lotteries(worth, use, bound, playable)[0], playable, worst, left, u, 1)


@checked
@dataclass(frozen=True)
class LinearProgram(OneDraw):
    """Draw from the lottery with the highest expected worth whose expected uses keep to all bounds.

    Equation: p = argmax p.worth over lotteries p with use_j.p <= bound_j, where worth sums the mean and the bonus of
    the first readings, and use_j is minus mean and bonus of reading j after these (`goals.Intervals` with
    `ends="lower"`). If no lottery keeps to them, the largest excess, as a part of the largest number in its row, is
    minimised first, and then the worth is maximised. Of lotteries that tie, it takes the one that uses least in total;
    identical candidates share equally. Without ties at most as many candidates as bounds, and one more, have a
    chance. Units do not matter.
    Source: Agrawal & Devanur 2014, Algorithm 2. It solves each program from the best single arm: starting from the
    basis of the round before would take as many pivots.

    Args:
        wanted: how many readings belong to what is maximised, at least 1: those of the goals that a policy names first.
        bound: one per reading after these.
        nothing: the candidate that does nothing, whose worth and uses are 0 whatever the model says, if there is one.

    Raises:
        InvalidInput: `wanted` is below 1, bounds that are not finite, or, from `pick`, another number of readings.

    >>> worth = Worth(np.array([[[0.8, 0.5, 0.0], [-0.9, -0.4, 0.0]]]), np.zeros((1, 2, 3)))
    >>> offer = Offer(np.ones((1, 3), bool), worst=np.zeros((1, 3, 0)), left=np.zeros((1, 0)))
    >>> LinearProgram(1, (0.45,)).pick(None, worth, offer, np.zeros(1), np.array([[0.5]])).lottery.round(3)
    array([[0.1, 0.9, 0. ]])
    """

    wanted: int
    bound: tuple[float, ...]
    nothing: int | None = None
    n_plays: ClassVar[int] = 1
    reads_bonus = True

    def __post_init__(self) -> None:
        whole("LinearProgram.wanted", self.wanted, 1)
        m = len(self.bound)
        numbers("LinearProgram.bound", self.bound, m, f"{m} finite numbers")

    def pick(self, state: None, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        readings = worth.mean.shape[1]
        if readings != self.wanted + len(self.bound):
            expected = f"{readings} in all, the readings that the goals have"
            raise InvalidInput("LinearProgram.wanted, bound", expected, (self.wanted, len(self.bound)))
        known = worth.mean, worth.bonus, offer.playable, offer.worst, offer.left
        nothing = place_of("LinearProgram", self.nothing, worth)
        return Pick(*_draw(*known, self.wanted, self._bound, nothing, u), forced=np.zeros(len(offer.playable)))

    @cached_property
    def _bound(self) -> Floats:
        return np.array(self.bound, float)
