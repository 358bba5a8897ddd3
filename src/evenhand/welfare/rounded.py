"""Rounding of a linear program: each user's arm is drawn from the program's probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.welfare._kernels import draw_arm
from evenhand.welfare.base import Allocation, Round
from evenhand.welfare.curves import Curves
from evenhand.welfare.linear_program import solve_relaxation

_LEAST = 1e-9  # smaller probabilities are rounding errors of the solver


@named("A5", source="the linear program of the welfare of concave curves; rounding user by user is evenhand's own")
@dataclass(frozen=True)
class Rounded:
    """Solves the linear program of `bound`, and draws each user's arm independently from its probabilities.

    A user whose arms are all full by then gets, among arms with room, the best at the prices of the program. It serves
    as a reference; its time is that of HiGHS.

    >>> from evenhand.welfare.curves import Capped
    >>> value = np.array([[[0.5, 0.9], [0.5, 0.4]]])
    >>> case = Round(value, 0.0 * value, value > 0.0, np.ones(2, int))
    >>> Rounded().allocate(case, Capped(1.0).curves(2), np.full((1, 2), np.nan), np.full((1, 2), 0.5)).arms
    array([[1, 0]])
    """

    blind: ClassVar[bool] = False

    def draws(self, users: int, arms: int) -> int:
        return users

    def allocate(self, case: Round, curves: Curves, prices: Floats, u: Floats) -> Allocation:
        found = solve_relaxation(case, curves)
        worth = found.prices[:, None, :] * case.value + case.bonus
        lottery = np.where(found.chances > _LEAST, found.chances, 0.0)
        arms, chances = _draw(lottery, worth, case.eligible, case.capacity, u)
        return Allocation(arms, chances, found.prices)


@kernel
def _draw(lottery: Floats, worth: Floats, eligible: Bools, capacity: Ints, u: Floats) -> tuple[Ints, Floats]:
    """Draw arms and return their probabilities given earlier users, `(N,A),(N,A),(N,A),(A),(N)->(N),(N)`."""
    arms, chances = np.full(u.shape, -1), np.ones(u.shape)
    weight = np.empty(lottery.shape[2])
    for r in range(len(u)):
        room = capacity.copy()
        for i in range(u.shape[1]):
            best, most = -1, -np.inf
            for a in range(len(weight)):
                weight[a] = 0.0
                if room[a] > 0 and eligible[r, i, a]:
                    weight[a] = lottery[r, i, a]
                    if worth[r, i, a] > most:
                        best, most = a, worth[r, i, a]
            chosen, chances[r, i] = draw_arm(weight, u[r, i])
            arms[r, i] = chosen if chosen >= 0 else best
            if arms[r, i] >= 0:
                room[arms[r, i]] -= 1
    return arms, chances
