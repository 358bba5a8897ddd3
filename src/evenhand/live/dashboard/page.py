"""Pages: of a campaign, of several, as a file; a row at the head has the main numbers of a campaign."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evenhand.core.texts import count
from evenhand.live.dashboard.alarms import alarms, count_due
from evenhand.live.dashboard.axis import began
from evenhand.live.dashboard.contrast import Contrast, contrast
from evenhand.live.dashboard.interface import CampaignView
from evenhand.live.dashboard.plans import pace_of, plan_of
from evenhand.live.dashboard.sections import SECTIONS, Readings
from evenhand.live.dashboard.tally import Tally
from evenhand.live.dashboard.view import Card, Link, Section, Table, Tile, digits, interval, moment, percent, signed
from evenhand.live.log.events import time_text
from evenhand.live.log.life import State
from evenhand.policy.status import Account, Status, Use

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


def page(campaign: CampaignView, status: Status, tally: Tally) -> str:
    """Render the dashboard for a server."""
    return render("dashboard.html", _values(campaign, status, tally, linked=True) | {"style": None, "root": ""})


def render_file(campaign: CampaignView) -> str:
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


def _values(campaign: CampaignView, status: Status, tally: Tally, *, linked: bool) -> dict[str, Any]:
    now, texts = Readings(campaign, status, tally, linked), alarms(campaign, status, tally)
    sections = [show(now) for show in SECTIONS]
    return {
        "title": campaign.name,
        "policy": campaign.policy.name,
        "line": head_line(now),
        "tiles": head_tiles(now, texts),
        "life": "" if tally.life.state == "running" else f"{tally.life.summary[:1].upper()}{tally.life.summary[1:]}",
        "alarms": texts,
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


def head_line(now: Readings) -> str:
    """Say which policy decides, since when, and when the latest event arrived."""
    spans = now.tally.spans.all
    latest = f"; the latest event at {moment(spans[-1].at)} UTC" if spans else ""
    restores = "".join(f"; restored {time_text(z.at)}: {z.gap}" for z in now.tally.ids.restores[-1:])
    lost = now.tally.uncounted
    uncounted = (
        f"; {count(lost, 'decision')} in segments not counted, as this policy counts in another way" if lost else ""
    )
    at, clock = began(now.campaign), now.campaign.policy.problem.clock
    before = clock.of_micros(at) or 0.0
    late = f", {before:,.0f} days after {clock.format(0.0)}, of which nothing was spent" if before >= 1.0 else ""
    return f"{now.campaign.policy.name}, began {moment(at)} UTC{late}{latest}{restores}{uncounted}"


def head_tiles(now: Readings, alarms: Sequence[str]) -> list[Tile]:
    """Return tiles: the objective, the budget that is furthest ahead of its plan, alarms, rounds, waiting decisions."""
    paced = _budget(now)
    return [_objective(now), *([] if paced is None else [paced]), _alarms(alarms), _rounds(now), _waiting_tile(now)]


def _objective(now: Readings) -> Tile:
    problem, status = now.campaign.policy.problem, now.status
    name = f"Average {problem.maximize}" if isinstance(problem.maximize, str) else "Objective"
    found = contrast(problem, status, now.tally)
    return Tile(name, digits(status.objective), "no reference yet" if found is None else _comparison(found))


def _comparison(a: Contrast) -> str:
    rounds = f"{count(a.rounds, 'round')} {a.of}"
    if math.isnan(a.low):
        return f"{signed(a.difference)} against {rounds}: {a.verdict}"
    return f"{a.verdict}: {signed(a.difference)} ({interval(a.low, a.high)}, 95%) against {rounds}"


def _budget(now: Readings) -> Tile | None:
    """The pace of the budget that is furthest ahead of its plan, and the span of any that has the least left."""
    problem, axis, found = now.campaign.policy.problem, now.axis, []
    stated = (s for s in problem.stated if s.spends)
    for s, (name, account) in zip(stated, now.status.accounts.items(), strict=True):
        paced = pace_of(account, problem, plan_of(problem, s, now.status.profile), now.status, axis)
        found.append((paced.share, name, account, paced.plan))
    if not found:
        return None
    share, name, account, plan = max(found, key=lambda z: -math.inf if math.isnan(z[0]) else z[0])
    note = f"{digits(account.spent)} spent, plan {digits(plan)} of {digits(account.total)}"
    spans = ((z, of) for _, of, a, _ in found for z in _open(a))
    tightest, of = min(spans, key=lambda z: _left(z[0]), default=(None, name))
    if tightest is not None:
        left = digits(max(tightest.allowance - tightest.used, 0.0))
        other = "" if of == name else f"{of}: "
        note += f"; {other}{left} of {digits(tightest.allowance)} left until {tightest.end}"
    among = f" (of {len(found)} budgets)" if len(found) > 1 else ""
    value = "–" if math.isnan(share) else f"{share:.0%}"
    return Tile(f"{name} against plan{among}", value, note)


def _open(account: Account) -> list[Use]:
    return [use for use in account.spans if not use.over]


def _left(use: Use) -> float:
    """The part of the allowance of a span that is left."""
    return (use.allowance - use.used) / use.allowance if use.allowance > 0.0 else 0.0


def _alarms(alarms: Sequence[str]) -> Tile:
    return Tile("Alarms", f"{len(alarms)}", alarms[0] if alarms else "no alarms", bool(alarms))


def _rounds(now: Readings) -> Tile:
    cancelled, late = (now.tally.counts[kind] for kind in ("cancelled", "after_horizon"))
    note = f"of {now.status.horizon:,} rounds"
    note += f", {late:,} after the horizon" if late else ""
    note += f", {cancelled:,} cancelled" if cancelled else ""
    return Tile("Decided", f"{now.status.rounds:,}", note)


def _waiting_tile(now: Readings) -> Tile:
    n, whole = now.tally.counts, count_due(now.tally)
    overdue = f"{n['held']:,} of them overdue; " if n["held"] else ""
    expired = f"{percent(n['expired'] / whole)} of those due expired" if whole else "none was due"
    return Tile("Waiting", f"{now.status.waiting:,}", overdue + expired)
