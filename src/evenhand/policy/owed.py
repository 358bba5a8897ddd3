"""What floors per span of time still ask for at a time: the span that owes most per future case."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.faces import amount
from evenhand.core.types import Floats
from evenhand.planning.pace import margins, to_come
from evenhand.policy.floors import floors
from evenhand.problem.constraints import Stated
from evenhand.problem.problem import Problem


class Owed(NamedTuple):
    """Of the spans of a floor that contain a time, the one that owes most per future case."""

    name: str
    span: str
    floor: float
    value: float  # so far; of groups the least sum divided by the share
    cases: float  # that are forecast for the rest of the span
    among: int  # spans that contain the time

    @property
    def said(self) -> str:
        """The amount owed, in words."""
        of = f"{self.name}: {amount(self.value)} of {amount(self.floor)} reached from {self.span}"
        left = self.floor - self.value
        owed = f"{amount(left)} owed in about {self.cases:,.0f} future cases" if left > 0.0 else "nothing owed"
        return f"{of}, {owed}{f', the most of {self.among} spans' if self.among > 1 else ''}"


def owed(problem: Problem, stated: Stated, table: Floats, time: float) -> Owed | None:
    """Return what a floor requires at a time, by a replica's table by period, `(P,1+C,W)`.

    None if the constraint has no floor per span, or no span contains the time.
    """
    spans = stated.spans
    found = floors(problem, stated, table[None]) if spans is not None and spans.floors else None
    if found is None or spans is None:
        return None
    now = np.array([time])
    inside = spans.contain(spans.period(now))[0]
    if not inside.any():
        return None
    cases = to_come(problem, now, spans.ends)[0]
    each = (found.asked - found.value[:, 0]) / np.maximum(cases * margins(problem, spans), 1.0)
    s, clock = int(np.where(inside, each, -np.inf).argmax()), problem.clock
    start, end = float(spans.edges[spans.first[s]]), float(min(spans.ends[s], clock.last))
    return Owed(
        name=str(stated.outcome) if stated.by is None else f"{stated.outcome}, least by {stated.by}",
        span=f"{clock.written(start)} to {clock.written(end)}",
        floor=float(found.asked[s]),
        value=float(found.value[s, 0]),
        cases=float(cases[s]),
        among=int(inside.sum()),
    )
