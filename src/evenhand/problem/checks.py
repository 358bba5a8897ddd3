"""Checks of a problem: names are used once and known wherever they are used; known numbers fit the objective."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import suggestion
from evenhand.core.types import Bools, Floats
from evenhand.objectives.base import whole_space
from evenhand.problem.actions import check_withdrawn
from evenhand.problem.constraints.base import Constraint, missing_members
from evenhand.problem.constraints.statements import States
from evenhand.problem.declarations import Declarations
from evenhand.problem.descriptions import Actions, check_described
from evenhand.problem.factors import check_factors
from evenhand.problem.features import Feature
from evenhand.problem.groups import some
from evenhand.problem.measures import COLUMNS, Measure
from evenhand.problem.outcome import Outcome


class Whole(States, Protocol):
    """A complete problem."""

    @property
    def outcomes(self) -> tuple[Outcome, ...]: ...

    @property
    def features(self) -> tuple[Feature, ...]: ...

    @property
    def withdrawn(self) -> tuple[str, ...]: ...

    @property
    def described(self) -> Actions | None: ...

    @property
    def measures(self) -> tuple[Measure, ...]: ...

    @property
    def subject_to(self) -> tuple[Constraint, ...]: ...


def check_names(problem: Whole) -> None:
    """Refuse a problem whose parts do not fit each other, as stated by `Problem`."""
    names, actions = [o.name for o in problem.outcomes], set(problem.actions)
    measures = [*names, *(m.name for m in problem.measures)]
    groups, features = [g.name for g in problem.groups], [f.name for f in problem.features]
    stated = {"outcomes": names, "features": features, "groups": groups, "measures": measures}
    for field, used in {"actions": problem.actions, **stated}.items():
        if len(set(used)) < len(used):
            raise InvalidInput(field, "names that differ from each other", list(used))
    for g in problem.groups:
        for f in (f for f in problem.features if f.name == g.name and g.of is None):
            for group in g.names:
                _check_shared(f, group)
    for m in problem.measures:
        if not isinstance(m.name, str) or not m.name or m.name in COLUMNS:
            raise InvalidInput("measures", f"a name that is none of {sorted(COLUMNS)}", repr(m.name))
        m.on(problem)  # this raises if it does not fit
    for o in problem.outcomes:
        fields = {"known": o.known, "mean": o.mean, "free": o.free, "low": o.low, "high": o.high}
        for field, mentioned in fields.items():
            for action in mentioned if isinstance(mentioned, Mapping | tuple | list) else ():
                if action not in actions:
                    got = f"{action}{suggestion(action, problem.actions)}"
                    raise InvalidInput(f"Outcome({o.name!r}).{field}", f"one of the actions {problem.actions}", got)
        free = [a for a in problem.actions if o.is_free(a)]
        low, high = o.widest
        if free and not low <= 0 <= high:
            expected = f"a mean for every action, as 0 is outside the range [{low:g}, {high:g}]"
            raise InvalidInput(f"Outcome({o.name!r}).mean", expected, f"none for {some(free)}")
        for field, ends in (("low", o.low), ("high", o.high)):
            missing = [a for a in problem.actions if isinstance(ends, Mapping) and a not in ends and a not in free]
            if missing:
                expected = "an end for every action that is not free"
                raise InvalidInput(f"Outcome({o.name!r}).{field}", expected, f"none for {some(missing)}")
    check_withdrawn(problem)
    check_described(problem)
    check_factors(problem.outcomes, problem.actions)
    for g in problem.groups:
        if g.of is not None and set(g.of) != set(problem.actions):
            missing = sorted(set(problem.actions) ^ set(g.of))
            raise InvalidInput(f"Groups({g.name!r}).of", "a group for every action, and no other", some(missing))
    for name in problem.objective.outcomes:
        problem.row(name, "maximize")
    for c in problem.subject_to:
        if missing_members(c):
            expected = "all members of `Curved`, as it has `curved`"
            raise InvalidInput(type(c).__name__, expected, f"none named {', '.join(missing_members(c))}")
    for s in problem.stated:  # these raise if a name is unknown
        c, rows, bound = s.constraint, s.rows, s.bound
        if bound.shape != (len(rows),) or not np.isfinite(bound).all():
            raise InvalidInput(f"{type(c).__name__}.bound", f"{len(rows)} finite numbers, one per row", bound)
        if c.hard and not c.spends:
            raise InvalidInput(f"{type(c).__name__}.hard", "False or None, as nothing is spent", c.hard)


def _check_shared(feature: Feature, group: str) -> None:
    """Refuse a feature that has the name of a grouping and cannot have one of its groups as a value."""
    try:
        feature.encode(group)
    except InvalidInput as error:
        expected = f"a name other than that of a grouping, as no case can be in group {group!r}"
        raise InvalidInput(f"features: {feature.name!r}", expected, f"a feature of {error.expected}") from None


@dataclass(frozen=True, eq=False)
class Edges:
    """The least and the most that a play adds to every coordinate of an objective, as declared.

    A case may state known outcomes other than those that the problem declares. Numbers beyond the declared ends are
    refused where the objective has no supergradient at such an average: no later decision could be made at one.
    """

    problem: Declarations

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


def edges_of(problem: Declarations) -> Edges | None:
    """Return the check of a problem's cases; None if its objective is defined for any number."""
    if whole_space(problem.objective):
        return None
    found = Edges(problem)
    return found if found.matter else None
