"""The section on the pace of budgets."""

from __future__ import annotations

import math
from itertools import accumulate

from evenhand.live.dashboard.charts import pace
from evenhand.live.dashboard.sections.base import Readings
from evenhand.live.dashboard.tally import Tally
from evenhand.live.dashboard.view import Card, Key, Section, Table, digits, percent
from evenhand.policy.status import Status


def budgets(now: Readings) -> Section | None:
    """Show the pace of every budget against its plan; None without budgets."""
    cards = [_budget(i, name, now.status, now.tally) for i, name in enumerate(now.status.accounts)]
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
