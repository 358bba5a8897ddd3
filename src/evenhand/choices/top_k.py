"""The k best candidates, in order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from evenhand.choices._shared import TIE, empty_plays, fits, use_up
from evenhand.choices.base import Offer, Pick, Worth
from evenhand.core.kernel import inlined, kernel
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import whole

_UNMIXED = np.zeros((1, 0)), np.zeros((1, 0)), np.zeros(0)


@inlined
def _least(worth: Floats, playable: Bools, best: Floats) -> float:
    """The least worth that a play can have, or tie with, by insertion into the best worths so far, `(A),(A),(k)->()`.

    Without limits only the k best can be played, and what ties with one of them ties with the last or is above it.
    An insertion passes through all k places, as to stop on the way is a branch that processors cannot foresee.
    """
    best[:] = -np.inf
    for a in range(len(worth)):
        if playable[a] and worth[a] > best[-1]:
            for i in range(len(best) - 1, 0, -1):
                best[i] = max(best[i], min(best[i - 1], worth[a]))
            best[0] = max(best[0], worth[a])
    return float(best[-1] - TIE * abs(best[-1]))


@inlined
def _mix(
    free: Floats, names: Ints, gain: Floats, planned: Floats, heat: float, few: int, edge: float, chance: Floats
) -> None:
    """Chances exp(planned / heat), up to a factor, of the candidates that gain the same as the best one, in place.

    `(C),(C),(A),(A),(),(),(),(C)`: of C candidates by name, of which the first `few` are meant; minus infinity is not
    free. Those of a worth of at least `edge` tie with the best.
    """
    best, size, most = 0, 0.0, -np.inf
    for j in range(few):
        if free[j] > -np.inf:
            best = j if free[j] > free[best] else best
            size = max(size, abs(gain[names[j]]))
    for j in range(few):
        same = abs(gain[names[j]] - gain[names[best]]) <= TIE * size
        chance[j] = 1.0 if free[j] >= edge or (free[j] > -np.inf and same) else 0.0
        most = max(most, planned[names[j]]) if chance[j] > 0.0 else most
    for j in range(few):
        if chance[j] > 0.0:
            chance[j] = math.exp((planned[names[j]] - most) / heat)


@kernel
def top(
    mean: Floats,
    bonus: Floats,
    mix: tuple[Floats, Floats, Floats],
    playable: Bools,
    worst: Floats,
    left: Floats,
    k: int,
    u: Floats,
) -> tuple[Ints, Floats, Floats]:
    """The best candidates that fit together, `(K,A),(K,A),...,(A),(A,d),(d),(),(1)->(k),(k),(A)`.

    Place by place, ties with the best have equal chances. Where there is a heat above 0, those that gain the same as
    the best have chances too, all proportional to exp(planned / heat); without a plan the arrays of the mix are empty.
    One number draws all places: what is left of it after a draw is again uniform. A worth of minus infinity marks what
    was played or no longer fits; loops over candidates then have no branches that processors cannot foresee.
    """
    gain, planned, heat = mix
    plays, propensities, lottery = empty_plays(playable, k)
    worth, best, left, limited = np.empty(mean.shape[2]), np.empty(k), left.copy(), left.shape[1] > 0
    names, free, chance = np.empty(len(worth), np.int64), np.empty(len(worth)), np.empty(len(worth))
    for r in range(len(mean)):
        worth[:] = 0.0
        for i in range(mean.shape[1]):
            for a in range(len(worth)):
                worth[a] += mean[r, i, a] + bonus[r, i, a]
        mixed = len(heat) > 0 and heat[r] > 0.0
        least, few = -np.inf if limited or mixed else _least(worth, playable[r], best), 0
        for a in range(len(worth)):
            names[few], free[few] = a, worth[a]
            few += playable[r, a] and worth[a] >= least
        luck = u[r, 0]
        for i in range(k):
            edge, total, chosen, reached, start = -np.inf, 0.0, 0, 0.0, 0.0
            for j in range(few):
                edge = free[j] if free[j] > edge else edge
            if edge == -np.inf:
                break
            edge -= TIE * abs(edge)
            if mixed:
                _mix(free, names, gain[r], planned[r], heat[r], few, edge, chance)
            else:
                for j in range(few):
                    chance[j] = 1.0 if free[j] >= edge else 0.0
            for j in range(few):
                total += chance[j]
            luck *= total
            for j in range(few):
                if chance[j] > 0.0:
                    if reached <= luck:
                        chosen, start = j, reached
                    reached += chance[j]
                    if i == 0:
                        lottery[r, names[j]] = chance[j] / total
            luck = min((luck - start) / chance[chosen], 1.0)
            plays[r, i], propensities[r, i], free[chosen] = names[chosen], chance[chosen] / total, -np.inf
            if limited and i + 1 < k:
                use_up(worst, left, r, plays[r, i])
                for j in range(few):
                    if not fits(worst, left, r, names[j]):
                        free[j] = -np.inf
    return plays, propensities, lottery


class _TopKView(NamedTuple):
    n_plays: int

    @kernel
    def pick(self, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        playable, worst, left = offer
        gain, planned, heat = worth.mix  # type: ignore[misc]  # the compiled loop always states one
        made = top(worth.mean, worth.bonus, (gain, planned, heat), playable, worst, left, self.n_plays, u)
        return Pick(made[0], made[1], made[2], np.zeros(len(playable)), None)


@checked
@dataclass(frozen=True)
class TopK:
    """The k candidate with the highest optimistic value, best first; k = 1 is the argmax.

    Ties are drawn uniformly, so that the order of the candidates does not matter. Worths tie if they differ by less
    than 1e-9 of the best one. A candidate that does not fit beside the better ones is skipped.
    Where a plan has equal gains (`Worth.mix`), candidates that gain the same as the best one, within 1e-9 of the
    largest gain, are drawn as the plan mixes them: proportional to exp(worth / heat), with worths without luck, place
    by place without replacement. They differ in what they use alone. The argmax would give all of them to the one that
    uses least, and so would never play what costs anything as long as a model cannot tell candidates apart.

    Raises:
        InvalidInput: `n_plays` is below 1.

    >>> worth = Worth(np.array([[[0.1, 0.3, 0.2]]]), np.zeros((1, 1, 3)), random=False)
    >>> costs, budget = np.array([[[0.5], [1.0], [1.0]]]), np.array([[1.5]])
    >>> offer = Offer(np.ones((1, 3), bool), worst=costs, left=budget)
    >>> TopK(2).pick(None, worth, offer, np.zeros(1), np.zeros((1, 1))).plays  # candidate 2 does not fit beside 1
    array([[1, 0]])
    """

    n_plays: int = 1
    reads_bonus = True
    greedy: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole("TopK.n_plays", self.n_plays, 1)

    def draws(self, candidates: int) -> int:
        return 1

    def start(self, n_replicas: int) -> None: ...

    def pick(self, state: None, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        mix = _UNMIXED
        if worth.mix is not None:
            mix = worth.mix.gain, worth.mix.worth, worth.mix.heat  # a plain tuple is handed over sooner
        made = top(worth.mean, worth.bonus, mix, offer.playable, offer.worst, offer.left, self.n_plays, u)
        return Pick(*made, np.zeros(len(offer.playable)))

    def view(self, state: None) -> _TopKView:
        return _TopKView(self.n_plays)
