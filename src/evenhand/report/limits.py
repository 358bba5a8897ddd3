"""A test for numbers beyond a limit that allows for rounding."""

from __future__ import annotations

from typing import Literal

import numpy as np

from evenhand.core.types import Bools, Floats

_SLACK = 1e-9  # of the limit: sums of costs are rounded


def exceeds(values: Floats, limit: float, worst: Literal["low", "high"] = "high") -> Bools:
    """Return which numbers exceed a limit by more than 1e-9 of it, `(R)->(R)`; NaN is not.

    Args:
        values: what was used or reached.
        limit: that they should keep.
        worst: "high" if it is the most, "low" if it is the least.

    >>> exceeds(np.array([1.0, 1.0 + 1e-12, 1.1]), 1.0).tolist()
    [False, False, True]
    """
    over = values - limit if worst == "high" else limit - values
    return np.asarray(over > _SLACK * abs(limit))
