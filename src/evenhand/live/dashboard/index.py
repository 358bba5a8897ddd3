"""The page of a server with several campaigns, which leads to that of each."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.live.dashboard.page import render
from evenhand.live.dashboard.view import Card, Link, Section, Table
from evenhand.live.life import State
from evenhand.policy.status import Status


def index(campaigns: Sequence[tuple[str, str, Status, State]]) -> str:
    """Render the page.

    Args:
        campaigns: the address of each, relative to that of this page, its name, its status and its state.
    """
    rows = [
        (Link(name, to), state, f"{status.rounds:,} of {status.horizon:,}", f"{status.waiting:,}")
        for to, name, status, state in campaigns
    ]
    table = Table(("campaign", "state", "decided", "waiting"), rows)
    count = f"{len(rows)} campaigns" if len(rows) != 1 else "1 campaign"
    cards = [Card(name="campaigns", title=count, tables=[table], wide=True)]
    values = {
        "title": "Campaigns",
        "policy": count,
        "line": count,
        "life": "",
        "tiles": [],
        "alarms": [],
        "sections": [Section(name="all", title="All campaigns", cards=cards)],
        "style": None,
        "root": "",
    }
    return render("dashboard.html", values)
