"""The error of an outcome that cannot be right."""

from __future__ import annotations

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import LARGEST
from evenhand.problem.problem import Problem


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
    return _undeclared(place, m, got, problem)


def wrong_lesson(y: Floats, observed: Bools, action: int, problem: Problem) -> InvalidInput | None:
    """Return the error of an outcome of an action that others played, if it is not as declared, `(M+B),(M+B)->`."""
    (low, high), free = problem.span, problem.free[action]
    inside = (y >= low) & (y <= high) & (np.abs(y) <= LARGEST) & ~(free & (y != 0.0))
    wrong = np.flatnonzero(observed & ~inside)
    if not len(wrong):
        return None
    m = int(wrong[0])
    return _undeclared(f"outcome {problem.observed[m]!r}", m, y[m], problem)


def refuse_undeclared(y: Floats, observed: Bools, problem: Problem) -> None:
    """Refuse outcomes out of their declared ranges, whatever was played, `(1,P,M+B),(1,P,M+B)->`.

    Raises:
        InvalidInput: names the first of them.
    """
    low, high = problem.span
    for p, m in np.argwhere(observed[0] & ~((y[0] >= low) & (y[0] <= high))).tolist():
        raise _undeclared(f"outcome {problem.observed[m]!r}", m, y[0, p, m], problem)


def _undeclared(place: str, m: int, got: object, problem: Problem) -> InvalidInput:
    low, high = max(problem.span[0, m], -LARGEST), min(problem.span[1, m], LARGEST)
    expected = f"a finite number in [{low:g}, {high:g}] (as declared)"
    free = tuple(a for a, is_free in zip(problem.actions, problem.free[:, m], strict=True) if is_free)
    if free:
        expected += f", 0 under {free}"
    factor = next((o.times for o in problem.outcomes if o.name == problem.observed[m]), None)
    if factor is not None:
        expected += f": the outcome itself, which is multiplied by {factor!r} afterwards"
    return InvalidInput(place, expected, got)
