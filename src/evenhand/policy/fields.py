"""The fields of a case by name, each read and checked on its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from evenhand.core.checked import shown
from evenhand.core.errors import InvalidInput
from evenhand.core.registry import meant
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import number
from evenhand.problem.clock import Time
from evenhand.problem.problem import Problem

BOOLEANS = frozenset((bool, np.bool_))


class StatedCase(NamedTuple):
    """A case, and what is stated with it; see `Policy.encode`."""

    case: Mapping[str, object]
    offered: Collection[str] | None = None
    known: Mapping[str, Mapping[str, float] | float] | None = None
    time: Time | None = None

    @property
    def is_doubtful(self) -> bool:
        """Whether it has true or false, or an action offered twice, which logs may have and requests may not."""
        has_booleans = isinstance(self.case, Mapping) and not BOOLEANS.isdisjoint(map(type, self.case.values()))
        return has_booleans or is_twice(self.offered)


def offered_of(problem: Problem, offered: Collection[str] | None) -> Bools:
    """Mark the actions that may be played, all by default, `->(1,A)`."""
    if offered is None:
        return np.ones((1, len(problem.actions)), bool)
    if isinstance(offered, str) or not isinstance(offered, Iterable):
        raise InvalidInput("offered", "a collection of actions", repr(offered))
    offered = tuple(offered)
    for action in offered:
        _check_action(problem, "offered", action)
    return np.array([[action in offered for action in problem.actions]])


def is_twice(offered: object) -> bool:
    """Return whether an action is offered twice."""
    return isinstance(offered, tuple | list) and len({str(action) for action in offered}) < len(offered)


def refuse_twice(offered: object) -> None:
    """Refuse an action that is offered twice."""
    if isinstance(offered, tuple | list) and is_twice(offered):
        names = [str(action) for action in offered]
        expected = "a collection of different actions"
        raise InvalidInput("offered", expected, f"{next(z for z in names if names.count(z) > 1)!r} twice")


def refuse_boolean(name: str, value: object) -> None:
    """Refuse true or false where a case states a number.

    >>> refuse_boolean("age", True)
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: age: expected a finite number, such as 1 for true and 0 for false, got True
    """
    if type(value) in BOOLEANS:
        raise InvalidInput(name, "a finite number, such as 1 for true and 0 for false", value)


def known_of(
    problem: Problem, known: Mapping[str, Mapping[str, float] | float] | None, plain: Floats | None = None
) -> Floats:
    """Return a case's known outcomes, as declared or as in `plain`, unless it states others, `(1,A,L)->(1,A,L)`."""
    z = (problem.declared[None] if plain is None else plain).copy()
    if known is not None and not isinstance(known, Mapping):
        raise InvalidInput("known", "a mapping from outcomes to numbers", shown(known))
    for name, values in (known or {}).items():
        if name not in problem.known:
            expected = f"one of the known outcomes {list(problem.known)}"
            raise InvalidInput("known", expected, f"{name!r}{meant(name, problem.known)}")
        column = problem.known.index(name)
        each = values if isinstance(values, Mapping) else dict.fromkeys(problem.actions, values)
        for action, value in each.items():
            _check_action(problem, f"known: {name}", action)
            z[0, problem.actions.index(action), column] = number(f"known: {name}", value, "a finite number")
    return z


def group_of(problem: Problem, grouping: str, value: object) -> int:
    """Return the column of a group of cases."""
    names = next(g.names for g in problem.groups if g.name == grouping)
    if not isinstance(value, str) or value not in names:
        raise InvalidInput(grouping, f"one of {names}", f"{value!r}{meant(value, names)}")
    return problem.columns.index((grouping, value))


def _check_action(problem: Problem, field: str, action: object) -> None:
    if action not in problem.actions:
        guess = meant(action, problem.actions)
        raise InvalidInput(field, f"one of the actions {problem.actions}", f"{action!r}{guess}")


def value_of(case: Mapping[str, object], name: str) -> object:
    """Return what a case states under a name; refuse one that states nothing."""
    try:
        return case[name]
    except KeyError:
        raise InvalidInput(name, "a value, as the problem names it", "none") from None
