"""The best lottery that keeps to one constraint on average: a linear program over the simplex, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.choices._shared import TIE, draw, place_of, ties
from evenhand.choices.base import Offer, OneDraw, Pick, Worth
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import inlined, kernel
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import whole
from evenhand.numerics.precision import total

_NEAR = 1e-6  # candidates this near to the line of the best lottery, as a part of their numbers, are looked at in pairs


@inlined
def _mix(gain: Floats, slack: Floats, r: int, a: int, b: int) -> tuple[float, float]:
    """Worth of a, which has slack, and of b with the largest chance that this slack allows; -inf if b adds nothing."""
    if not (slack[r, a] > 0.0 and gain[r, b] > gain[r, a]):
        return -np.inf, 0.0
    chance = slack[r, a] / (slack[r, a] - slack[r, b])
    return gain[r, a] + chance * (gain[r, b] - gain[r, a]), chance


@kernel
def _price(gain: Floats, slack: Floats, playable: Bools, r: int) -> tuple[float, float]:
    """The price of slack in the best lottery, and its worth, -inf if none is feasible, `(A),(A),(A)->(),()`.

    The price is the slope of the upper hull of all points (slack, gain) at slack 0. The line through one point on each
    side is raised to the point that is furthest above it, as long as there is one: the worth rises each time.
    """
    within, beyond = -1, -1  # the best with slack, and the best without
    for a in range(playable.shape[1]):
        if playable[r, a] and slack[r, a] >= 0.0:
            if within < 0 or gain[r, a] > gain[r, within]:
                within = a
        elif playable[r, a] and (beyond < 0 or gain[r, a] > gain[r, beyond]):
            beyond = a
    if within < 0:
        return 0.0, -np.inf
    if beyond < 0 or gain[r, beyond] <= gain[r, within]:
        return 0.0, gain[r, within]
    price, worth = 0.0, gain[r, within]
    for _ in range(playable.shape[1]):
        price = (gain[r, beyond] - gain[r, within]) / (slack[r, within] - slack[r, beyond])
        worth = gain[r, within] + price * slack[r, within]
        top, furthest = worth, -1
        for a in range(playable.shape[1]):
            if playable[r, a]:
                height = gain[r, a] + price * slack[r, a]
                if height > top and height - worth > _NEAR * TIE * (abs(gain[r, a]) + price * abs(slack[r, a])):
                    top, furthest = height, a
        if furthest < 0:
            break
        if slack[r, furthest] >= 0.0:
            within = furthest
        else:
            beyond = furthest
    return price, worth


@kernel
def _lottery(mean: Floats, bonus: Floats, playable: Bools, wanted: int, nothing: int, constant: Floats) -> Floats:
    """Weights of the best lottery, the sum of all that tie, `(K,A),(K,A),(A),(),(),(i)->(A)`.

    With one constraint, some optimum mixes at most two candidates, and both are on the line of its price.
    """
    p = np.zeros(playable.shape)
    gain, slack = np.zeros(playable.shape), np.zeros(playable.shape)
    on_line, sides = np.empty((2, playable.shape[1]), np.int64), np.zeros(2, np.int64)
    for r in range(len(playable)):
        for k in range(mean.shape[1]):
            sums = gain if k < wanted else slack
            for a in range(playable.shape[1]):
                sums[r, a] += mean[r, k, a] + bonus[r, k, a]
        if nothing >= 0:
            gain[r, nothing], slack[r, nothing] = total(constant[r, :wanted]), total(constant[r, wanted:])
        price, worth = _price(gain, slack, playable, r)
        if worth == -np.inf:
            _, edge, count = ties(slack, playable, r)
            for a in range(playable.shape[1]):
                if playable[r, a] and slack[r, a] >= edge:
                    p[r, a] = 1.0 / count
            continue
        sides[:] = 0
        for a in range(playable.shape[1]):
            rounding = abs(gain[r, a]) + price * abs(slack[r, a]) + abs(worth)
            if playable[r, a] and gain[r, a] + price * slack[r, a] >= worth - _NEAR * rounding:
                side = 0 if slack[r, a] >= 0.0 else 1
                on_line[side, sides[side]] = a
                sides[side] += 1
        within, beyond = on_line[0, : sides[0]], on_line[1, : sides[1] if price > 0.0 else 0]
        best = -np.inf
        for a in within:
            best = max(best, gain[r, a])
            for b in beyond:
                best = max(best, _mix(gain, slack, r, a, b)[0])
        edge = best - TIE * abs(best)
        for a in within:
            if gain[r, a] >= edge:
                p[r, a] += 1.0
            for b in beyond:
                mixed, chance = _mix(gain, slack, r, a, b)
                if mixed >= edge:
                    p[r, a] += 1.0 - chance
                    p[r, b] += chance
    return p


@kernel
def _draw(
    mean: Floats,
    bonus: Floats,
    playable: Bools,
    worst: Floats,
    left: Floats,
    wanted: int,
    nothing: int,
    constant: Floats,
    u: Floats,
) -> tuple[Ints, Floats, Floats]:
    return draw(_lottery(mean, bonus, playable, wanted, nothing, constant), playable, worst, left, u, 1)


@checked
@dataclass(frozen=True)
class Lottery(OneDraw):
    """Draw from the lottery with the highest optimistic worth whose optimistic expected slack is at least 0.

    Equation: p = argmax p.wanted over lotteries p with p.slack >= 0, where wanted sums the mean and the bonus of the
    first readings, slack those of the others. If none is feasible, it plays the candidate with the most slack. Some
    solution mixes at most two candidates, which are neighbours on the upper hull of the points (slack, wanted) and are
    found in a few passes over all candidates. Solutions that tie are averaged; without any reading of slack it is the
    argmax. It plays one candidate, because the linear program is for a single play.
    Source: Agrawal & Devanur 2014, eq. 23 (Algorithm 6), with slack = h_S(phi) - phi.Z(phi). The paper leaves open what
    is played where nothing is feasible.

    Args:
        wanted: how many readings belong to what is maximised, at least 1: those of the goals that a policy names first.
        nothing: the candidate that does nothing, if there is one: its readings are the constants of the goals, whatever
            the model says, as its outcomes are 0.

    Raises:
        InvalidInput: `wanted` is below 1, or above the number of readings.

    >>> gain, slack = [0.2, 1.0, 0.5], [0.5, -0.5, 0.0]
    >>> worth = Worth(np.array([[gain, slack]]), np.zeros((1, 2, 3)), random=False)
    >>> offer = Offer(np.ones((1, 3), bool), worst=np.zeros((1, 3, 0)), left=np.zeros((1, 0)))
    >>> Lottery(1).pick(None, worth, offer, np.zeros(1), np.array([[0.9]])).lottery
    array([[0.5, 0.5, 0. ]])
    """

    wanted: int
    nothing: int | None = None
    n_plays: ClassVar[int] = 1
    reads_bonus = True

    def __post_init__(self) -> None:
        whole("Lottery.wanted", self.wanted, 1)

    def pick(self, state: None, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        readings = worth.mean.shape[1]
        if self.wanted > readings:
            raise InvalidInput("Lottery.wanted", f"at most {readings}, the readings that the goals have", self.wanted)
        known = worth.mean, worth.bonus, offer.playable, offer.worst, offer.left
        nothing = place_of("Lottery", self.nothing, worth)
        constant = np.zeros((len(u), readings)) if worth.constant is None else worth.constant
        return Pick(*_draw(*known, self.wanted, nothing, constant, u), forced=np.zeros(len(offer.playable)))
