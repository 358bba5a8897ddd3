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
    return _undeclared(place, m, got, problem, arriving[r])


def wrong_lesson(y: Floats, observed: Bools, action: int, problem: Problem) -> InvalidInput | None:
    """Return the error of an outcome of an action that others played, if it is not as declared, `(M+B),(M+B)->`."""
    low, high = problem.span_by_action[:, action if problem.span_by_action.shape[1] > 1 else 0]
    inside = (y >= low) & (y <= high) & (np.abs(y) <= LARGEST)
    wrong = np.flatnonzero(observed & ~inside)
    if not len(wrong):
        return None
    m = int(wrong[0])
    return _undeclared(f"outcome {problem.observed[m]!r}", m, y[m], problem, np.array([action]))


def refuse_undeclared(y: Floats, observed: Bools, problem: Problem) -> None:
    """Refuse outcomes out of their declared ranges, whatever was played, `(1,P,M+B),(1,P,M+B)->`.

    Raises:
        InvalidInput: names the first of them.
    """
    low, high = problem.span
    for p, m in np.argwhere(observed[0] & ~((y[0] >= low) & (y[0] <= high))).tolist():
        raise _undeclared(f"outcome {problem.observed[m]!r}", m, y[0, p, m], problem, np.zeros(0, np.int64))


def _undeclared(place: str, m: int, got: object, problem: Problem, plays: Ints) -> InvalidInput:
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
