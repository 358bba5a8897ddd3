"""A goal of one price."""

from dataclasses import dataclass

import numpy as np

from evenhand.core.types import Floats
from evenhand.problem.rows import Rows


@dataclass(frozen=True, kw_only=True, eq=False)
class FixedPrice:
    """Asks one price for every row.

    Equation: q = (unit, ..., unit), o = 0.

    >>> goal = FixedPrice(rows=Rows.plain(["visit"], np.ones((1, 1)), np.zeros((1, 0))), unit=2.0)
    >>> goal.price(goal.start(1))[0]
    array([[[2.]]])
    """

    rows: Rows
    unit: float

    def start(self, n_replicas: int) -> Floats:
        return np.full((n_replicas, 1, len(self.rows)), self.unit)

    def price(self, state: Floats) -> tuple[Floats, Floats]:
        return state, np.zeros(len(state))
