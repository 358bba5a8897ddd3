"""Sections on limits: the pace of budgets, and constraints by group."""

from __future__ import annotations

import math
from itertools import accumulate

from evenhand.live.dashboard.charts import dots, pace
from evenhand.live.dashboard.tally import Tally
from evenhand.live.dashboard.view import Card, Key, Section, Table, digits, percent
from evenhand.policy.standings import Standing
from evenhand.policy.status import Status


def budgets(status: Status, tally: Tally) -> Section | None:
    """Show the pace of every budget against its plan; None without budgets."""
    cards = [_budget(i, name, status, tally) for i, name in enumerate(status.accounts)]
    note = "The plan spends evenly; pace is spent / plan. Held is the worst case of outcomes that are to come."
    return Section(name="budgets", title="Budgets", cards=cards, note=note) if cards else None


def _budget(i: int, name: str, status: Status, tally: Tally) -> Card:
    a = status.accounts[name]
    plan = a.total * status.rounds / status.horizon
    end = None if math.isnan(a.pace) else a.pace * a.total
    rounds = [float(x) for x in accumulate(span.rounds for span in tally.spans.all)]
    course = tally.spent(name)
    words = f"{digits(a.spent)} of {digits(a.total)} spent. "
    if end is not None:
        words += f"At this pace {digits(end)} at the end, {percent(a.pace)} of the total"
        if a.pace > 1.0:
            words += f": it is used up at round {status.horizon / a.pace:,.0f}" if a.hard else ": more than the budget"
        words += "."
    rows = [
        ("spent", digits(a.spent)),
        ("held", digits(a.held)),
        ("left", digits(a.left)),
        ("total", digits(a.total)),
        ("plan by now", digits(plan)),
        ("pace", percent(None if math.isnan(a.pace) else a.pace)),
        ("projected end", digits(end)),
    ]
    tables = [Table(("quantity", "amount"), rows)]
    if course is not None:
        per = a.total / status.horizon
        lines = [(f"{x:,.0f}", digits(y), digits(per * x)) for x, y in zip(rounds, course, strict=True)]
        tables.append(Table(("rounds", "spent", "plan"), lines, title="Over the rounds"))
    points = [(float(status.rounds), a.spent)] if course is None else list(zip(rounds, course, strict=True))
    about = f"{name}: {digits(a.spent)} of {digits(a.total)} spent, {digits(a.held)} held; the plan is {digits(plan)}"
    keys = [Key("spent", "spent"), Key("plan", "plan"), Key("ahead", "projected"), Key("total", "total")]
    return Card(
        name=f"budget-{i}",
        title=name,
        summary=words,
        chart=pace(about, points, a.held, a.total, float(status.horizon), end),
        keys=[*keys, Key("held", "held")] if a.held else keys,
        tables=tables,
    )


def constraints(status: Status) -> Section | None:
    """Show every constraint that is not a budget, by group if it compares groups."""
    cards = [_constraint(i, name, status) for i, name in enumerate(status.standings)]
    return Section(name="constraints", title="Fairness and limits", cards=cards) if cards else None


def _constraint(i: int, name: str, status: Status) -> Card:
    s = status.standings[name]
    even = s.worst == "high" and s.average is not None  # the constraint bounds a gap between groups from above
    low, high = (-math.inf, s.limit) if s.worst == "high" else (s.limit, math.inf)
    if even and s.average is not None:
        low, high = s.average - s.limit, s.average + s.limit
    groups = [(name, math.nan if x is None else x) for name, x in s.groups.items()]
    values = groups or [("so far", s.value)]
    some = status.rounds > status.waiting
    kept, side = s.said if some else "nothing arrived yet", s.side
    words = f"{digits(s.value)}, {side} {digits(s.limit)}: {kept}."
    keys = [Key("band", "allowed")]
    if even:
        words = f"The largest gap to everybody's average is {digits(s.value)}, {side} {digits(s.limit)}: {kept}."
        keys = [Key("band", f"tolerance of {digits(s.limit)}"), Key("plan", "everybody's average")]
    elif s.groups:
        words = f"The {'largest' if s.worst == 'high' else 'least'} group has {words}"
    rows = [(name, digits(x), _gap(x, s, even), _inside(x, low, high)) for name, x in values]
    seen = {row[-1] for row in rows}
    keys += [Key(kind, kind) for kind, answer in (("kept", "yes"), ("missed", "no")) if answer in seen]
    head = ("group", "average", "gap" if even else "limit", "kept")
    return Card(
        name=f"constraint-{i}",
        title=name,
        summary=words,
        chart=dots(f"{name}: {digits(s.value)}, {side} {digits(s.limit)}, {kept}", values, low, high, s.average),
        keys=keys,
        tables=[Table(head, rows)],
    )


def _inside(x: float, low: float, high: float) -> str:
    return "–" if math.isnan(x) else "yes" if low - 1e-9 <= x <= high + 1e-9 else "no"


def _gap(x: float, s: Standing, even: bool) -> str:
    if not even or s.average is None:
        return digits(s.limit)
    return "–" if math.isnan(x) else f"{'+' if x >= s.average else '−'}{digits(abs(x - s.average))}"
