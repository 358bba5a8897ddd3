"""The lines of a summary on floors, parities and ratios per span of time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evenhand.core.types import Floats
from evenhand.policy.floors import floors, name
from evenhand.problem.problem import Problem
from evenhand.report.summary import Line


def spans_of(problem: Problem, by_period: Floats | None) -> Iterator[Line]:
    """Yield a line per constraint with spans: the value in the span of each replica that is furthest beyond its limit.

    Where spans ask for different sums, it is what the sum has beyond its floor, against 0. A mean is missed if it is
    beyond by three standard errors of one span of one replica, as the worst of several spans is beyond its mean.
    """
    for s in problem.stated:
        found = None if by_period is None else floors(problem, s, by_period)
        if found is None:
            continue
        value, asked, error = found.worst(np.ones(found.value.shape, bool))
        alike = bool(np.ptp(found.asked) <= 1e-9 * np.abs(found.asked).max())
        if not alike:
            value = value - asked
        text = name(s) if alike else f"{name(s)}, beyond its floor"
        limit = float(found.asked[0]) if alike else 0.0
        yield Line.of(text, value, worst=s.constraint.worst, limit=limit, error=float(error.mean()))
