"""The greedy welfare oracle: it takes the pair of user and arm with the largest gain first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.welfare._kernels import utility
from evenhand.welfare.base import Allocation, Round
from evenhand.welfare.curves import Curves, plain


@kernel
def _best_gain(
    value: Floats, bonus: Floats, eligible: Bools, capacity: Ints, curves: Curves, sums: Floats, held: Ints, i: int
) -> tuple[int, float]:
    """Find the arm with room that gains most from user i, and this gain; -1 and -inf if there is none."""
    best, most = -1, -np.inf
    for a in range(value.shape[1]):
        if eligible[i, a] and held[a] < capacity[a]:
            adds = utility(curves, a, sums[a] + value[i, a]) - utility(curves, a, sums[a]) + bonus[i, a]
            if adds > most:
                best, most = a, adds
    return best, most


@kernel
def _greedy(value: Floats, bonus: Floats, eligible: Bools, capacity: Ints, curves: Curves) -> Ints:
    """Allocate, `(N,A),(N,A),(N,A),(A),(A)->(N)`; gains only fall, so a stale gain is an upper bound."""
    count, users, n_arms = value.shape
    arms = np.full((count, users), -1)
    sums, held = np.empty(n_arms), np.empty(n_arms, np.int64)
    want, adds = np.empty(users, np.int64), np.empty(users)
    for r in range(count):
        sums[:] = 0.0
        held[:] = 0
        for i in range(users):
            want[i], adds[i] = _best_gain(value[r], bonus[r], eligible[r], capacity, curves, sums, held, i)
        for _ in range(users):
            i = int(np.argmax(adds))
            while adds[i] > -np.inf:
                before = adds[i]
                want[i], adds[i] = _best_gain(value[r], bonus[r], eligible[r], capacity, curves, sums, held, i)
                if adds[i] >= before:
                    break
                i = int(np.argmax(adds))
            if adds[i] == -np.inf:
                break
            arms[r, i] = want[i]
            sums[want[i]] += value[r, i, want[i]]
            held[want[i]] += 1
            adds[i] = -np.inf
    return arms


@named("A5", source="the greedy algorithm for submodular welfare (Fisher, Nemhauser & Wolsey 1978)")
@dataclass(frozen=True)
class Greedy:
    """Takes the pair of user and arm with the largest gain, then the next one, until every user has an arm.

    Equation: (i, a) maximises r_a(s_a + m_ia) - r_a(s_a) + b_ia over users without an arm and eligible arms with room.
    It reaches half of the optimum if no bonus is negative, and all of it if r is linear and no arm is full. Ties go to
    the first pair, so `choices.Allocate` breaks them at random beforehand. A user may stay without an arm although
    another allocation would place all users.

    >>> from evenhand.welfare.curves import Linear
    >>> value = np.array([[[0.9, 0.1], [0.8, 0.5]]])
    >>> case = Round(value, np.zeros((1, 2, 2)), np.ones((1, 2, 2), bool), np.array([1, 1]))
    >>> Greedy().allocate(case, Linear().curves(2), np.full((1, 2), np.nan), np.zeros((1, 0))).arms
    array([[0, 1]])
    """

    blind: ClassVar[bool] = False

    def draws(self, users: int, arms: int) -> int:
        return 0

    def allocate(self, case: Round, curves: Curves, prices: Floats, u: Floats) -> Allocation:
        arms = _greedy(case.value, case.bonus, case.eligible, case.capacity, plain(curves))
        return Allocation(arms, np.ones(arms.shape), np.full(prices.shape, np.nan))
