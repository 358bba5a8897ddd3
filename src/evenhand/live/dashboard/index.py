"""The page of a server with several campaigns, which leads to that of each."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.live.dashboard.page import render
from evenhand.live.dashboard.view import Card, Link, Section, Table
from evenhand.policy.status import Status


def index(campaigns: Sequence[tuple[str, str, Status]]) -> str:
    """Render the page.

    Args:
        campaigns: the address of each, relative to that of this page, its name and its status.
    """
    rows = [
        (Link(name, to), f"{status.rounds:,} of {status.horizon:,}", f"{status.waiting:,}")
        for to, name, status in campaigns
    ]
    table = Table(("campaign", "decided", "waiting"), rows)
    count = f"{len(rows)} campaigns" if len(rows) != 1 else "1 campaign"
    cards = [Card(name="campaigns", title=count, tables=[table], wide=True)]
    values = {
        "title": "Campaigns",
        "policy": count,
        "tiles": [],
        "alarms": [],
        "sections": [Section(name="all", title="All campaigns", cards=cards)],
        "style": None,
        "root": "",
    }
    return render("dashboard.html", values)
