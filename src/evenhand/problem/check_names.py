"""Checks that the parts of a problem fit each other: names are used once, and known wherever they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import meant
from evenhand.problem.constraints.base import Constraint, missing_members
from evenhand.problem.constraints.stated import States
from evenhand.problem.factors import check_factors
from evenhand.problem.features import Feature
from evenhand.problem.groups import some
from evenhand.problem.measures import COLUMNS, Measure
from evenhand.problem.outcome import Outcome
from evenhand.problem.withdrawn import check_withdrawn


class Whole(States, Protocol):
    """A complete problem."""

    @property
    def outcomes(self) -> tuple[Outcome, ...]: ...

    @property
    def features(self) -> tuple[Feature, ...]: ...

    @property
    def withdrawn(self) -> tuple[str, ...]: ...

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
                    got = f"{action}{meant(action, problem.actions)}"
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
