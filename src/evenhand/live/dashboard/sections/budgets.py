"""The section on the pace of budgets, and on what was used in spans of time."""

from __future__ import annotations

import math

from evenhand.live.dashboard.axis import Axis
from evenhand.live.dashboard.charts import Spending, bars, pace
from evenhand.live.dashboard.plans import Plan, pace_of, plan_of
from evenhand.live.dashboard.sections.base import Readings
from evenhand.live.dashboard.view import Card, Key, Section, Table, digits, pair, percent
from evenhand.policy.status import Account

_BARS, _FEW = 14, 10  # spans in the chart, and in the table beside it


def budgets(now: Readings) -> Section | None:
    """Show the pace of every budget against its plan, and what was used in each span; None without budgets."""
    problem, accounts, axis = now.campaign.policy.problem, now.status.accounts, now.axis
    plans = (plan_of(problem, s, now.status.profile) for s in problem.stated if s.spends)
    stated = enumerate(zip(accounts.values(), plans, strict=True))
    courses = [_budget(i, account, now, plan, axis) for i, (account, plan) in stated]
    spans = [_spans(i, name, account) for i, (name, account) in enumerate(accounts.items()) if account.spans]
    timed = problem.until is not None or bool(spans)
    plan = "follows the forecast and the allowances" if timed else "spends evenly over the rounds"
    note = f"The plan {plan}; pace is spent / plan. Held is the worst case of outcomes that are still to come."
    return Section(name="budgets", title="Budgets", cards=[*courses, *pair(spans)], note=note) if courses else None


def _budget(i: int, a: Account, now: Readings, planned: Plan, axis: Axis) -> Card:
    name, problem = list(now.status.accounts)[i], now.campaign.policy.problem
    pace_, course = pace_of(a, problem, planned, now.status, axis), now.tally.spent(name)
    so_far, plan, end = pace_.share, pace_.plan, pace_.end
    words = f"{digits(a.spent)} of {digits(a.total)} spent. "
    if end is not None:
        words += f"At this pace {digits(end)} at the end, {percent(end / a.total)} of the total"
        if planned.is_even and so_far > 1.0:
            words += f": it is used up {axis.about(axis.last / so_far)}" if a.hard else ": more than the budget"
        words += "."
    rows = [
        ("spent", digits(a.spent)),
        ("held", digits(a.held)),
        *([("lost with past spans", digits(a.lost)), ("left now", digits(a.left_now))] if a.spans else []),
        ("left", digits(a.left)),
        ("total", digits(a.total)),
        ("plan by now", digits(plan)),
        ("pace", percent(None if math.isnan(so_far) else so_far)),
        ("projected end", digits(end)),
    ]
    tables = [Table(("quantity", "amount"), rows)]
    by_time = problem.until is not None
    planned_at = [planned.at(x) for x in (axis.ends if by_time else axis.rounds)]
    if course is not None:
        lines = [(axis.format(x), *map(digits, z)) for x, *z in zip(axis.ends, course, planned_at, strict=True)]
        tables.append(Table((axis.unit, "spent", "plan"), lines, title=axis.table_title))
    drawn = list(zip(planned.times.tolist(), planned.amounts.tolist(), strict=True))
    if axis.last > planned.times[-1]:  # decisions after the end have the whole of it to spend
        drawn.append((axis.last, float(planned.amounts[-1])))
    if axis.start is not None and not by_time:  # the plan goes by rounds, the axis by days
        drawn = [(0.0, 0.0), *zip(axis.ends, planned_at, strict=True), (axis.last, float(planned.amounts[-1]))]
    keys = [Key("spent", "spent"), Key("plan", "plan"), Key("ahead", "projected"), Key("total", "total")]
    return Card(
        name=f"budget-{i}",
        title=name,
        summary=words,
        chart=pace(
            f"{name}: {digits(a.spent)} of {digits(a.total)} spent, {digits(a.held)} held; the plan is {digits(plan)}",
            Spending(
                spent=[(axis.here, a.spent)] if course is None else list(zip(axis.ends, course, strict=True)),
                held=a.held,
                total=a.total,
                projected=end,
                plan=drawn,
            ),
            axis.horizontal(axis.last),
        ),
        keys=[*keys, Key("held", "held")] if a.held else keys,
        tables=tables,
        wide=True,
    )


def _spans(i: int, name: str, account: Account) -> Card:
    """Show a bar per span: the part of its allowance that decisions in it used or may use."""
    uses = account.spans
    same = len({u.start for u in uses}) == 1 < len(uses)
    names = [u.end if same else u.start for u in uses]
    shown = [
        (label, min(max(u.used / u.allowance, 0.0), 1.0), not u.over, f"{digits(u.used)}")
        for label, u in zip(names, uses, strict=True)
    ][-_BARS:]
    over = [u for u in uses if u.over]
    now = next(u for u in uses if not u.over)
    words = f"{digits(now.used)} of {digits(now.allowance)} used from {now.start} to {now.end}."
    if over:
        part = sum(u.used for u in over) / sum(u.allowance for u in over)
        words += f" Of the allowances of past spans {percent(part)} was used."
    lines = [
        (f"{u.start} to {u.end}", digits(u.used), digits(u.allowance), percent(u.used / u.allowance)) for u in uses
    ]
    head = ("used", "allowance", "part")
    latest = [(label, *line[1:]) for label, line in zip(names, lines, strict=True)]
    return Card(
        name=f"budget-{i}-spans",
        title=f"{name} by the end of spans" if same else f"{name} by span",
        summary=words,
        chart=bars(f"{name}: {words}", shown),
        keys=[Key("bar", "past"), Key("played", "now")],
        tables=[
            Table(("span", *head), lines, title="All of the latest spans"),
            Table(("by the end of" if same else "span from", *head), latest[-_FEW:]),
        ],
    )
