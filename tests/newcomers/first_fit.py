"""An oracle that fills one arm after the other."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.types import Floats
from evenhand.welfare.base import Allocation, Round
from evenhand.welfare.curves import Curves


@named("Z8", source="a test")
@dataclass(frozen=True)
class FirstFit:
    """Gives every user the first eligible arm with room.

    Equation: a_i = min {a : (i, a) is eligible and a has room}.

    >>> FirstFit().draws(3, 2)
    0
    """

    blind: ClassVar[bool] = True

    def draws(self, users: int, arms: int) -> int:
        return 0

    def allocate(self, case: Round, curves: Curves, prices: Floats, u: Floats) -> Allocation:
        count, users, _ = case.value.shape
        arms, held = np.full((count, users), -1), np.zeros(prices.shape)
        for i in range(users):
            free = case.eligible[:, i] & (held < case.capacity)
            arms[:, i] = np.where(free.any(1), free.argmax(1), -1)
            held += np.arange(held.shape[1]) == arms[:, i, None]
        return Allocation(arms, np.ones(arms.shape), np.full(prices.shape, np.nan))
