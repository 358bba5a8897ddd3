"""The page of one decision: its case, the probability of each action, the explanation, and its events."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from textwrap import dedent
from typing import Any

from evenhand.core.faces import amount
from evenhand.live.dashboard.charts import bars
from evenhand.live.dashboard.page import render
from evenhand.live.dashboard.view import Card, Key, Section, Table, Tile, duration, moment, percent

_MOST = 30  # actions in the chart; the table has all


def decision_page(campaign: str, policy: str, found: Mapping[str, Any], explained: str | None) -> str:
    """Render the page of a decision.

    Args:
        campaign, policy: their names.
        found: the stored decision, from `asked.lookup`.
        explained: the policy's explanation, None if another policy made the decision.
    """
    sections = [
        Section(name="why", title="The choice", cards=_why(found, explained)),
        Section(name="case", title="The case", cards=_case(found)),
        Section(name="log", title="The log", cards=[_events(found)]),
    ]
    actions = ", ".join("(nothing)" if name is None else name for name in found["actions"])
    chances = ", ".join("unknown" if p is None else percent(p) for p in found["probabilities"])
    values = {
        "title": f"Decision {found['id']}",
        "campaign": campaign,
        "key": found["key"],
        "policy": policy,
        "tiles": [Tile("Action", actions), Tile("Probability", chances), Tile("State", found["state"])],
        "sections": sections,
        "style": None,
        "root": "../../",
    }
    return render("decision.html", values)


def _why(found: Mapping[str, Any], explained: str | None) -> list[Card]:
    why = found["explanation"][:1].upper() + found["explanation"][1:] + "."
    chances = found["chances"]
    if chances is None:
        words = f"{why} Those of other actions are not in the log: the policy cannot tell them, or there are too many."
        cards = [Card(name="chances", title="Probabilities", summary=words)]
    else:
        order = sorted(chances, key=lambda name: (name not in found["actions"], -chances[name]))
        shown = [(name, chances[name], name in found["actions"], percent(chances[name])) for name in order]
        about = "probabilities: " + ", ".join(f"{name} {p}" for name, _, _, p in shown[:_MOST])
        rows = [(name, p, "yes" if played else "no") for name, _, played, p in shown]
        long = f"All {len(rows)} actions" if len(rows) > 8 else ""
        table = Table(("action", "probability", "played"), rows, title=long)
        keys = [Key("bar played", "played"), Key("bar", "not played")]
        cards = [
            Card(
                name="chances",
                title="Probabilities" if len(found["actions"]) == 1 else "Probabilities at the first place",
                summary=why,
                chart=bars(about, shown[:_MOST]),
                keys=keys,
                tables=[table],
            )
        ]
    if explained is None:
        text, words = "", "Another policy made this decision, so that the one that decides now cannot explain it."
    else:
        text, words = dedent(explained), "Prices, worths and limits are those of the decision."
    return [*cards, Card(name="explained", title="What the policy says", summary=words, text=text, wide=True)]


def _case(found: Mapping[str, Any]) -> list[Card]:
    cards = [Card(name="stated", title="Stated", tables=[_named(("name", "value"), found["case"])])]
    offered = found.get("offered")
    words = "All actions." if offered is None else ", ".join(offered)
    tables = [_named(("known outcome", "value"), found["known"])] if found.get("known") else []
    return [*cards, Card(name="offered", title="Offered", summary=words, tables=tables)]


def _named(head: Sequence[str], values: Mapping[str, Any]) -> Table:
    return Table(head, [(name, _plain(value)) for name, value in values.items()], texts=True)


def _events(found: Mapping[str, Any]) -> Card:
    first = (str(found["id"]), "decided", moment(found["at"]), "", "")
    rows = [first]
    for event in found["events"]:
        after = duration((event["at"] - found["at"]) / 1e6)
        outcomes = "" if event["outcomes"] is None else _plain(event["outcomes"])
        rows.append((str(event["number"]), event["kind"], moment(event["at"]), after, outcomes))
    words = f"The outcome is overdue at {moment(found['deadline'])} UTC."
    head = ("event", "what", "when (UTC)", "after", "outcomes")
    return Card(name="events", title="Events", summary=words, tables=[Table(head, rows, texts=True)], wide=True)


def _plain(value: Any) -> str:
    """Format a value of a case or an outcome briefly."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(z)}" for name, z in value.items())
    if isinstance(value, list):
        return "; ".join(_plain(z) for z in value)
    if isinstance(value, float):
        return amount(value)
    return value if isinstance(value, str) else json.dumps(value)
