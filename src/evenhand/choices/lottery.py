"""The best lottery that keeps to one constraint on average: a linear program over the simplex, in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.choices.base import Pick, optimistic
from evenhand.choices.random import draw
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import whole


@kernel
def _lottery(mean: Floats, bonus: Floats, playable: Bools, first: int) -> Floats:
    """The lottery itself, `(K,A),(K,A),(A),()->(A)`: of one constraint, some optimum has at most two candidates."""
    p = np.zeros(playable.shape)
    wanted, slack = np.zeros(playable.shape[1]), np.zeros(playable.shape[1])
    for r in range(len(playable)):
        spare = one = -1  # the candidate of most slack, and the best that keeps to the constraint by itself
        for a in range(len(wanted)):
            if playable[r, a]:
                wanted[a] = optimistic(mean[r, :first], bonus[r, :first], a)
                slack[a] = optimistic(mean[r, first:], bonus[r, first:], a)
                if spare < 0 or slack[a] > slack[spare]:
                    spare = a
                if slack[a] >= 0.0 and (one < 0 or wanted[a] > wanted[one]):
                    one = a
        if one < 0:
            if spare >= 0:
                p[r, spare] = 1.0
            continue
        two, share, best = -1, 0.0, wanted[one]
        saver = one
        for a in range(len(wanted)):
            if not (playable[r, a] and slack[a] > 0.0):
                continue
            for b in range(len(wanted)):
                if playable[r, b] and slack[b] < 0.0 and wanted[b] > best:
                    chance = slack[a] / (slack[a] - slack[b])  # as often as the slack of a pays for b
                    worth = wanted[a] + chance * (wanted[b] - wanted[a])
                    if worth > best:
                        saver, two, share, best = a, b, chance, worth
        p[r, saver] = 1.0 - share
        if two >= 0:
            p[r, two] = share
    return p


@kernel
def _pick(mean: Floats, bonus: Floats, playable: Bools, first: int, u: Floats) -> tuple[Ints, Floats, Floats]:
    plays, p = draw(_lottery(mean, bonus, playable, first), playable, u[:, 0])
    return plays, p, np.ones(len(playable))


@dataclass(frozen=True)
class Lottery:
    """Draw from the best lottery whose slack is at least 0 on average, both read optimistically.

    Equation: p = argmax p.wanted over lotteries p with p.slack >= 0, where wanted sums the mean and the bonus of the
    first readings, slack those of the others. Where no lottery has that much, the candidate of most slack is played.
    One of the solutions mixes at most two candidates, so all pairs are tried, in O(A^2). Of equals the first is taken;
    without any reading of slack it is the argmax.
    Source: Agrawal & Devanur 2014, eq. 23 (Algorithm 6), with slack = h_S(phi) - phi.Z(phi). The paper leaves open what
    is played where nothing is feasible.

    Args:
        first: how many readings are what is wanted, at least 1; they belong to the goals that a policy names first.

    Raises:
        InvalidInput: `first` is below 1, or above the number of readings.

    >>> wanted, slack, playable = [0.2, 1.0, 0.5], [0.5, -0.5, 0.0], np.ones((1, 3), bool)
    >>> readings = np.array([[wanted, slack]])
    >>> Lottery(1).pick(None, readings, 0 * readings, playable, np.zeros(1), np.array([[0.9]])).probabilities
    array([[0.5, 0.5, 0. ]])
    """

    first: int

    def __post_init__(self) -> None:
        whole("Lottery.first", self.first, 1)

    @property
    def n_plays(self) -> int:
        """One candidate."""
        return 1

    @property
    def draws(self) -> int:
        """One uniform number."""
        return 1

    def start(self, n_replicas: int) -> None:
        """No state."""

    def pick(self, state: None, mean: Floats, bonus: Floats, playable: Bools, t: Floats, u: Floats) -> Pick:
        """Draw, `(K,A),(K,A),(A),(),(1)->(1),(A),()`."""
        if self.first > mean.shape[1]:
            raise InvalidInput(
                "Lottery.first", f"at most {mean.shape[1]}, the readings that the goals have", self.first
            )
        return Pick(*_pick(mean, bonus, playable, self.first, u))
