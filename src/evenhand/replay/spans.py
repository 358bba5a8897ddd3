"""What a replay used in every span of time: a measure per span, and a table per budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from evenhand.core.types import Floats
from evenhand.policy.by_period import ByPeriod
from evenhand.problem.constraints import Stated
from evenhand.problem.problem import Problem
from evenhand.report.summary import number, table
from evenhand.run.trace import Trace

MOST = 31  # spans of a table, or of a picture: the days of a month


def budgets(problem: Problem) -> list[Stated]:
    """Return the budgets that have spans of time."""
    return [s for s in problem.stated if s.spends and s.spans is not None and s.outcome is not None]


def names(problem: Problem, stated: Stated) -> list[str]:
    """Return the start and the end of every span in words."""
    if stated.spans is None:
        return []
    clock, spans = problem.clock, stated.spans
    ends = zip(spans.edges[spans.first].tolist(), np.minimum(spans.ends, clock.last).tolist(), strict=True)
    return [f"{clock.written(start)} to {clock.written(end)}" for start, end in ends]


def measure(stated: Stated, span: str) -> str:
    """Return the name of the measure of a span."""
    return f"{stated.outcome} used {span}"


def used(trace: Trace, stated: Stated) -> Floats | None:
    """Return what the decisions of every span used, `->(R,S)`; None of a system that keeps to no spans."""
    if trace.by_period is None or stated.spans is None:
        return None
    own = ByPeriod(trace.problem)
    if not np.isin(stated.spans.edges, own.edges).all():
        return None
    return own.used(trace.by_period, stated.spans, trace.problem.names.index(str(stated.outcome)))


def tables(problem: Problem, systems: Mapping[str, Mapping[str, tuple[float, float | None]]]) -> Iterator[str]:
    """Yield a table per budget with spans: what each system used in every span.

    Args:
        problem: that states the budgets.
        systems: by name, the mean and the most of every measure.
    """
    for s in budgets(problem):
        assert s.spans is not None
        spans = names(problem, s)
        shown = {name: found for name, found in systems.items() if measure(s, spans[0]) in found}
        head = [f"{s.outcome} in each span", "allowance", *(title for name in shown for title in (name, "most"))]
        lines = []
        for span, allowance in list(zip(spans, s.spans.allowance.tolist(), strict=True))[:MOST]:
            cells = [number(x, 1) for found in shown.values() for x in found[measure(s, span)]]
            lines.append([span, f"{allowance:,.6g}", *cells])
        rest = len(spans) - len(lines)
        yield table(head, lines) + (f"\nand {rest} spans more, in results.json" if rest else "")
