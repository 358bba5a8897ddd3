"""Outcomes by name, made into the arrays that a policy learns from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import meant
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import number
from evenhand.problem.problem import Problem

Named: TypeAlias = Mapping[str, float | None]  # an outcome that was not observed is None


def outcomes(problem: Problem, plays: int, said: Named | Sequence[Named | None]) -> tuple[Floats, Bools, Bools]:
    """Return outcomes, and masks of the observed and of the exposed, `->(P,M+B),(P,M+B),(P)` of one replica.

    Raises:
        InvalidInput: not one statement per play, an outcome that is missing, unknown or no number.

    >>> from evenhand.problem import Outcome
    >>> router = Problem(actions=("a", "b"), outcomes=(Outcome("good"), Outcome("late")), maximize="good", horizon=9)
    >>> outcomes(router, 1, {"good": 1, "late": None})
    (array([[[1., 0.]]]), array([[[ True, False]]]), array([[ True]]))
    """
    if isinstance(said, Mapping):
        each: tuple[Named | None, ...] = (said,)
    elif isinstance(said, Sequence) and not isinstance(said, str):
        each = tuple(said)
    else:  # None, too: it could mean that nothing is known yet
        expected = "a mapping from names to numbers, or a sequence of such mappings and None, a place for every play"
        raise InvalidInput("outcomes", f"{expected} (`expire` settles what will never arrive)", repr(said))
    if len(each) != plays:
        raise InvalidInput("outcomes", f"those of {plays} plays, one after the other", f"{len(each)}")
    names = problem.observed
    y, observed = np.zeros((1, plays, len(names))), np.ones((1, plays, len(names)), bool)
    exposed = np.array([[one is not None for one in each]])
    for p, one in enumerate(each):
        if one is None:
            continue
        if not isinstance(one, Mapping):
            raise InvalidInput("outcomes", "a mapping from names to numbers, or None if not exposed", repr(one))
        for name in one:
            if name not in names:
                raise InvalidInput("outcomes", f"one of {list(names)}", f"{name!r}{meant(name, names)}")
        for m, name in enumerate(names):
            if name not in one:
                raise InvalidInput(f"outcomes[{name!r}]", "a number, or None if it was not observed", "nothing")
            value = one[name]
            if value is None:
                observed[0, p, m] = False
            elif isinstance(value, np.bool_):
                y[0, p, m] = float(value)
            else:
                y[0, p, m] = number(f"outcomes[{name!r}]", value, "a finite number, or None if it was not observed")
    return y, observed, exposed
