"""The move of prices between two solves, in proportion to the consumption that is off plan since the last one."""

from __future__ import annotations

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.numerics.precision import total

_PULL = 2.0  # last temperatures by which a price moves per largest consumption of one round that is off plan


@kernel
def pulled(mu: Floats, per_unit: Floats, gap: Floats) -> Floats:
    """Return prices moved by the deviation of use from the plan, without a change of sign; a price of 0 stays."""
    price = np.zeros_like(mu)
    for r in range(len(mu)):
        for i in range(mu.shape[1]):
            moved = mu[r, i] + per_unit[r, i] * gap[r, i]
            if mu[r, i] > 0.0:
                price[r, i] = max(moved, 0.0)
            elif mu[r, i] < 0.0:
                price[r, i] = min(moved, 0.0)
    return price


@kernel
def pull(weight: Floats, kept: Ints, due: Bools, temperature: Floats, jump: Floats, per_unit: Floats) -> None:
    """Prices per unit off plan, times the share of repeats in the kept contexts, `(S),(),(),(),(k),(k)`."""
    for r in range(len(kept)):
        if due[r] and kept[r] > 0:
            repeats = 1.0 - kept[r] / total(weight[r, : kept[r]])
            for i in range(jump.shape[1]):
                per_unit[r, i] = _PULL * repeats * temperature[r] / jump[r, i] / jump[r, i] if jump[r, i] > 0.0 else 0.0
