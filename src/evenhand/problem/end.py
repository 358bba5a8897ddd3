"""The end of a run: after its rounds, or after the time that it states."""

from __future__ import annotations

from typing import Literal

from evenhand.problem.problem import Problem

After = Literal["nothing", "stop", "go on"]  # nothing is played, nothing is decided, or decisions go on
AFTERS: tuple[After, ...] = ("nothing", "stop", "go on")


def is_over(problem: Problem, rounds: float, time: float | None) -> bool:
    """Return whether a run is over; more rounds than a forecast expected are not after its end.

    Args:
        problem: states the horizon or the end.
        rounds: that were decided and count, at least 0.
        time: of the case, in units of the problem's clock; None if the run has no end in time.

    >>> from evenhand.problem import Outcome
    >>> two = Problem(actions=("a", "b"), outcomes=(Outcome("gain"),), maximize="gain", horizon=2)
    >>> is_over(two, 1.0, None), is_over(two, 2.0, None)
    (False, True)
    """
    return rounds >= problem.last_round or past(problem, time)


def past(problem: Problem, time: float | None) -> bool:
    """Return whether a time is after the end that a run states."""
    return problem.until is not None and time is not None and time >= problem.clock.last
