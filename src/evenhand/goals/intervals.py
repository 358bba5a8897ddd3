"""Ends of the intervals of rows, each a reading of its own, for choices that plan on intervals of outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from evenhand.core.checked import checked
from evenhand.core.types import Floats
from evenhand.core.validate import one_of
from evenhand.goals.linear_reward import LinearRewardState
from evenhand.problem.rows import Rows


@checked
@dataclass(frozen=True, kw_only=True, eq=False)
class Intervals:
    """Read every row separately at price 1, at price -1, or at both.

    Equation: q_j = e_j for the upper ends, then q_{d+j} = -e_j for the lower ends; o = 0. The mean and the bonus of a
    reading at price 1 add up to the upper end of the row's interval, those of one at price -1 to minus its lower end.
    These prices value nothing: `policy.worth` and `explain` show what a choice is told, not what it makes of it.
    Source: Agrawal & Devanur 2014, eq. 26: UCB and LCB of every arm and outcome.

    Args:
        rows: d of them.
        ends: which ends are read.

    Raises:
        InvalidInput: other ends.

    >>> goal = Intervals(rows=Rows.plain(["cost"], np.ones((1, 1)), np.zeros((1, 0))))
    >>> goal.price(goal.start(1))[0].tolist()
    [[[1.0], [-1.0]]]
    """

    rows: Rows
    ends: Literal["both", "lower", "upper"] = "both"

    def __post_init__(self) -> None:
        one_of("Intervals.ends", self.ends, ("both", "lower", "upper"))

    def start(self, n_replicas: int) -> LinearRewardState:
        one = np.eye(len(self.rows))
        q = {"both": np.concatenate([one, -one]), "upper": one, "lower": -one}[self.ends]
        return LinearRewardState(np.tile(q, (n_replicas, 1, 1)), np.zeros(n_replicas))

    def price(self, state: LinearRewardState) -> tuple[Floats, Floats]:
        """Return 1 or -1 for one row per reading, `->(k,d),()`, with k = 2d or d readings."""
        return state.q, state.o
