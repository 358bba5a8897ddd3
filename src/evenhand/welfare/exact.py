"""The best allocation of a round, by branch and bound (HiGHS)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import number
from evenhand.welfare.base import Allocation, Round
from evenhand.welfare.curves import Curves
from evenhand.welfare.linear_program import relaxation, select_round


class Solution(NamedTuple):
    """The best allocations found, and their optimality gaps."""

    arms: Ints  # (R, N)
    gap: Floats  # (R,) an upper bound on the relative gain of the best allocation over this one


@named("A5", source="evenhand's own: the welfare of concave curves as a mixed-integer program")
@dataclass(frozen=True)
class Exact:
    """Solves the mixed-integer program of the welfare; suited to small rounds.

    Logarithms and powers enter by tangents that are at most 1e-4 of their value too high, so the allocation is within
    1e-4 of its satisfaction of the best one beside the gap; `gap` is that of the program with tangents.

    Args:
        seconds: the time limit per round, after which the best allocation so far is taken; this depends on the machine.
        gap: the relative gap at which the search ends.

    Raises:
        InvalidInput: a number is out of range or, from `solve`, no allocation is found in time.

    >>> from evenhand.welfare.curves import Capped
    >>> value = np.array([[[0.5, 0.9], [0.5, 0.4]]])
    >>> case = Round(value, 0.0 * value, value > 0.0, np.ones(2, int))
    >>> Exact().solve(case, Capped(1.0).curves(2)).arms
    array([[1, 0]])
    """

    seconds: float = 5.0
    gap: float = 0.0
    blind: ClassVar[bool] = False

    def __post_init__(self) -> None:
        number("Exact.seconds", self.seconds, "a number above 0", lambda x: x > 0)
        number("Exact.gap", self.gap, "a number in [0, 1)", lambda x: 0 <= x < 1)

    def draws(self, users: int, arms: int) -> int:
        return 0

    def allocate(self, case: Round, curves: Curves, prices: Floats, u: Floats) -> Allocation:
        arms = self.solve(case, curves).arms
        return Allocation(arms, np.ones(arms.shape), np.full(prices.shape, np.nan))

    def solve(self, case: Round, curves: Curves) -> Solution:
        """Find the best allocation of every replica and its gap, `(N,A),(N,A),(N,A),(A)->(N),()`."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        arms, gap = np.full(case.value.shape[:2], -1), np.zeros(len(case.value))
        for r in range(len(arms)):
            p = relaxation(select_round(case, r), curves)
            _, i, a = p.pairs
            n, fills = len(i), case.value.shape[2]
            whole = np.zeros(len(p.gain), np.int64)
            whole[:n] = whole[len(whole) - fills :] = 1  # who gets what, and which arms are full
            rows = [LinearConstraint(p.equal, p.equal_to, p.equal_to), LinearConstraint(p.below, -np.inf, p.at_most)]
            found = milp(
                -p.gain,
                integrality=whole,
                bounds=Bounds(p.low, p.high),
                constraints=rows,
                options={"time_limit": self.seconds, "mip_rel_gap": self.gap},
            )
            if found.x is None:
                raise InvalidInput("Exact.seconds", "enough to find an allocation", f"{self.seconds}: {found.message}")
            taken = found.x[:n] > 0.5
            arms[r, i[taken]] = a[taken]
            gap[r] = found.mip_gap
        return Solution(arms, gap)
