"""Sums of the outcomes that arrived, of everybody and by group: what a status reads."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.numerics.exact_sums import put
from evenhand.problem.problem import Problem


def start(problem: Problem, n_replicas: int) -> Floats:
    """Nothing arrived yet, `->(1+C,2+3S)`.

    The first of these rows is of everybody, and the others of the C groups. A row has the number of rounds (the first
    alone), the number of plays, the sums of the S outcomes, the number of plays in which each was observed, and what
    rounding took from the sums.
    """
    return np.zeros((n_replicas, 1 + len(problem.columns), 2 + 3 * len(problem.names)))


@kernel
def add(
    plays: Ints, share: Floats, groups: Ints, learned: Floats, known: Floats, missing: Bools, books: Floats
) -> None:
    """Add the plays that arrive, in place, `(P),(),(1|P,G),(P,M),(P,L),(P,M+L)|empty,(1+C,2+3S)`.

    Learned outcomes are amounts: times their factors.
    """
    m, size = learned.shape[2], learned.shape[2] + known.shape[2]
    for r in range(len(plays)):
        if share[r] == 0.0:
            continue
        book = books[r]
        book[0, 0] += share[r]
        for p in range(plays.shape[1]):
            if plays[r, p] < 0:
                continue
            place = p if groups.shape[1] > 1 else 0
            for row in range(-1, groups.shape[2]):
                line = 1 + groups[r, place, row] if row >= 0 else 0
                book[line, 1] += 1.0
                for i in range(size):
                    put(
                        book[:, 2:], book[:, 2 + 2 * size :], line, i, learned[r, p, i] if i < m else known[r, p, i - m]
                    )
                    if len(missing) == 0 or not missing[r, p, i]:
                        book[line, 2 + size + i] += 1.0


@dataclass(frozen=True, kw_only=True)
class SoFar:
    """One replica's sums, as constraints read them (`problem.constraints.sums.Sums`)."""

    problem: Problem
    books: Floats  # (1+C, 2+3S)
    cases: Floats  # (C,) rounds by group
    rounds: float  # that were decided

    @property
    def elapsed(self) -> Floats:
        """Rounds that arrived, `->(1,1)`."""
        return self.books[:1, :1]

    @property
    def totals(self) -> Floats:
        """Sums of the outcomes, `->(1,1,M+L)`."""
        return self.books[None, :1, 2 : 2 + self._size]

    @property
    def group_totals(self) -> Floats:
        """Sums by group, `->(1,1,C,M+L)`."""
        return self.books[None, None, 1:, 2 : 2 + self._size]

    @property
    def group_rounds(self) -> Floats:
        """Rounds by group, `->(1,1,C)`."""
        return self.cases[None, None]

    @property
    def observed(self) -> Floats:
        """The number of plays in which each outcome was observed, `->(M+L)`."""
        return self.books[0, 2 + self._size : 2 + 2 * self._size]

    def filled(self) -> SoFar:
        """The same, with outcomes that were not observed at their averages, in every group its own, in place of 0."""
        size, filled = self._size, self.books.copy()
        made, seen = self.books[:, 1:2], self.books[:, 2 + size : 2 + 2 * size]
        filled[:, 2 : 2 + size] *= np.divide(made, seen, out=np.ones(seen.shape), where=seen > 0.0)
        return replace(self, books=filled)

    @property
    def _size(self) -> int:
        return len(self.problem.names)
