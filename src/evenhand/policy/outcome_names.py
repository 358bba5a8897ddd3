"""Conversion of outcomes by name to the arrays that a policy learns from, and errors about impossible ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Decision
from evenhand.core.registry import suggestion
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import LARGEST, number
from evenhand.problem.problem import Problem

_PLAIN = frozenset((float, int))
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
                raise InvalidInput("outcomes", f"one of {list(names)}", f"{name!r}{suggestion(name, names)}")
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


def usual(problem: Problem, plays: int, said: object) -> Floats | None:
    """Return the outcomes of one play, all of which were observed, `->(1,M+B)`; None where `outcomes` has to look.

    >>> from evenhand.problem import Outcome
    >>> router = Problem(actions=("a", "b"), outcomes=(Outcome("good"), Outcome("late")), maximize="good", horizon=9)
    >>> usual(router, 1, {"good": 1.0, "late": 0.5}), usual(router, 1, {"good": 1.0, "late": None})
    (array([[[1. , 0.5]]]), None)
    """
    if type(said) is not dict or plays != 1 or len(said) != len(problem.observed):
        return None
    values: list[Any] = [said.get(name) for name in problem.observed]
    if not _PLAIN.issuperset(map(type, values)):
        return None
    try:
        return np.array(values, float).reshape(1, 1, -1) if all(map(math.isfinite, values)) else None
    except OverflowError:
        return None


def wrong_outcome(
    r: int,
    m: int,
    y: Floats,
    observed: Bools | None,
    exposed: Bools | None,
    d: Decision,
    arriving: Ints,
    problem: Problem,
) -> InvalidInput:
    """Return the error of an observed outcome that is not as declared, or that is impossible for its play.

    `arriving` has the plays whose outcomes arrive, -1 at all other places, `(P)`.
    """
    whose, got = f" of replica {r}" if len(y) > 1 else "", y[r, :, m] if y.shape[1] > 1 else y[r, 0, m]
    place, later = f"outcome {problem.observed[m]!r}{whose}", m - len(problem.learned)
    empty = d.plays[r] < 0
    if exposed is not None and (later < 0 or not problem.sure[later]):
        empty = empty | ~exposed[r]
    if observed is not None:
        empty = empty & observed[r, :, m]
    elsewhere = (d.plays[r] >= 0) & (arriving[r] < 0)
    if (elsewhere & (np.abs(y[r, :, m]) > 0.0)).any():
        return InvalidInput(place, "0 or NaN where a play is pending or was settled before", got)
    if (empty & (np.abs(y[r, :, m]) > 0.0)).any():
        return InvalidInput(place, "0 or NaN where nothing was played or a play was not exposed", got)
    return _range_error(place, m, got, problem, arriving[r])


def wrong_lesson(y: Floats, observed: Bools, action: int, problem: Problem) -> InvalidInput | None:
    """Return the error of an outcome of an action that others played, if it is not as declared, `(M+B),(M+B)->`."""
    low, high = problem.span_by_action[:, action if problem.span_by_action.shape[1] > 1 else 0]
    inside = (y >= low) & (y <= high) & (np.abs(y) <= LARGEST)
    wrong = np.flatnonzero(observed & ~inside)
    if not len(wrong):
        return None
    m = int(wrong[0])
    return _range_error(f"outcome {problem.observed[m]!r}", m, y[m], problem, np.array([action]))


def refuse_undeclared(y: Floats, observed: Bools, problem: Problem) -> None:
    """Refuse outcomes out of their declared ranges, for any plays, `(1,P,M+B),(1,P,M+B)->`.

    Raises:
        InvalidInput: names the first of them.
    """
    low, high = problem.span
    for p, m in np.argwhere(observed[0] & ~((y[0] >= low) & (y[0] <= high))).tolist():
        raise _range_error(f"outcome {problem.observed[m]!r}", m, y[0, p, m], problem, np.zeros(0, np.int64))


def _range_error(place: str, m: int, got: object, problem: Problem, plays: Ints) -> InvalidInput:
    outcome = next(o for o in problem.outcomes if o.name == problem.observed[m])
    played = [problem.actions[a] for a in np.unique(plays[plays >= 0]).tolist()] if outcome.ranges_by_action else []
    ranges = [f"{_range(*outcome.ends(a))} under {a!r}" for a in played if not outcome.is_free(a)]
    expected = f"a finite number in {', '.join(ranges) or _range(*outcome.widest)} (as declared)"
    free = tuple(a for a, is_free in zip(problem.actions, problem.free[:, m], strict=True) if is_free)
    if free:
        expected += f", 0 under {free}"
    if outcome.times is not None:
        expected += f": the outcome itself, which is multiplied by {outcome.times!r} afterwards"
    return InvalidInput(place, expected, got)


def _range(low: float, high: float) -> str:
    return f"[{max(low, -LARGEST):g}, {min(high, LARGEST):g}]"
