"""Oracles that draw each user's arm separately: the lottery of FairX, and the uniform one."""

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


@kernel
def _draw(value: Floats, eligible: Bools, capacity: Ints, u: Floats) -> tuple[Ints, Floats]:
    """Draw each user's arm in proportion to its values, `(N,A),(N,A),(A),(N)->(N),(N)`; uniformly if all are 0."""
    count, users, n_arms = eligible.shape
    arms, chances = np.full((count, users), -1), np.ones((count, users))
    held, weight = np.empty(n_arms, np.int64), np.empty(n_arms)
    for r in range(count):
        held[:] = 0
        for i in range(users):
            total = 0.0
            for a in range(n_arms):
                weight[a] = value[r, i, a] if eligible[r, i, a] and held[a] < capacity[a] else 0.0
                total += weight[a]
            for a in range(n_arms):
                if total == 0.0 and eligible[r, i, a] and held[a] < capacity[a]:
                    weight[a] = 1.0
            arms[r, i], chances[r, i] = draw_arm(weight, u[r, i])
            if arms[r, i] >= 0:
                held[arms[r, i]] += 1
    return arms, chances


@named("A6", source="FairX: Wang et al. 2021, as in Shibukawa et al. 2026, Appendix F.1 (Algorithm 6)")
@dataclass(frozen=True)
class Proportional:
    """Draws each user's arm in proportion to the user's values, P(a) = m_ia / sum_c m_ic.

    Satisfaction and bonuses have no effect. If an arm is full, the others share its probability.

    >>> from evenhand.welfare.curves import Linear
    >>> case = Round(np.array([[[0.6, 0.2]]]), np.zeros((1, 1, 2)), np.ones((1, 1, 2), bool), np.array([1, 1]))
    >>> Proportional().allocate(case, Linear().curves(2), np.full((1, 2), np.nan), np.full((1, 1), 0.7)).chances
    array([[0.75]])
    """

    blind: ClassVar[bool] = False

    def draws(self, users: int, arms: int) -> int:
        return users

    def allocate(self, case: Round, curves: Curves, prices: Floats, u: Floats) -> Allocation:
        arms, chances = _draw(case.value, case.eligible, case.capacity, u)
        return Allocation(arms, chances, np.full(prices.shape, np.nan))


@named("A6", source="Shibukawa et al. 2026, Section 5.1: baseline")
@dataclass(frozen=True)
class Anyone:
    """Draws each user's arm uniformly from the eligible arms with room.

    >>> from evenhand.welfare.curves import Linear
    >>> case = Round(np.array([[[0.6, 0.2]]]), np.zeros((1, 1, 2)), np.ones((1, 1, 2), bool), np.array([1, 1]))
    >>> Anyone().allocate(case, Linear().curves(2), np.full((1, 2), np.nan), np.full((1, 1), 0.7)).arms
    array([[1]])
    """

    blind: ClassVar[bool] = True

    def draws(self, users: int, arms: int) -> int:
        return users

    def allocate(self, case: Round, curves: Curves, prices: Floats, u: Floats) -> Allocation:
        arms, chances = _draw(np.zeros(case.value.shape), case.eligible, case.capacity, u)
        return Allocation(arms, chances, np.full(prices.shape, np.nan))
