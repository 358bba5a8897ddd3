"""The spans of budgets per period."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.validate import positive
from evenhand.problem.clock import Clock, Per, Time
from evenhand.problem.spans import Spans

Totals = float | Mapping[str, float] | Sequence[tuple[Time, Time, float]]


def amounts(name: str, total: Totals | Mapping[str, Totals] | None, per: Per | None) -> list[object]:
    """Return the totals that are stated, one or several.

    Raises:
        InvalidInput: none, totals by name but of months, or spans of your own with a period.
    """
    if isinstance(total, np.ndarray):
        raise InvalidInput(f"{name}.total", "a number, or a sequence of spans", total)
    if not isinstance(total, Mapping | Sequence):
        return [total]
    by_name = isinstance(total, Mapping)
    found: list[object] = list(total.values()) if isinstance(total, Mapping) else [span[-1] for span in total]
    if not found or (by_name and per != "month") or not (by_name or per is None):
        months = 'totals of months with per="month" or, of a budget, of groups with by='
        expected = f"a number, {months}, or spans (start, end, total) without per="
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


def floors_of(clock: Clock, name: str, total: float | Mapping[str, float], per: Per) -> Spans:
    """Return spans of a floor per period: allowances are the negatives of what each asks for.

    If the run covers only a part of a period, the same part of its total applies, unless the total is stated by name.
    """
    spans = spans_of(clock, name, total, per, carry=False, window=1)
    if isinstance(total, Mapping):
        return spans._replace(allowance=-spans.allowance)
    begun = np.zeros(spans.periods)
    begun[0] = clock.phase(per)
    length = np.diff(spans.edges) + begun
    inside = np.minimum(spans.ends, clock.last) - spans.edges[:-1]
    return spans._replace(allowance=-spans.allowance * (inside / length))


def averages_of(clock: Clock, name: str, bound: float, per: Per | None) -> Spans | None:
    """Return spans of a bound on averages, one per period; None without a period."""
    if per is None:
        return None
    edges = clock.edges(f"{name}.per", per)
    each = np.arange(len(edges) - 1)
    return Spans(edges, np.full(len(each), bound), each, each, averages=True)


def own_spans(clock: Clock, name: str, stated: Sequence[tuple[Time, Time, float]]) -> Spans:
    """Return spans that are stated one by one, a start, an end and a total each, and that cover the run.

    Raises:
        InvalidInput: as for `own_floors`, or a part of the run is in no span.
    """
    spans = own_floors(clock, name, stated)
    spans = spans._replace(allowance=-spans.allowance)
    for p in range(spans.periods):
        if not ((spans.first <= p) & (p <= spans.last)).any():
            edges = spans.edges
            raise InvalidInput(f"{name}.total", f"a span that contains {edges[p]:g} to {edges[p + 1]:g}", "none")
    return spans


def own_floors(clock: Clock, name: str, stated: Sequence[tuple[Time, Time, float]]) -> Spans:
    """Return the spans of floors that are stated one by one; the rest of the run asks for nothing.

    Raises:
        InvalidInput: times that the clock cannot read, an end that is not after its start, or a total that is not
            above 0.
    """
    read = []
    for i, (start, end, total) in enumerate(stated):
        field = f"{name}.total[{i}]"
        ends = clock.boundary(field, start), min(clock.boundary(field, end), clock.last)
        if not ends[0] < ends[1]:
            raise InvalidInput(
                field, f"a start before its end and before {clock.last:g}, the end of the run", (start, end)
            )
        read.append((*ends, positive(field, total)))
    first, last, allowance = np.array(read, float).T
    edges = np.unique(np.concatenate([[0.0, clock.last], first, last]))
    return Spans(edges, -allowance, np.searchsorted(edges, first), np.searchsorted(edges, last) - 1)
