"""The section on constraints other than budgets, by group."""

from __future__ import annotations

import math

from evenhand.live.dashboard.charts import dots
from evenhand.live.dashboard.sections.base import Readings
from evenhand.live.dashboard.view import Card, Key, Section, Table, digits, pair
from evenhand.policy.standings import Standing
from evenhand.policy.status import Status


def constraints(now: Readings) -> Section | None:
    """Show every constraint that is not a budget, by group if it compares groups."""
    cards = pair([_constraint(i, name, now.status) for i, name in enumerate(now.status.standings)])
    return Section(name="constraints", title="Fairness and limits", cards=cards) if cards else None


def _constraint(i: int, name: str, status: Status) -> Card:
    s = status.standings[name]
    even = s.worst == "high" and s.average is not None  # the constraint bounds a gap between groups from above
    low, high = (-math.inf, s.limit) if s.worst == "high" else (s.limit, math.inf)
    if even and s.average is not None:
        low, high = s.average - s.limit, s.average + s.limit
    groups = [(name, math.nan if x is None else x) for name, x in s.groups.items()]
    values = groups or [("worst span" if s.spans else "so far", s.value)]
    if s.credit is not None:  # which is what is promised; the ratio is only planned
        low, high, values = min(s.credit, 0.0) if s.kept else 0.0, math.inf, [("credit left", s.credit)]
    some = status.rounds > status.waiting
    kept, side = s.text if some else "nothing arrived yet", s.side
    words = f"{s.shown}, {side} {digits(s.limit)}: {kept}."
    keys = [Key("band", "allowed")]
    if even:
        words = f"The largest gap to everybody's average is {digits(s.value)}, {side} {digits(s.limit)}: {kept}."
        keys = [Key("band", f"tolerance of {digits(s.limit)}"), Key("plan", "everybody's average")]
    elif s.groups:
        words = f"The {'largest' if s.worst == 'high' else 'least'} group has {words}"
    rows = [(name, digits(x), _gap(x, s, even), _inside(x, low, high)) for name, x in values]
    seen = {row[-1] for row in rows}
    keys += [Key(kind, kind) for kind, answer in (("kept", "yes"), ("missed", "no")) if answer in seen]
    head = ("group", "so far", "gap" if even else "limit", "kept")
    return Card(
        name=f"constraint-{i}",
        title=name,
        summary=words,
        chart=dots(f"{name}: {s.shown}, {side} {digits(s.limit)}, {kept}", values, low, high, s.average),
        keys=keys,
        tables=[Table(head, rows), *_spans(s)],
    )


def _spans(s: Standing) -> list[Table]:
    """Return a table of the values of every span, where the constraint is to hold in each."""
    lines = [
        (
            f"{z.start} to {z.end}",
            digits(z.value),
            digits(z.limit),
            _inside(z.value, *((-math.inf, z.limit) if s.worst == "high" else (z.limit, math.inf))) if z.over else "–",
        )
        for z in s.spans
    ]
    return [Table(("span", "so far", s.side, "kept"), lines, title="All spans so far")] if lines else []


def _inside(x: float, low: float, high: float) -> str:
    return "–" if math.isnan(x) else "yes" if low - 1e-9 <= x <= high + 1e-9 else "no"


def _gap(x: float, s: Standing, even: bool) -> str:
    if not even or s.average is None:
        return digits(s.limit if s.credit is None else 0.0)
    return "–" if math.isnan(x) else f"{'+' if x >= s.average else '−'}{digits(abs(x - s.average))}"
