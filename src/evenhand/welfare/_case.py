"""Records between the kernels of allocations: the round of one replica, prices, and an allocation with its sums."""

from __future__ import annotations

from typing import NamedTuple

from evenhand.core.types import Bools, Floats, Ints
from evenhand.welfare.curves import Curves


class Case(NamedTuple):
    """The round of one replica, as in `Round`, and the curves of its arms."""

    value: Floats  # (N, A)
    bonus: Floats  # (N, A)
    eligible: Bools  # (N, A)
    capacity: Ints  # (A,)
    curves: Curves


class Asked(NamedTuple):
    """The prices of a match and of a place in every arm; kernels change them in place."""

    prices: Floats  # (A,)
    fees: Floats  # (A,)


class Held(NamedTuple):
    """An allocation and its sums by arm; kernels change them in place."""

    arms: Ints  # (N,), -1 for a user without an arm
    sums: Floats  # (A,) of the values of an arm's users
    counts: Ints  # (A,) of its users
