"""Pages: of a campaign, of several, as a file."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evenhand.live.dashboard import head
from evenhand.live.dashboard.alarms import alarms
from evenhand.live.dashboard.sections import SECTIONS, Readings
from evenhand.live.dashboard.tally import Tally
from evenhand.live.dashboard.view import Card, Link, Section, Table
from evenhand.live.dashboard.watched import Watched
from evenhand.live.log.life import State
from evenhand.policy.status import Status

_TEMPLATES = Environment(
    loader=PackageLoader("evenhand.live.dashboard"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(template: str, values: dict[str, Any]) -> str:
    """Render a page. Everything except `Markup` is escaped, including texts of users."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
    return _TEMPLATES.get_template(template).render(**values, now=now)


def page(campaign: Watched, status: Status, tally: Tally) -> str:
    """Render the dashboard for a server."""
    return render("dashboard.html", _values(campaign, status, tally, linked=True) | {"style": None, "root": ""})


def render_file(campaign: Watched) -> str:
    """Render the dashboard as one self-contained file without scripts, which can be kept or sent.

    Args:
        campaign: the campaign, in any state; its log is read once.

    Raises:
        Busy: the store cannot be written; a status writes because it expires overdue decisions.

    >>> import evenhand as eh
    >>> shop = eh.Problem(actions=("no", "yes"), outcomes=(eh.Outcome("won"),), maximize="won", horizon=9)
    >>> text = render_file(eh.Campaign.open("memory://", "shop", eh.uniform(shop, 1)))
    >>> text.startswith("<!doctype html>"), "<script" in text, "<style>" in text
    (True, False, True)
    """
    status, tally = campaign.status(), Tally(campaign)
    tally.update()
    style = Markup(files("evenhand.live.dashboard").joinpath("static/page.css").read_text("utf-8"))
    return render("dashboard.html", _values(campaign, status, tally, linked=False) | {"style": style, "root": ""})


def _values(campaign: Watched, status: Status, tally: Tally, *, linked: bool) -> dict[str, Any]:
    now, said = Readings(campaign, status, tally, linked), alarms(campaign, status, tally)
    sections = [show(now) for show in SECTIONS]
    return {
        "title": campaign.name,
        "policy": campaign.policy.name,
        "line": head.line(now),
        "tiles": head.tiles(now, said),
        "life": "" if tally.life.state == "running" else f"{tally.life.told[:1].upper()}{tally.life.told[1:]}",
        "alarms": said,
        "sections": [section for section in sections if section is not None],
    }


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
