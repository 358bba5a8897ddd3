"""The choice of the k best candidates after those that were ranked less often than a guaranteed share of rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.choices._shared import add_up, check_candidates, count_plays, empty_plays, fits, ties, use_up
from evenhand.choices.base import Offer, Pick, Worth
from evenhand.core.kernel import kernel
from evenhand.core.records import Decision
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import counts, nonnegative, number


@dataclass
class FairLearnState:
    """The number of rounds in which every candidate was ranked."""

    ranked: Floats  # (R, A)


@kernel
def _fill(
    mean: Floats,
    bonus: Floats,
    owed: Floats,
    tolerance: float,
    playable: Bools,
    worst: Floats,
    left: Floats,
    k: int,
    u: Floats,
) -> tuple[Ints, Floats, Floats]:
    """The most deprived candidate at every place, or the best, `(K,A),(K,A),(A),(),(A),(A,d),(d),(),(1)->(k),(k),(A)`.

    One number draws all ties, as in `TopK`.
    """
    plays, propensities, lottery = empty_plays(playable, k)
    worth, free, left = add_up(mean + bonus), playable.copy(), left.copy()
    for r in range(len(mean)):
        luck = u[r, 0]
        for i in range(k):
            key = owed
            most, edge, count = ties(owed, free, r)
            if most <= tolerance:
                key = worth
                _, edge, count = ties(worth, free, r)
            if count == 0:
                break
            skip = int(luck * count)
            luck = luck * count - skip
            for a in range(len(worth[r])):
                if free[r, a] and key[r, a] >= edge:
                    if i == 0:
                        lottery[r, a] = 1.0 / count
                    if skip == 0:
                        plays[r, i] = a
                    skip -= 1
            propensities[r, i] = 1.0 / count
            if i + 1 < k:
                free[r, plays[r, i]] = False
                use_up(worst, left, r, plays[r, i])
                for a in range(len(worth[r])):
                    free[r, a] = free[r, a] and fits(worst, left, r, a)
    return plays, propensities, lottery


@checked
@dataclass(frozen=True)
class FairLearn:
    """Fill k places with candidates that were ranked too rarely, the most deprived first, then with the best.

    Equation: in round t, candidate i is deprived if c (t - 1) - N_i > tolerance, N_i the rounds in which it was ranked
    so far. If all A candidates are always offered and A c <= k, then c t - N_i < 1 + tolerance after every round t; for
    a whole tolerance that is floor(c t) - N_i <= tolerance, the guarantee of the source. With one of 1/2, a candidate
    can be owed 1: c = 1/2, and the other one was best in both rounds so far.
    Candidates must stand for the same thing in every round.
    Source: Patil et al. 2020, filling place after place as in Do et al. 2023, Appendix B.1. Their printed rule compares
    floor(c t): all candidates are then deprived at once, and for some rounds the guarantee fails.

    Args:
        n_plays: k, the number of plays.
        candidates: A.
        share: c, in [0, k / A]: the share of rounds in which every candidate is to be ranked.
        tolerance: at least 0.

    Raises:
        InvalidInput: a number out of its range; later, another number of candidates.

    >>> choice = FairLearn(1, candidates=2, share=0.4)
    >>> state = choice.start(1)
    >>> state.ranked[:] = 10.0, 2.0
    >>> worth = Worth(np.array([[[0.9, 0.1]]]), np.zeros((1, 1, 2)), random=False)
    >>> offer = Offer(np.ones((1, 2), bool), worst=np.zeros((1, 2, 0)), left=np.zeros((1, 0)))
    >>> choice.pick(state, worth, offer, np.full(1, 12.0), np.zeros((1, 1))).plays  # 0.4 * 12 - 2 > 1
    array([[1]])
    """

    n_plays: int
    candidates: int
    share: float
    tolerance: float = 1.0
    goes_on: ClassVar[bool] = True
    reads_bonus = True

    def __post_init__(self) -> None:
        counts(self, {"n_plays": 1, "candidates": 1})
        most = min(1.0, self.n_plays / self.candidates)
        number("FairLearn.share", self.share, f"a number in [0, k / A] = [0, {most:g}]", lambda x: 0 <= x <= most)
        nonnegative("FairLearn.tolerance", self.tolerance)

    def draws(self, candidates: int) -> int:
        return 1

    def start(self, n_replicas: int) -> FairLearnState:
        return FairLearnState(np.zeros((n_replicas, self.candidates)))

    def pick(self, state: FairLearnState, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        check_candidates("FairLearn", self.candidates, worth)
        owed = self.share * t[:, None] - state.ranked
        limits = offer.playable, offer.worst, offer.left
        made = _fill(worth.mean, worth.bonus, owed, self.tolerance, *limits, self.n_plays, u)
        return Pick(*made, forced=np.zeros(len(owed)))

    def on_decision(self, state: FairLearnState, decision: Decision) -> None:
        count_plays(state.ranked, decision.plays, decision.counted, decision.plays >= 0)
