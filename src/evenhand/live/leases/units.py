"""Amounts as whole numbers of a unit, a power of two, so that sums and differences of them are exact."""

from __future__ import annotations

import math
from collections.abc import Mapping

Amounts = Mapping[str, int]  # whole numbers of units, by the outcome that is spent
_BITS = 40  # of a total: the unit is about 1e-12 of it
_NOTHING = 2.0**-20  # of a unit: budgets are above 0, and this is less than rounding leaves of one


def exponent(total: float) -> int:
    """Return the exponent of the unit in which parts of a total are counted.

    >>> exponent(50_000.0), 50_000 / 2.0 ** exponent(50_000.0) < 2**40
    (-24, True)
    """
    return math.frexp(total)[1] - _BITS


def units(amount: float, exponent: int) -> int:
    """Return the whole units that an amount has, none for a negative one.

    >>> units(1.75, -1), units(-3.0, 0)
    (3, 0)
    """
    return max(math.floor(math.ldexp(amount, -exponent)), 0)


def amount(units: int, exponent: int) -> float:
    """Return the amount of some units; that of none is too little for any play, as a budget has to be above 0.

    >>> amount(3, -1), amount(0, -24) < 1e-13
    (1.5, True)
    """
    return math.ldexp(units if units > 0 else _NOTHING, exponent)
