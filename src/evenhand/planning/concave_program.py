"""The fluid problem with a concave objective: small linear programs mix policies, and prices find the next one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.types import Floats
from evenhand.objectives.base import Objective
from evenhand.planning.mixing import Best, Found, Within, mixed
from evenhand.planning.program import Sample, best_plays, largest, solve


class Truth(NamedTuple):
    """Sampled contexts, with the expected outcomes and constraint rows of all candidates."""

    outcomes: Floats  # (S, A, m) expected outcomes of every candidate that the objective reads
    rows: Floats  # (S, A, d) expected constraint rows
    offered: Floats  # (S, A) 1 where a candidate may be played
    n_plays: int = 1  # in every context, or all offered candidates if they are fewer
    followed: tuple[Floats, ...] = ()  # (S, A, m') each: expected outcomes that a convex set is about
    labels: tuple[str, ...] = ()  # of the rows, for messages


def maximize(
    objective: Objective,
    truth: Truth,
    limit: Floats,
    start: Floats,
    sets: tuple[Within, ...] = (),
    *,
    tolerance: float = 1e-6,
) -> Best:
    """max f(z) over the averages z that static policies within the limits can reach, by HiGHS, `(d),(m)->`.

    Equation: that of `mixed`, where the best policy at prices is argmax_a q.y - lam.c in every context.

    Args:
        objective: f; only its values and supergradients are used.
        truth: the sample, `(S,A,m),(S,A,d),(S,A)`.
        limit: upper bounds on the averages of rows.
        start: a point in the domain of f.
        sets: one per array in `truth.followed`.
        tolerance: of the gap, per unit of what a round can add to f by its slope at the start; units do not matter.

    Raises:
        InfeasibleProblem: no static policy keeps to the limits and sets on this sample; names the sets that have a
            price.
        InvalidInput: a start outside the domain, or a gap that stays above the tolerance.

    >>> from evenhand.objectives import GeneralizedGini
    >>> outcomes = np.array([[[1.0, 0.0], [0.0, 0.5]]])  # one context, two candidates that serve one outcome each
    >>> truth = Truth(outcomes, np.zeros((1, 2, 0)), np.ones((1, 2)))
    >>> maximize(GeneralizedGini(("a", "b"), (1.0, 0.0)), truth, np.zeros(0), np.zeros(2)).end.round(3)
    array([0.333, 0.333])
    """
    units = largest(truth.rows.transpose(2, 0, 1).reshape(len(limit), truth.offered.size))
    contexts = _Contexts(truth._replace(rows=truth.rows / units), limit / units)
    found = mixed(objective, contexts, limit / units, start, sets, tolerance=tolerance).best
    return found._replace(prices=found.prices / units)


class _Contexts:
    """Finds the best policies of sampled contexts."""

    def __init__(self, truth: Truth, limit: Floats) -> None:
        self.truth, self.limit, self.labels, self.rows = truth, limit, truth.labels, len(truth.outcomes)
        self.most = np.abs(truth.outcomes).max((0, 1))
        self.size = max((float(np.abs(w).max()) for w in truth.followed), default=1.0) or 1.0

    def first(self, slope: Floats) -> Found:
        t = self.truth
        sample = Sample(t.outcomes @ slope, t.rows, t.offered, t.n_plays, t.labels)
        return self._policy(solve(sample, self.limit).lottery)

    def best(self, q: Floats, lam: Floats, tilts: list[Floats]) -> tuple[Found, float]:
        worth = self.truth.outcomes @ q - self.truth.rows @ lam
        for outcomes, tilt in zip(self.truth.followed, tilts, strict=True):
            worth -= outcomes @ tilt
        worth = np.where(self.truth.offered > 0, worth, -np.inf)
        pure = best_plays(worth, self.truth.n_plays)
        return self._policy(pure), float(np.where(pure > 0, worth, 0.0).sum(1).mean())

    def _policy(self, lottery: Floats) -> Found:
        each = (self.truth.outcomes, self.truth.rows, *self.truth.followed)
        y, c, *w = (np.einsum("sa,sai->i", lottery, z) / len(lottery) for z in each)
        return Found(y, c, tuple(w))
