"""The page that shows where a campaign stands: HTML that the server writes, every text of a user escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape

from evenhand.live.campaign import Campaign
from evenhand.live.http.charts import Part, bar, table
from evenhand.live.http.standing import Tally
from evenhand.policy.status import Status

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}</title>
<link rel="stylesheet" href="/static/page.css">
<script src="/static/page.js" defer></script>
<noscript><meta http-equiv="refresh" content="30"></noscript>
</head>
<body>
<p id="stale" role="status" hidden>The server does not answer: what follows is old.</p>
<main>
<h1>{name}</h1>
{sections}
<footer>{policy}; as of <time datetime="{at}">{at}</time></footer>
</main>
</body>
</html>
"""


def page(campaign: Campaign, status: Status, tally: Tally) -> str:
    """The page as it is at present."""
    sections = (_counts(status, tally), *_budgets(status), *_actions(campaign, tally), *_standings(status))
    return _PAGE.format(
        name=escape(campaign.name),
        policy=escape(campaign.policy.name),
        sections="\n".join((*sections, *_averages(status))),
        at=datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
    )


def _counts(status: Status, tally: Tally) -> str:
    said = {
        "decided": f"{status.rounds:,} of {status.horizon:,}",
        "waiting": f"{status.waiting:,}",
        "expired": f"{tally.expired:,}",
        "objective": _said(status.objective),
    }
    return "<dl>" + "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in said.items()) + "</dl>"


def _budgets(status: Status) -> Iterable[str]:
    """Each budget as a bar, with a line where it would be if it were spent evenly."""
    if not status.accounts:
        return
    yield '<h2>Budgets</h2><p class="key"><b class="spent"></b> spent <b class="held"></b> held for outcomes to come '
    yield '<b class="mark"></b> the plan: spent evenly over all rounds. Pace is what was spent as a part of that.</p>'
    head = ("budget", "spent", "held", "left", "total", "plan", "pace")
    for name, a in status.accounts.items():
        plan = a.total * status.rounds / status.horizon
        said = f"{name}: {_said(a.spent)} of {_said(a.total)} spent, {_said(a.held)} held; the plan is {_said(plan)}"
        pace = "-" if math.isnan(a.pace) else f"{a.pace:.0%}"
        row = (name, *map(_said, (a.spent, a.held, a.left, a.total, plan)), pace)
        yield _pair(bar(said, (Part("spent", a.spent), Part("held", a.held)), a.total, plan), table(head, [row]))


def _actions(campaign: Campaign, tally: Tally) -> Iterable[str]:
    """How often each action was played."""
    names = [*campaign.policy.problem.actions, *([None] if tally.played[None] else [])]
    most, whole = max(tally.played.values(), default=0), max(sum(tally.played.values()), 1)
    yield '<h2>Actions so far</h2><p class="key">Probability is the mean that was stated where it was played.</p>'
    for name in names:
        count, label = tally.played[name], "(nothing)" if name is None else name
        row = (label, f"{count:,}", f"{count / whole:.1%}", _said(tally.probability(name)))
        drawn = bar(f"{label}: {count:,}", (Part("spent", count),), most)
        yield _pair(drawn, table(("action", "plays", "share", "probability"), [row]))


def _standings(status: Status) -> Iterable[str]:
    """Each constraint that spends nothing, with a line at its limit."""
    if not status.standings:
        return
    yield '<h2>Constraints</h2><p class="key"><b class="mark"></b> the limit</p>'
    for name, s in status.standings.items():
        side = "at most" if s.worst == "high" else "at least"
        kept = "kept" if s.kept else "missed so far"
        row = (name, _said(s.value), f"{side} {_said(s.limit)}", kept)
        part = Part("spent" if s.kept else "missed", abs(s.value))
        drawn = bar(f"{name}: {row[1]}, {row[2]}, {kept}", (part,), 1.25 * abs(s.limit), abs(s.limit))
        yield _pair(drawn, table(("constraint", "value", "limit", ""), [row]))


def _averages(status: Status) -> Iterable[str]:
    rows = [(name, _said(x)) for name, x in status.averages.items()]
    yield f'<h2>Averages per round</h2><div class="wide">{table(("outcome", "average"), rows)}</div>'
    if status.prices:
        rows = [(name, _said(x)) for name, x in status.prices.items()]
        yield '<h2>Prices</h2><p class="key">What one more unit is worth at present.</p>'
        yield f'<div class="wide">{table(("of", "price"), rows)}</div>'


def _pair(drawn: str, beside: str) -> str:
    return f'<div class="pair">{drawn}<div class="wide">{beside}</div></div>'


def _said(x: float | None) -> str:
    """A number in a few digits, a dash where there is none."""
    return "-" if x is None or math.isnan(x) else f"{x:,.5g}" if abs(x) < 1e5 else f"{x:,.0f}"
