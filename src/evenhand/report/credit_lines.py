"""The lines of a summary on credits: what constraints promise at any time, beside the ratio that plans keep."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evenhand.core.types import Floats
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
