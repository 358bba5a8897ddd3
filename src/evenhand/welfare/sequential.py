"""The paper's randomised welfare routine: users draw arms in order, with probabilities that rise with the gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.welfare._kernels import draw_arm, utility
from evenhand.welfare.base import Allocation, Round
from evenhand.welfare.curves import Curves, plain


@kernel
def _sequential(
    value: Floats, bonus: Floats, eligible: Bools, capacity: Ints, curves: Curves, u: Floats
) -> tuple[Ints, Floats]:
    """Draw arms and return their probabilities, `(N,A),(N,A),(N,A),(A),(A),(N)->(N),(N)`."""
    count, users, n_arms = value.shape
    arms, chances = np.full((count, users), -1), np.ones((count, users))
    sums, held, weight = np.empty(n_arms), np.empty(n_arms, np.int64), np.empty(n_arms)
    for r in range(count):
        sums[:] = 0.0
        held[:] = 0
        for i in range(users):
            best = -1.0
            for a in range(n_arms):
                weight[a] = -1.0
                if eligible[r, i, a] and held[a] < capacity[a]:
                    adds = utility(curves, a, sums[a] + value[r, i, a]) - utility(curves, a, sums[a]) + bonus[r, i, a]
                    weight[a] = max(adds, 0.0)
                    best = max(best, weight[a])
            for a in range(n_arms):  # relative to the best, so that powers cannot vanish all at once
                if weight[a] >= 0.0:
                    weight[a] = (weight[a] / best) ** (n_arms - 1.0) if best > 0.0 else 1.0
                else:
                    weight[a] = 0.0
            chosen, chances[r, i] = draw_arm(weight, u[r, i])
            if chosen >= 0:
                arms[r, i] = chosen
                sums[chosen] += value[r, i, chosen]
                held[chosen] += 1
    return arms, chances


@named("A5", source="Shibukawa et al. 2026, Appendix F.2: sequential randomised routine")
@dataclass(frozen=True)
class Sequential:
    """Lets users in order draw an arm in proportion to a power of its gain.

    Equation: P(a) ~ max(r_a(s_a + m_ia) - r_a(s_a) + b_ia, 0)^(A - 1), s_a the sum of the users before, over the
    eligible arms with room; uniform if no arm would gain. In expectation it reaches half of the optimum if no bonus is
    negative. On the instances of `Matching` it reaches 0.90 to 0.99 of the linear program's bound.

    >>> from evenhand.welfare.curves import Linear
    >>> case = Round(np.array([[[0.9, 0.1]]]), np.zeros((1, 1, 2)), np.ones((1, 1, 2), bool), np.array([1, 1]))
    >>> Sequential().allocate(case, Linear().curves(2), np.full((1, 2), np.nan), np.full((1, 1), 0.95)).chances
    array([[0.1]])
    """

    blind: ClassVar[bool] = False

    def draws(self, users: int, arms: int) -> int:
        return users

    def allocate(self, case: Round, curves: Curves, prices: Floats, u: Floats) -> Allocation:
        arms, chances = _sequential(case.value, case.bonus, case.eligible, case.capacity, plain(curves), u)
        return Allocation(arms, chances, np.full(prices.shape, np.nan))
