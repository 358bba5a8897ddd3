"""The best lottery that keeps to one constraint on average: a linear program over the simplex, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.choices._shared import TIE, add_up, draw, tied
from evenhand.choices.base import Offer, Pick, Worth
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import whole


@inlined
def _mix(gain: Floats, slack: Floats, playable: Bools, r: int, a: int, b: int) -> tuple[float, float]:
    """Worth of a, and of b with the largest chance that the slack of a allows; -inf where that keeps to nothing."""
    if not (playable[r, a] and playable[r, b]):
        return -np.inf, 0.0
    if a == b:
        return (gain[r, a] if slack[r, a] >= 0.0 else -np.inf), 0.0
    if not (slack[r, a] > 0.0 > slack[r, b] and gain[r, b] > gain[r, a]):
        return -np.inf, 0.0
    chance = slack[r, a] / (slack[r, a] - slack[r, b])
    return gain[r, a] + chance * (gain[r, b] - gain[r, a]), chance


@kernel
def _lottery(mean: Floats, bonus: Floats, playable: Bools, wanted: int) -> Floats:
    """Weights of the best lottery, the sum of all that tie, `(K,A),(K,A),(A),()->(A)`.

    With one constraint, some optimum mixes at most two candidates.
    """
    p = np.zeros(playable.shape)
    readings = mean + bonus
    gain, slack = add_up(readings[:, :wanted]), add_up(readings[:, wanted:])
    actions = range(playable.shape[1])
    for r in range(len(playable)):
        best = -np.inf
        for a in actions:
            for b in actions:
                best = max(best, _mix(gain, slack, playable, r, a, b)[0])
        if best == -np.inf:
            _, edge, count = tied(slack, playable, r)
            for a in actions:
                if playable[r, a] and slack[r, a] >= edge:
                    p[r, a] = 1.0 / count
            continue
        for a in actions:
            for b in actions:
                worth, chance = _mix(gain, slack, playable, r, a, b)
                if worth >= best - TIE * abs(best):
                    p[r, a] += 1.0 - chance
                    p[r, b] += chance
    return p


@kernel
def _draw(
    mean: Floats, bonus: Floats, playable: Bools, worst: Floats, left: Floats, wanted: int, u: Floats
) -> tuple[Ints, Floats, Floats]:
    return draw(_lottery(mean, bonus, playable, wanted), playable, worst, left, u, 1)


@dataclass(frozen=True)
class Lottery:
    """Draw from the lottery of highest expected worth whose expected slack is at least 0, both taken optimistically.

    Equation: p = argmax p.wanted over lotteries p with p.slack >= 0, where wanted sums the mean and the bonus of the
    first readings, slack those of the others. If none is feasible, it plays the candidate of most slack. Some
    solution mixes at most two candidates, so all pairs are tried, in O(A^2). Solutions that tie are averaged; without
    any reading of slack it is the argmax. It plays one candidate, because the linear program is for a single play.
    Source: Agrawal & Devanur 2014, eq. 23 (Algorithm 6), with slack = h_S(phi) - phi.Z(phi). The paper leaves open what
    is played where nothing is feasible.

    Args:
        wanted: how many readings belong to what is maximised, at least 1: those of the goals that a policy names first.

    Raises:
        InvalidInput: `wanted` is below 1, or above the number of readings.

    >>> gain, slack = [0.2, 1.0, 0.5], [0.5, -0.5, 0.0]
    >>> worth = Worth(np.array([[gain, slack]]), np.zeros((1, 2, 3)), random=False)
    >>> offer = Offer(np.ones((1, 3), bool), worst=np.zeros((1, 3, 0)), left=np.zeros((1, 0)))
    >>> Lottery(1).pick(None, worth, offer, np.zeros(1), np.array([[0.9]])).lottery
    array([[0.5, 0.5, 0. ]])
    """

    wanted: int
    n_plays: ClassVar[int] = 1
    reads_bonus: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole("Lottery.wanted", self.wanted, 1)

    def draws(self, candidates: int) -> int:
        """One uniform number."""
        return 1

    def start(self, n_replicas: int) -> None:
        """No state."""

    def pick(self, state: None, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        """Draw, `(K,A),(K,A),(A),(A,d),(d),(),(1)->(1),(1),(A),()`."""
        readings = worth.mean.shape[1]
        if self.wanted > readings:
            raise InvalidInput("Lottery.wanted", f"at most {readings}, the readings that the goals have", self.wanted)
        known = worth.mean, worth.bonus, offer.playable, offer.worst, offer.left
        return Pick(*_draw(*known, self.wanted, u), forced=np.zeros(len(offer.playable)))
