"""Checks of known numbers in a case with which an objective would leave its domain, although declared ones cannot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools, Floats
from evenhand.objectives.base import whole_space
from evenhand.problem.declared import Declared


@dataclass(frozen=True, eq=False)
class Edges:
    """The least and the most that a play adds to every coordinate of an objective, as declared.

    A case may state known outcomes other than those that the problem declares. Numbers beyond the declared ends are
    refused where the objective has no supergradient at such an average: no later decision could be made at one.
    """

    problem: Declared

    def check(self, known: Floats, offered: Bools) -> None:
        """Refuse a case that states a number outside these ends, `(1|R,A,L),(1|R,A)->`."""
        known = np.broadcast_to(known, (max(len(known), len(offered)), *known.shape[1:]))
        for outcome, coordinates in self._coordinates.items():
            if self._column(outcome) < 0:
                continue  # nothing that a case states
            declared = (end[coordinates[0]] for end in self._declared)
            for found, end, sign in zip(self._ends(known, outcome), declared, (1.0, -1.0), strict=True):
                beyond = np.where(offered, sign * (end - found), 0.0)
                if (beyond > 0.0).any():
                    r, a = (int(k) for k in np.unravel_index(beyond.argmax(), beyond.shape))
                    for i in coordinates:
                        self._refuse(i, float(end), float(found[r, a]), known, (r, a))

    @cached_property
    def matter(self) -> bool:
        return any(self._column(outcome) >= 0 for outcome in self._at)

    def _refuse(self, i: int, end: float, found: float, known: Floats, place: tuple[int, int]) -> None:
        z = 0.5 * (self._declared[0] + self._declared[1])
        try:
            self.problem.objective.check(z, "the middle")
        except InvalidInput:
            return  # which says nothing of the coordinate
        z[i] = found
        try:
            self.problem.objective.check(z, "a play")
        except InvalidInput as error:
            column = self._column(self._at[i])
            name, of = self.problem.known[column], self.problem.names[self._at[i]]
            side = "at least" if found < end else "at most"
            expected = f"a {name!r} with which {of!r} is {side} {end:g} in every play, as declared: {error.expected}"
            raise InvalidInput(f"context.known{[*place, column]}", expected, known[(*place, column)]) from None

    def _ends(self, known: Floats, outcome: int) -> tuple[Floats, Floats]:
        """The least and the most that every candidate adds, `(R,A,L)->(R,A),(R,A)`."""
        n = len(self.problem.learned)
        if outcome >= n:
            f = known[..., outcome - n]
            return f, f
        f = np.ones(known.shape[:2]) if self.problem.factors is None else self.problem.factors.of(known)[..., outcome]
        ends = f * self.problem.span[0, outcome], f * self.problem.span[1, outcome]
        return np.minimum(*ends), np.maximum(*ends)

    def _column(self, outcome: int) -> int:
        """The known outcome on which an amount depends, -1 where there is none."""
        n = len(self.problem.learned)
        if outcome >= n:
            return outcome - n
        return -1 if self.problem.factors is None else int(self.problem.factors.times[outcome])

    @cached_property
    def _at(self) -> tuple[int, ...]:
        """The outcome of each coordinate."""
        return tuple(self.problem.row(name)[0] for name in self.problem.objective.outcomes)

    @cached_property
    def _coordinates(self) -> dict[int, list[int]]:
        """The coordinates by their outcome: those of all items of a ranking have one, and are read together."""
        found: dict[int, list[int]] = {}
        for i, outcome in enumerate(self._at):
            found.setdefault(outcome, []).append(i)
        return found

    @cached_property
    def _declared(self) -> tuple[Floats, Floats]:
        """The ends of every coordinate as declared; a play that is not made adds 0, `->(m),(m)`."""
        ends = [self._ends(self.problem.declared[None], outcome) for outcome in self._at]
        low = np.array([min(0.0, float(a.min())) for a, _ in ends])
        return low, np.array([max(0.0, float(b.max())) for _, b in ends])


def edges_of(problem: Declared) -> Edges | None:
    """Return the check of a problem's cases; None if its objective is defined for any number."""
    if whole_space(problem.objective):
        return None
    found = Edges(problem)
    return found if found.matter else None
