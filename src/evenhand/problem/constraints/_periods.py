"""The spans of budgets per period."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.validate import positive
from evenhand.problem.clock import Clock, Per, Time
from evenhand.problem.spans import Spans

Totals = float | Mapping[str, float] | Sequence[tuple[Time, Time, float]]


def amounts(name: str, total: Totals | None, per: Per | None) -> list[float | None]:
    """Return the totals that are stated, one or several.

    Raises:
        InvalidInput: none, totals by name but of months, or spans of one's own with a period.
    """
    if isinstance(total, np.ndarray):
        raise InvalidInput(f"{name}.total", "a number, or a sequence of spans", total)
    if not isinstance(total, Mapping | Sequence):
        return [total]
    by_name = isinstance(total, Mapping)
    found: list[float | None] = list(total.values()) if isinstance(total, Mapping) else [span[-1] for span in total]
    if not found or (by_name and per != "month") or not (by_name or per is None):
        expected = 'a number, totals of months with per="month", or spans (start, end, total) without per='
        raise InvalidInput(f"{name}.total", expected, total)
    return found


def spans_of(clock: Clock, name: str, total: float | Mapping[str, float], per: Per, carry: bool, window: int) -> Spans:
    """Return the spans of a total per period: one each, up to the end of each (`carry`), or over some in a row.

    Raises:
        InvalidInput: a period that the clock does not have, a window longer than the run, or a month without a total.
    """
    edges = clock.edges(f"{name}.per", per)
    each = np.arange(len(edges) - 1)
    if isinstance(total, Mapping):
        named = {str(month).lower(): float(amount) for month, amount in total.items()}
        months = clock.months(edges)
        if set(named) != set(months):
            raise InvalidInput(f"{name}.total", f"a total for each of the months {sorted(set(months))}", dict(total))
        allowance = np.array([named[month] for month in months])
    else:
        allowance = np.full(len(each), float(total))
    if carry:
        return Spans(edges, np.cumsum(allowance), np.zeros_like(each), each)
    if window > len(each):
        raise InvalidInput(f"{name}.window", f"at most the {len(each)} periods of the run", window)
    first = each[: len(each) - window + 1]
    return Spans(edges, allowance[: len(first)], first, first + (window - 1))


def own_spans(clock: Clock, name: str, stated: Sequence[tuple[Time, Time, float]]) -> Spans:
    """Return spans that are stated one by one: a start, an end and a total each.

    Raises:
        InvalidInput: times that the clock cannot read, an end that is not after its start, a total that is not above 0,
            or a part of the run that is in no span.
    """
    read = []
    for i, (start, end, total) in enumerate(stated):
        field = f"{name}.total[{i}]"
        ends = clock.read(field, start), min(clock.read(field, end), clock.last)
        if not ends[0] < ends[1]:
            raise InvalidInput(
                field, f"a start before its end and before {clock.last:g}, the end of the run", (start, end)
            )
        read.append((*ends, positive(field, total)))
    first, last, allowance = np.array(read, float).T
    edges = np.unique(np.concatenate([[0.0, clock.last], first, last]))
    spans = Spans(edges, allowance, np.searchsorted(edges, first), np.searchsorted(edges, last) - 1)
    for p in range(spans.periods):
        if not ((spans.first <= p) & (p <= spans.last)).any():
            raise InvalidInput(f"{name}.total", f"a span that contains {edges[p]:g} to {edges[p + 1]:g}", "none")
    return spans
