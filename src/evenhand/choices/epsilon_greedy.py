"""The choice of the best candidate most of the time, and of a uniformly drawn one otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple

import numpy as np

from evenhand.choices._shared import add_up, copy_to, draw_free, empty_plays, settle, ties
from evenhand.choices.base import DrawPerPlay, Offer, Pick, Worth
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import whole


@kernel
def _weigh(worth: Floats, free: Bools, epsilon: float) -> Floats:
    """Chances of free candidates: 1 - epsilon shared by the best, and epsilon by all, `(A),(A),()->(A)`."""
    chances = np.zeros(worth.shape)
    for r in range(len(free)):
        (_, edge, best), count = ties(worth, free, r), np.count_nonzero(free[r])
        for a in range(free.shape[1]):
            if free[r, a]:
                chances[r, a] = epsilon / count + ((1.0 - epsilon) / best if worth[r, a] >= edge else 0.0)
    return chances


@kernel
def _draw(
    mean: Floats, bonus: Floats, playable: Bools, worst: Floats, left: Floats, epsilon: float, u: Floats, n_plays: int
) -> tuple[Ints, Floats, Floats]:
    plays, propensities, lottery = empty_plays(playable, n_plays)
    free, left, worth = playable.copy(), left.copy(), add_up(mean + bonus)
    for i in range(n_plays):
        chances = _weigh(worth, free, epsilon)
        played = draw_free(chances, free, u, i)
        if i == 0:
            copy_to(lottery, chances)
        settle(plays, propensities, i, played, chances, worst, free, left)
    return plays, propensities, lottery


class _EpsilonGreedyView(NamedTuple):
    epsilon: float
    n_plays: int

    @kernel
    def pick(self, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        playable, worst, left = offer
        made = _draw(worth.mean, worth.bonus, playable, worst, left, self.epsilon, u, self.n_plays)
        return Pick(made[0], made[1], made[2], np.zeros(len(playable)), None)


@checked
@dataclass(frozen=True)
class EpsilonGreedy(DrawPerPlay):
    """Play the candidate with the highest optimistic value with probability 1 - epsilon, else a uniformly drawn one.

    Equation: p_a = epsilon / A + (1 - epsilon) 1{a best}, A the number of playable candidates; those that
    tie for the best share its part.
    With several plays the same rule holds at every place, over the candidates that are left and fit beside the earlier
    plays. The propensity of a place is the probability of its candidate given those above; the product over places is
    the probability of the list.

    Args:
        epsilon: in [0, 1].
        n_plays: how many are played.

    Raises:
        InvalidInput: an epsilon out of range, or `n_plays` below 1.

    >>> worth = Worth(np.array([[[0.0, 1.0]]]), np.zeros((1, 1, 2)), random=False)
    >>> offer = Offer(np.ones((1, 2), bool), worst=np.zeros((1, 2, 0)), left=np.zeros((1, 0)))
    >>> EpsilonGreedy(0.1).pick(None, worth, offer, np.zeros(1), np.array([[0.5]])).lottery
    array([[0.05, 0.95]])
    """

    epsilon: float
    n_plays: int = 1
    reads_bonus = True

    def __post_init__(self) -> None:
        if not (isinstance(self.epsilon, Real) and 0 <= self.epsilon <= 1):
            raise InvalidInput("EpsilonGreedy.epsilon", "a number in [0, 1]", repr(self.epsilon))
        whole("EpsilonGreedy.n_plays", self.n_plays, 1)

    def pick(self, state: None, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        known = worth.mean, worth.bonus, offer.playable, offer.worst, offer.left
        return Pick(*_draw(*known, self.epsilon, u, self.n_plays), forced=np.zeros(len(offer.playable)))

    def view(self, state: None) -> _EpsilonGreedyView:
        return _EpsilonGreedyView(float(self.epsilon), self.n_plays)
