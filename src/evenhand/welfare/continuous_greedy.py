"""Continuous greedy: probabilities grow towards the arms with the largest mean gain, then every user draws an arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import counts
from evenhand.welfare._kernels import draw_arm, utility
from evenhand.welfare.base import Allocation, Round
from evenhand.welfare.curves import Curves


@named("A5", source="Calinescu, Chekuri, Pál & Vondrák 2011; 1 - 1/e for a welfare that is monotone")
@dataclass(frozen=True)
class ContinuousGreedy:
    """Reaches 1 - 1/e of the best welfare on average, up to steps and samples, if no bonus is below 0.

    Equation: G(x) = E[welfare], every user's arm drawn from x_i and none with the rest of the probability. In each of
    `steps` steps, 1 / steps is added to x_ia for the arm a of every user i with the largest dG/dx_ia, an average over
    `samples` allocations drawn from x. In the end arms are drawn from x. As G is the mean of what is drawn, rounding
    loses nothing.

    Args:
        steps: the number of growth steps; the guarantee is short of 1 - 1/e by a multiple of 1 / steps.
        samples: the number of sampled allocations per step.

    Raises:
        InvalidInput: a number is below 1 or, from `allocate`, an arm lacks room for all its eligible users.

    >>> from evenhand.welfare.curves import Capped
    >>> value = np.array([[[0.5, 0.9], [0.5, 0.4]]])
    >>> case = Round(value, 0.0 * value, value > 0.0, np.full(2, 2))
    >>> oracle, curves = ContinuousGreedy(steps=4, samples=2), Capped(1.0).curves(2)
    >>> oracle.allocate(case, curves, np.full((1, 2), np.nan), np.full((1, oracle.draws(2, 2)), 0.5)).arms
    array([[1, 0]])
    """

    steps: int = 20
    samples: int = 20
    blind: ClassVar[bool] = False

    def __post_init__(self) -> None:
        counts(self, {"steps": 1, "samples": 1})

    def draws(self, users: int, arms: int) -> int:
        return (self.steps * self.samples + 1) * users

    def allocate(self, case: Round, curves: Curves, prices: Floats, u: Floats) -> Allocation:
        rivals = case.eligible.sum(1).max(0)
        if (case.capacity < rivals).any():
            arm = int(np.argmax(rivals - case.capacity))
            expected = f"room for all {rivals[arm]} users who are eligible for arm {arm}, as this oracle keeps none"
            raise InvalidInput("capacity", expected, int(case.capacity[arm]))
        arms, chances = _allocate(case.value, case.bonus, case.eligible, curves, self.steps, self.samples, u)
        return Allocation(arms, chances, np.full(prices.shape, np.nan))


@kernel
def _draw_or_none(x: Floats, u: float) -> int:
    """Draw an arm with probabilities x, -1 with the remaining probability, `(A),()->()`."""
    for a in range(len(x)):
        u -= x[a]
        if u < 0.0:
            return a
    return -1


@kernel
def _allocate(
    value: Floats, bonus: Floats, eligible: Bools, curves: Curves, steps: int, samples: int, u: Floats
) -> tuple[Ints, Floats]:
    """Allocate arms and return their probabilities, `(N,A),(N,A),(N,A),(draws)->(N),(N)`."""
    count, users, n_arms = value.shape
    arms, chances = np.full((count, users), -1), np.ones((count, users))
    arm, sums = np.empty(users, np.int64), np.empty(n_arms)
    for r in range(count):
        times = np.zeros((users, n_arms))  # the number of times that each pair's probability has grown
        at = 0
        for _ in range(steps):
            gain = np.zeros((users, n_arms))
            for _ in range(samples):
                sums[:] = 0.0
                for i in range(users):
                    arm[i] = _draw_or_none(times[i] / steps, u[r, at])
                    at += 1
                    if arm[i] >= 0:
                        sums[arm[i]] += value[r, i, arm[i]]
                for a in range(n_arms):
                    here = utility(curves, a, sums[a])
                    for i in range(users):
                        if arm[i] != a:
                            gain[i, a] += utility(curves, a, sums[a] + value[r, i, a]) - here
                        else:  # without the user's own arm
                            gain[i, a] += here - utility(curves, a, max(sums[a] - value[r, i, a], 0.0))
            for i in range(users):
                best = _best(gain[i] / samples + bonus[r, i], eligible[r, i])
                if best >= 0:
                    times[i, best] += 1.0
        for i in range(users):
            arms[r, i], chances[r, i] = draw_arm(times[i], u[r, at + i])
    return arms, chances


@kernel
def _best(gain: Floats, eligible: Bools) -> int:
    """Find the eligible arm with the largest gain, -1 if none is eligible, `(A),(A)->()`."""
    best = -1
    for a in range(len(gain)):
        if eligible[a] and (best < 0 or gain[a] > gain[best]):
            best = a
    return best
