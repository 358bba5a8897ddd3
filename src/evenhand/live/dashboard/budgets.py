"""Sections on limits: the pace of budgets, and what constraints say of groups."""

from __future__ import annotations

import math
from itertools import accumulate

from evenhand.live.dashboard.charts import dots, pace
from evenhand.live.dashboard.tally import Tally
from evenhand.live.dashboard.view import Card, Key, Section, Table, part, said
from evenhand.policy.standings import Standing
from evenhand.policy.status import Status


def budgets(status: Status, tally: Tally) -> Section | None:
    """The pace of every budget against its plan, None where nothing is spent."""
    cards = [_budget(i, name, status, tally) for i, name in enumerate(status.accounts)]
    note = "The plan spends evenly; pace is spent / plan. Held is the worst case of outcomes that are to come."
    return Section(name="budgets", title="Budgets", cards=cards, note=note) if cards else None


def _budget(i: int, name: str, status: Status, tally: Tally) -> Card:
    a = status.accounts[name]
    plan = a.total * status.rounds / status.horizon
    end = None if math.isnan(a.pace) else a.pace * a.total
    rounds = [float(x) for x in accumulate(span.rounds for span in tally.spans.all)]
    course = tally.spent(name)
    words = f"{said(a.spent)} of {said(a.total)} spent. "
    if end is not None:
        words += f"At this pace {said(end)} at the end, {part(a.pace)} of the total"
        if a.pace > 1.0:
            words += f": it is used up at round {status.horizon / a.pace:,.0f}" if a.hard else ": more than the budget"
        words += "."
    rows = [
        ("spent", said(a.spent)),
        ("held", said(a.held)),
        ("left", said(a.left)),
        ("total", said(a.total)),
        ("plan by now", said(plan)),
        ("pace", part(None if math.isnan(a.pace) else a.pace)),
        ("projected end", said(end)),
    ]
    tables = [Table(("quantity", "amount"), rows)]
    if course is not None:
        per = a.total / status.horizon
        lines = [(f"{x:,.0f}", said(y), said(per * x)) for x, y in zip(rounds, course, strict=True)]
        tables.append(Table(("rounds", "spent", "plan"), lines, title="Over the rounds"))
    points = [(float(status.rounds), a.spent)] if course is None else list(zip(rounds, course, strict=True))
    about = f"{name}: {said(a.spent)} of {said(a.total)} spent, {said(a.held)} held; the plan is {said(plan)}"
    keys = [Key("spent", "spent"), Key("plan", "plan"), Key("ahead", "projected"), Key("total", "total")]
    return Card(
        name=f"budget-{i}",
        title=name,
        said=words,
        chart=pace(about, points, a.held, a.total, float(status.horizon), end),
        keys=[*keys, Key("held", "held")] if a.held else keys,
        tables=tables,
    )


def constraints(status: Status) -> Section | None:
    """Every constraint that spends nothing, by group where it compares groups."""
    cards = [_constraint(i, name, status) for i, name in enumerate(status.standings)]
    return Section(name="constraints", title="Fairness and limits", cards=cards) if cards else None


def _constraint(i: int, name: str, status: Status) -> Card:
    s = status.standings[name]
    even = s.worst == "high" and s.average is not None  # groups are compared, and their gap is bounded from above
    low, high = (-math.inf, s.limit) if s.worst == "high" else (s.limit, math.inf)
    if even and s.average is not None:
        low, high = s.average - s.limit, s.average + s.limit
    groups = [(name, math.nan if x is None else x) for name, x in s.groups.items()]
    values = groups or [("so far", s.value)]
    some = status.rounds > status.waiting
    kept, side = s.said if some else "nothing arrived yet", s.side
    words = f"{said(s.value)}, {side} {said(s.limit)}: {kept}."
    keys = [Key("band", "allowed")]
    if even:
        words = f"The largest gap to everybody's average is {said(s.value)}, {side} {said(s.limit)}: {kept}."
        keys = [Key("band", f"tolerance of {said(s.limit)}"), Key("plan", "everybody's average")]
    elif s.groups:
        words = f"The {'largest' if s.worst == 'high' else 'least'} group has {words}"
    rows = [(name, said(x), _gap(x, s, even), _inside(x, low, high)) for name, x in values]
    seen = {row[-1] for row in rows}
    keys += [Key(kind, kind) for kind, answer in (("kept", "yes"), ("missed", "no")) if answer in seen]
    head = ("group", "average", "gap" if even else "limit", "kept")
    return Card(
        name=f"constraint-{i}",
        title=name,
        said=words,
        chart=dots(f"{name}: {said(s.value)}, {side} {said(s.limit)}, {kept}", values, low, high, s.average),
        keys=keys,
        tables=[Table(head, rows)],
    )


def _inside(x: float, low: float, high: float) -> str:
    return "–" if math.isnan(x) else "yes" if low - 1e-9 <= x <= high + 1e-9 else "no"


def _gap(x: float, s: Standing, even: bool) -> str:
    if not even or s.average is None:
        return said(s.limit)
    return "–" if math.isnan(x) else f"{'+' if x >= s.average else '−'}{said(abs(x - s.average))}"
