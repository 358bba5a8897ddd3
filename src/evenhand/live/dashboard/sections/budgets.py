"""The section on the pace of budgets, and on what was used in spans of time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate

from evenhand.live.dashboard.charts import bars, pace
from evenhand.live.dashboard.plans import Plan, plan_of
from evenhand.live.dashboard.sections.base import Readings
from evenhand.live.dashboard.tally import Tally
from evenhand.live.dashboard.view import Card, Key, Section, Table, digits, percent
from evenhand.policy.status import Account, Status
from evenhand.problem.problem import Problem

_BARS = 14


def budgets(now: Readings) -> Section | None:
    """Show the pace of every budget against its plan, and what was used in each span; None without budgets."""
    cards = list(_cards(now))
    timed = now.campaign.policy.problem.until is not None or any(a.spans for a in now.status.accounts.values())
    plan = "follows the forecast and the allowances" if timed else "spends evenly"
    note = f"The plan {plan}; pace is spent / plan. Held is the worst case of outcomes that are to come."
    return Section(name="budgets", title="Budgets", cards=cards, note=note) if cards else None


def _cards(now: Readings) -> Iterator[Card]:
    problem = now.campaign.policy.problem
    spending = (s for s in problem.stated if s.spends)
    for i, (stated, name) in enumerate(zip(spending, now.status.accounts, strict=True)):
        yield _budget(i, name, now.status, now.tally, problem, plan_of(problem, stated))
        if now.status.accounts[name].spans:
            yield _spans(i, name, now.status.accounts[name])


def _budget(i: int, name: str, status: Status, tally: Tally, problem: Problem, planned: Plan) -> Card:
    a, timed = status.accounts[name], problem.until is not None
    straight = len(planned.times) == 2
    rounds = [float(x) for x in accumulate(span.rounds for span in tally.spans.all)]
    times = [_time(problem, span.at) for span in tally.spans.all] if timed else rounds
    here = (times[-1] if times else 0.0) if timed else float(status.rounds)
    plan = planned.at(here)
    so_far = a.pace if straight else (a.spent / plan if plan > 0.0 else math.nan)
    end = None if math.isnan(so_far) else so_far * float(planned.amounts[-1])
    if end is not None and a.hard and not straight:
        end = min(end, a.spent + a.held + a.left)
    course = tally.spent(name)
    words = f"{digits(a.spent)} of {digits(a.total)} spent. "
    if end is not None:
        words += f"At this pace {digits(end)} at the end, {percent(end / a.total)} of the total"
        if straight and so_far > 1.0:
            words += f": it is used up at round {status.horizon / so_far:,.0f}" if a.hard else ": more than the budget"
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
    if course is not None:
        lines = [
            (problem.clock.written(x) if timed else f"{x:,.0f}", digits(y), digits(planned.at(x)))
            for x, y in zip(times, course, strict=True)
        ]
        what = "time" if timed else "rounds"
        tables.append(Table((what, "spent", "plan"), lines, title=f"Over the {'run' if timed else 'rounds'}"))
    points = [(here, a.spent)] if course is None else list(zip(times, course, strict=True))
    about = f"{name}: {digits(a.spent)} of {digits(a.total)} spent, {digits(a.held)} held; the plan is {digits(plan)}"
    keys = [Key("spent", "spent"), Key("plan", "plan"), Key("ahead", "projected"), Key("total", "total")]
    drawn = [] if straight else list(zip(planned.times.tolist(), planned.amounts.tolist(), strict=True))
    until = problem.clock.last if timed else float(status.horizon)
    return Card(
        name=f"budget-{i}",
        title=name,
        summary=words,
        chart=pace(about, points, a.held, a.total, until, end, drawn, planned.unit),
        keys=[*keys, Key("held", "held")] if a.held else keys,
        tables=tables,
    )


def _time(problem: Problem, at: int) -> float:
    """The time of an event in days since the start, within the run."""
    return min(max(problem.clock.of_micros(at) or 0.0, 0.0), problem.clock.last)


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
    return Card(
        name=f"budget-{i}-spans",
        title=f"{name} by the end of spans" if same else f"{name} by span",
        summary=words,
        chart=bars(f"{name}: {words}", shown),
        keys=[Key("bar", "past"), Key("played", "now")],
        tables=[Table(("span", "used", "allowance", "part"), lines, title="All of the latest spans")],
    )
