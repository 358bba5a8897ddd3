"""The lines of a summary on constraints: credits, which are promised at any time, and sums per span of time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evenhand.core.types import Floats
from evenhand.policy.standings import floors, name
from evenhand.problem.constraints import Stated
from evenhand.problem.constraints.outlook import missed
from evenhand.problem.problem import Problem
from evenhand.report.summary import Line


def with_credit(problem: Problem, left: Floats | None) -> list[tuple[Stated, Floats]]:
    """Return the constraints whose credit was kept, with what was left of it in each replica, `(R,k)->(R)` each."""
    if left is None:
        return []
    stated = [s for s in problem.stated if s.credit is not None]
    return [(s, one) for s, one in zip(stated, left.T, strict=True) if not np.isnan(one).any()]


def credits_of(problem: Problem, left: Floats | None) -> Iterator[Line]:
    """Yield a line per credit, which counts as missed if it was overdrawn in any replica, `(R,k)->`."""
    for s, one in with_credit(problem, left):
        line = Line.of(f"credit of {s.constraint.label}", one, worst="low", limit=0.0)
        size = 1.0 if s.credit is None else max(s.credit.slack, 1.0)
        yield line._replace(missed=missed(line.worst, 0.0, "low", size=size))


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
