"""A softmax, which mixes candidates whose worths tie at the present prices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.choices._shared import add_up, copy_to, draw_free, empty_plays, settle
from evenhand.choices.base import DrawPerPlay, Offer, Pick, Worth
from evenhand.core.kernel import kernel
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import positive, whole


@kernel
def _weigh(worth: Floats, free: Bools, temperature: float) -> Floats:
    """exp((worth - best worth) / temperature) of the free candidates, `(A),(A),()->(A)`.

    The best is found anew at every place, so that the exponentials of the remaining candidates never all underflow.
    """
    chances = np.zeros(worth.shape)
    for r in range(len(free)):
        best = -np.inf
        for a in range(free.shape[1]):
            if free[r, a]:
                best = max(best, worth[r, a])
        for a in range(free.shape[1]):
            if free[r, a]:
                chances[r, a] = math.exp((worth[r, a] - best) / temperature)
    return chances


@kernel
def _draw(
    mean: Floats,
    bonus: Floats,
    playable: Bools,
    worst: Floats,
    left: Floats,
    temperature: float,
    u: Floats,
    n_plays: int,
) -> tuple[Ints, Floats, Floats]:
    plays, propensities, lottery = empty_plays(playable, n_plays)
    free, left, worth = playable.copy(), left.copy(), add_up(mean + bonus)
    for i in range(n_plays):
        chances = _weigh(worth, free, temperature)
        played = draw_free(chances, free, u, i)
        if i == 0:
            copy_to(lottery, chances)
        settle(plays, propensities, i, played, chances, worst, free, left)
    return plays, propensities, lottery


class _GibbsView(NamedTuple):
    temperature: float
    n_plays: int

    @kernel
    def pick(self, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        playable, worst, left = offer
        made = _draw(worth.mean, worth.bonus, playable, worst, left, self.temperature, u, self.n_plays)
        return Pick(made[0], made[1], made[2], np.zeros(len(t)), None)


@checked
@dataclass(frozen=True)
class Gibbs(DrawPerPlay):
    """Play candidate a with probability proportional to exp(worth of a / temperature).

    Equation: p = argmax over lotteries p of p.worth + temperature H(p), H the entropy. The expected optimistic worth is
    within temperature ln A of the best candidate's. As the temperature falls to 0, the choice becomes the argmax.
    Several plays are drawn one after the other without replacement, by the same rule over the candidates that are left
    and fit beside the earlier plays. This is Plackett-Luce, and without limits the same as sorting worth / temperature
    plus independent Gumbel noise: with w = exp(worth / temperature), the list (a, b, ...) has probability
    w_a / sum w * w_b / (sum w - w_a) * ... The propensity of a place is its factor, the probability of the item given
    those above it; the product over places is the probability of the list.
    Source: of several plays, the model of rankings by Plackett 1975 and Luce 1959.

    Args:
        temperature: in units of worth, above 0.
        n_plays: how many are drawn.

    Raises:
        InvalidInput: a temperature that is not a positive number, or `n_plays` below 1.

    >>> worth = Worth(np.array([[[0.0, 1.0, 1.0]]]), np.zeros((1, 1, 3)), random=False)
    >>> offer = Offer(np.ones((1, 3), bool), worst=np.zeros((1, 3, 0)), left=np.zeros((1, 0)))
    >>> Gibbs(0.01).pick(None, worth, offer, np.zeros(1), np.array([[0.9]])).lottery.round(3)
    array([[0. , 0.5, 0.5]])
    """

    temperature: float
    n_plays: int = 1
    reads_bonus = True

    def __post_init__(self) -> None:
        positive("Gibbs.temperature", self.temperature)
        whole("Gibbs.n_plays", self.n_plays, 1)

    def pick(self, state: None, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        known = worth.mean, worth.bonus, offer.playable, offer.worst, offer.left
        return Pick(*_draw(*known, self.temperature, u, self.n_plays), forced=np.zeros(len(offer.playable)))

    def view(self, state: None) -> _GibbsView:
        return _GibbsView(float(self.temperature), self.n_plays)
