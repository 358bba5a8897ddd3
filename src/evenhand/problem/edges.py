"""Whether a case states known numbers with which an objective may leave its domain, although declared ones cannot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools, Floats
from evenhand.objectives.base import Objective, whole_space
from evenhand.problem.declared import Declared
from evenhand.problem.factors import Factors


@dataclass(frozen=True, kw_only=True, eq=False)
class Edges:
    """The least and the most that a play adds to every coordinate of an objective, as declared.

    A case may state other known outcomes than the problem declares. What it adds beyond the declared ends is refused
    where the objective has no supergradient at such an average: no later decision could be made at one.

    Args:
        objective: whose domain has an edge.
        names: of all outcomes, the learned ones first.
        at: of each coordinate, its outcome.
        known: names of known outcomes.
        factors: of learned outcomes, None where none has any.
        span: ends of learned outcomes, `(2,M)`.
        declared: known outcomes, `(A,L)`.
    """

    objective: Objective
    names: tuple[str, ...]
    at: tuple[int, ...]
    known: tuple[str, ...]
    factors: Factors | None
    span: Floats
    declared: Floats

    def check(self, known: Floats, offered: Bools) -> None:
        """Refuse a case, `(1|R,A,L),(1|R,A)->`.

        Raises:
            InvalidInput: naming the number that it states.
        """
        low, high = self._declared
        known = np.broadcast_to(known, (max(len(known), len(offered)), *known.shape[1:]))
        for i, outcome in enumerate(self.at):
            if self._column(outcome) < 0:
                continue  # nothing that a case states
            for found, end, sign in zip(self._ends(known, outcome), (low[i], high[i]), (1.0, -1.0), strict=True):
                beyond = np.where(offered, sign * (end - found), 0.0)
                if (beyond > 0.0).any():
                    r, a = (int(k) for k in np.unravel_index(beyond.argmax(), beyond.shape))
                    self._refuse(i, float(end), float(found[r, a]), known, (r, a))

    @cached_property
    def matter(self) -> bool:
        """Whether anything that a case states counts."""
        return any(self._column(outcome) >= 0 for outcome in self.at)

    def _refuse(self, i: int, end: float, found: float, known: Floats, place: tuple[int, int]) -> None:
        z = 0.5 * (self._declared[0] + self._declared[1])
        try:
            self.objective.check(z, "the middle")
        except InvalidInput:
            return  # which says nothing of the coordinate
        z[i] = found
        try:
            self.objective.check(z, "a play")
        except InvalidInput as error:
            column = self._column(self.at[i])
            name, of = self.known[column], self.names[self.at[i]]
            side = "at least" if found < end else "at most"
            expected = f"a {name!r} with which {of!r} is {side} {end:g} in every play, as declared: {error.expected}"
            raise InvalidInput(f"context.known{[*place, column]}", expected, known[(*place, column)]) from None

    def _ends(self, known: Floats, outcome: int) -> tuple[Floats, Floats]:
        """The least and the most that every candidate adds, `(R,A,L)->(R,A),(R,A)`."""
        n = len(self.span[0])
        if outcome >= n:
            f = known[..., outcome - n]
            return f, f
        f = np.ones(known.shape[:2]) if self.factors is None else self.factors.of(known)[..., outcome]
        ends = f * self.span[0, outcome], f * self.span[1, outcome]
        return np.minimum(*ends), np.maximum(*ends)

    def _column(self, outcome: int) -> int:
        """The known outcome on which an amount depends, -1 where there is none."""
        n = len(self.span[0])
        if outcome >= n:
            return outcome - n
        return -1 if self.factors is None else int(self.factors.times[outcome])

    @cached_property
    def _declared(self) -> tuple[Floats, Floats]:
        """The ends of every coordinate as declared; a play that is not made adds 0, `->(m),(m)`."""
        ends = [self._ends(self.declared[None], outcome) for outcome in self.at]
        low = np.array([min(0.0, float(a.min())) for a, _ in ends])
        return low, np.array([max(0.0, float(b.max())) for _, b in ends])


def edges_of(problem: Declared) -> Edges | None:
    """What a case of a problem may state so that its objective stays in its domain, None where any number will do."""
    objective = problem.objective
    if whole_space(objective):
        return None
    found = Edges(
        objective=objective,
        names=problem.names,
        at=tuple(problem.row(name)[0] for name in objective.outcomes),
        known=problem.known,
        factors=problem.factors,
        span=problem.span[:, : len(problem.learned)],
        declared=problem.declared,
    )
    return found if found.matter else None
