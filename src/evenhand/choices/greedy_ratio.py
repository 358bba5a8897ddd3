"""The choice of the arm with the most worth per unit of use, as far as the budgets go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.choices._shared import TIE, draw, place_of, ties
from evenhand.choices.base import Offer, OneDraw, Pick, Worth
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import nonnegative, whole
from evenhand.numerics.precision import total


@kernel
def _ratios(
    mean: Floats, bonus: Floats, constant: Floats, playable: Bools, wanted: int, nothing: int, rent: float
) -> tuple[Floats, Floats, Floats]:
    """The worth and the priced use of every candidate, and a round's allowance, `(K,A),(K,A),(i),(A)->(A),(A),()`."""
    gain, cost, share = np.zeros(playable.shape), np.zeros(playable.shape), np.zeros(len(playable))
    for r in range(len(playable)):
        for k in range(wanted, constant.shape[1]):
            share[r] += constant[r, k]
        time = max(rent - share[r], 0.0) if rent > 0.0 else 0.0
        for a in range(playable.shape[1]):
            cost[r, a] = time
            if a == nothing:
                continue
            slack = 0.0
            for k in range(mean.shape[1]):
                reading = mean[r, k, a] + bonus[r, k, a]
                if k < wanted:
                    gain[r, a] += reading
                else:
                    slack += reading
            cost[r, a] = max(time + share[r] - slack, 0.0)
    return gain, cost, share


@kernel
def _draw(
    mean: Floats,
    bonus: Floats,
    constant: Floats,
    playable: Bools,
    worst: Floats,
    left: Floats,
    wanted: int,
    nothing: int,
    rent: float,
    u: Floats,
) -> tuple[Ints, Floats, Floats]:
    gain, cost, share = _ratios(mean, bonus, constant, playable, wanted, nothing, rent)
    p, score = np.zeros(playable.shape), np.empty(playable.shape)
    for r in range(len(playable)):
        least, most = TIE * cost[r].max(), 0.0  # uses up to this are rounding, and gains up to a part of the most
        for a in range(playable.shape[1]):
            most = max(most, abs(gain[r, a])) if playable[r, a] else most
        any_free, any_gain = False, False
        for a in range(playable.shape[1]):
            if playable[r, a] and gain[r, a] > TIE * most:
                any_gain = True
                any_free = any_free or cost[r, a] <= least
        for a in range(playable.shape[1]):  # gains per round are compared with each other only, and so are ratios
            some = gain[r, a] if gain[r, a] > TIE * most else -1.0
            if not any_gain:
                score[r, a] = gain[r, a]
            elif any_free:
                score[r, a] = some if cost[r, a] <= least else -1.0
            else:
                score[r, a] = some / cost[r, a] if cost[r, a] > least and some > 0.0 else -1.0
        _, edge, count = ties(score, playable, r)
        for a in range(playable.shape[1]):
            if playable[r, a] and score[r, a] >= edge:
                may_stay = rent == 0.0 and nothing >= 0 and playable[r, nothing] and cost[r, a] > share[r]
                p[r, a] = (share[r] / cost[r, a] if may_stay else 1.0) / count
        if nothing >= 0 and playable[r, nothing]:
            p[r, nothing] += max(1.0 - total(p[r]), 0.0)
    return draw(p, playable, worst, left, u, 1)


@checked
@dataclass(frozen=True)
class GreedyRatio(OneDraw):
    """Play the candidate with the most worth per priced use, as often as budgets allow, and otherwise do nothing.

    Equation: a = argmax gain_a / cost_a, played with probability min(1, h / cost_a), where gain sums the mean and the
    bonus of the first readings, h is the constant of the others, lam.bound, and cost_a = h - slack_a = lam.c_a with
    slack their mean and bonus. Candidates that cost nothing and gain something come first, the best of them. Where none
    gains anything, the one that loses least is played, as ratios would prefer the costliest. Candidates that tie share
    equally. With `rent` above 0 time is a resource too: rent - h is added to every cost, and the candidate is played
    for certain.
    Source: Agrawal & Devanur 2014, Section 6 (Implementability); Badanidiyuru et al. 2013, Algorithm 2, for `rent`. The
    paper's claim that this solves the program of `Lottery` is wrong, as it ignores that chances add up to at most 1.

    Args:
        wanted: how many readings belong to what is maximised, at least 1: those of the goals that a policy names first.
        nothing: the candidate that does nothing, whose gain and use are 0; without it plays are certain.
        rent: the sum of all prices, that of time included, times the bound that all budgets share; 0 for no price of
            time.

    Raises:
        InvalidInput: `wanted` is below 1 or leaves no reading of uses, or a rent that is negative.

    >>> readings, constant = np.array([[[0.8, 0.5, 0.0], [-0.4, -0.1, 0.2]]]), np.array([[0.0, 0.2]])
    >>> worth = Worth(readings, np.zeros((1, 2, 3)), constant=constant)
    >>> offer = Offer(np.ones((1, 3), bool), worst=np.zeros((1, 3, 0)), left=np.zeros((1, 0)))
    >>> GreedyRatio(1, nothing=2).pick(None, worth, offer, np.zeros(1), np.array([[0.5]])).lottery.round(3)
    array([[0.   , 0.667, 0.333]])
    """

    wanted: int
    nothing: int | None = None
    rent: float = 0.0
    n_plays: ClassVar[int] = 1
    reads_bonus = True

    def __post_init__(self) -> None:
        whole("GreedyRatio.wanted", self.wanted, 1)
        nonnegative("GreedyRatio.rent", self.rent)

    def pick(self, state: None, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        readings = worth.mean.shape[1]
        if self.wanted >= readings:
            expected = f"below {readings}, the readings that the goals have"
            raise InvalidInput("GreedyRatio.wanted", expected, self.wanted)
        constant = np.zeros((len(u), 1)) if worth.constant is None else worth.constant
        known = worth.mean, worth.bonus, constant, offer.playable, offer.worst, offer.left
        nothing = place_of("GreedyRatio", self.nothing, worth)
        made = _draw(*known, self.wanted, nothing, float(self.rent), u)
        return Pick(*made, forced=np.zeros(len(offer.playable)))
