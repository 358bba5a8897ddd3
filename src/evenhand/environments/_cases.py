"""Worlds whose cases are independent of each other: outcomes follow from the features of the plays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.luck import Luck, Stream
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats, Ints
from evenhand.environments.base import Arrival


@kernel
def means(x: Floats, theta: Floats, plays: Ints) -> Floats:
    """Compute the means of every outcome of the plays, `(A,n),(M,n),(P)->(P,M)`; 0 for empty places."""
    mean = np.zeros((*plays.shape, len(theta)))
    for r in range(len(plays)):
        for p in range(plays.shape[1]):
            if plays[r, p] >= 0:
                for i in range(x.shape[2]):
                    if x[r, plays[r, p], i] != 0.0:
                        for m in range(len(theta)):
                            mean[r, p, m] += theta[m, i] * x[r, plays[r, p], i]
    return mean


@kernel
def coins(mean: Floats, u: Floats) -> Floats:
    """Draw 0 or 1 with each mean as the probability, `(P,M),(M)->(P,M)`."""
    y = np.zeros_like(mean)
    for r in range(len(y)):
        for p in range(y.shape[1]):
            for m in range(y.shape[2]):
                y[r, p, m] = 1.0 if u[r, m] < mean[r, p, m] else 0.0
    return y


@kernel
def blocks(z: Floats, arms: int) -> Floats:
    """Put (1, z) into the block of each arm; the null action has zeros, `(q)->(A+1,A*(q+1))`."""
    width = z.shape[1] + 1
    x = np.zeros((len(z), arms + 1, arms * width))
    for r in range(len(z)):
        for a in range(arms):
            x[r, a + 1, a * width] = 1.0
            for i in range(width - 1):
                x[r, a + 1, a * width + 1 + i] = z[r, i]
    return x


def no_groups(replicas: Ints) -> Ints:
    """Make the groups of cases without any, `->(1,0)`."""
    return np.zeros((len(replicas), 1, 0), np.int64)


class Cases:
    """A world of independent cases.

    Args:
        steps: the number of steps.
        luck: the random numbers of all steps.
        case: the context of a step.
        mean: the true means of plays by the features of all candidates, `(A,n),(P)->(P,M)`.
        outcomes: the outcomes of a step's decision by their means; by default a coin for each.
        view: what kernels see of all this, None if they see nothing.
    """

    counts_idle_steps = True

    def __init__(
        self,
        steps: int,
        luck: Luck,
        case: Callable[[int], Context],
        mean: Callable[[Floats, Ints], Floats],
        outcomes: Callable[[int, Decision, Floats], Floats] | None = None,
        view: tuple[Any, ...] | None = None,
    ) -> None:
        self._view = view
        self.steps, self._luck, self._case, self._mean_of, self._outcomes = steps, luck, case, mean, outcomes
        self._latest: tuple[Context, Ints, Floats] | None = None  # the means that `expected` reuses

    def context(self, step: int) -> Context:
        return self._case(step)

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, Sequence[Arrival]]:
        mean = self._mean_of(context.features, decision.plays)
        self._latest = context, decision.plays, mean
        if self._outcomes is not None:
            return decision, [Arrival(step, decision, self._outcomes(step, decision, mean))]
        u = self._luck.uniform(Stream.OUTCOME, np.array([step]), mean.shape[2])
        return decision, [Arrival(step, decision, coins(mean, u))]

    def expected(self, context: Context, plays: Ints) -> Floats:
        if self._latest is not None and context is self._latest[0] and plays is self._latest[1]:
            return self._latest[2]
        return self._mean_of(context.features, plays)

    def view(self) -> tuple[Any, ...] | None:
        return self._view
