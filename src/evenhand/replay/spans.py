"""What a replay used or reached in every span of time: a measure per span, and a table per constraint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from evenhand.core.faces import amount
from evenhand.core.types import Floats
from evenhand.policy.books import ByPeriod
from evenhand.policy.standings import floors
from evenhand.problem.constraints import Stated
from evenhand.problem.problem import Problem
from evenhand.report.summary import number, table
from evenhand.run.trace import Trace

MOST = 31  # spans of a table, or of a picture: the days of a month


def summed(problem: Problem) -> list[Stated]:
    """Return the constraints that have spans of time; of budgets those on one outcome."""
    return [s for s in problem.stated if s.spans is not None and (s.outcome is not None or not s.spends)]


def names(problem: Problem, stated: Stated) -> list[str]:
    """Return the start and the end of every span in words."""
    if stated.spans is None:
        return []
    clock, spans = problem.clock, stated.spans
    ends = zip(spans.edges[spans.first].tolist(), np.minimum(spans.ends, clock.last).tolist(), strict=True)
    return [f"{clock.written(start)} to {clock.written(end)}" for start, end in ends]


def measure(stated: Stated, span: str) -> str:
    """Return the name of the measure of a span."""
    if averages(stated):
        return f"{stated.constraint.label} {span}"
    return f"{stated.outcome} {'used' if stated.spends else 'reached'} {span}{_least(stated)}"


def title(stated: Stated) -> str:
    """Return the measured quantity of each span, in words."""
    name = stated.constraint.label if averages(stated) else stated.outcome
    return f"{name} in each span{'' if averages(stated) else _least(stated)}"


def limits(stated: Stated) -> Floats:
    """Return the amount that each span allows, requires or bounds, `->(S)`."""
    if stated.spans is None:
        return np.zeros(0)
    allowance = stated.spans.allowance
    return np.full(len(allowance), stated.limit) if stated.spans.averages else np.abs(allowance)


def averages(stated: Stated) -> bool:
    """Return whether spans bound averages, and not sums."""
    return stated.spans is not None and stated.spans.averages


def _least(stated: Stated) -> str:
    """Which group a measure is of, where groups are compared: sums are then per unit of the share."""
    return "" if stated.by is None else f", least by {stated.by}"


def used(trace: Trace, stated: Stated) -> Floats | None:
    """Return the sum over the decisions of every span, `->(R,S)`; None for a system that does not follow spans.

    Where groups are compared, it is the least sum of a group, divided by its share; where averages are bounded, what
    the constraint measures in each span.
    """
    if trace.by_period is None or stated.spans is None:
        return None
    own = ByPeriod(trace.problem)
    if not np.isin(stated.spans.edges, own.edges).all():
        return None
    if stated.by is not None or stated.spans.averages:
        found = floors(trace.problem, stated, trace.by_period)
        return None if found is None else found.value.T
    return own.used(trace.by_period, stated.spans, trace.problem.names.index(str(stated.outcome)))


def tables(problem: Problem, systems: Mapping[str, Mapping[str, tuple[float, float | None]]]) -> Iterator[str]:
    """Yield a table per constraint with spans: what each system used or reached in every span.

    Args:
        problem: that states the budgets.
        systems: by name, the mean and the worst of every measure.
    """
    for s in summed(problem):
        assert s.spans is not None
        spans = names(problem, s)
        shown = {name: found for name, found in systems.items() if measure(s, spans[0]) in found}
        end, digits = "most" if s.constraint.worst == "high" else "least", 4 if averages(s) else 1
        head = [
            title(s),
            "limit" if averages(s) else "allowance" if s.spends else "floor",
            *(z for name in shown for z in (name, end)),
        ]
        lines = []
        for span, allowance in list(zip(spans, limits(s).tolist(), strict=True))[:MOST]:
            cells = [number(x, digits) for found in shown.values() for x in found[measure(s, span)]]
            lines.append([span, amount(allowance, 6), *cells])
        rest = len(spans) - len(lines)
        yield table(head, lines) + (f"\nand {rest} spans more, in results.json" if rest else "")
