"""The page of one decision: its case, the probability of each action, the explanation, and its events."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from textwrap import dedent
from typing import Any

from evenhand.core.texts import amount
from evenhand.live.dashboard.charts import bars, signed_bars
from evenhand.live.dashboard.page import render
from evenhand.live.dashboard.view import (
    Card,
    Key,
    Section,
    Table,
    Tile,
    digits,
    duration,
    moment,
    pair,
    percent,
    signed,
)
from evenhand.live.worker.explanation import Explanation, Why

_MOST = 30  # bars in a chart; the table has all
_NOTHING = 1e-9  # of the largest part: rounding


def decision_page(campaign: str, found: Mapping[str, Any], explained: Explanation | None) -> str:
    """Render the page of a decision.

    Args:
        campaign: its name.
        found: the stored decision, from `lookup`.
        explained: the explanation of the policy that made the decision, None if that is not known.
    """
    sections = [
        Section(name="why", title="The choice", cards=_choice(found, explained)),
        Section(name="case", title="The case", cards=_case(found)),
        Section(name="log", title="The log", cards=[_events(found)]),
    ]
    actions = ", ".join("(nothing)" if name is None else name for name in found["actions"])
    chances = ", ".join("unknown" if p is None else percent(p) for p in found["probabilities"])
    values = {
        "title": f"Decision {found['id']}",
        "campaign": campaign,
        "key": found["key"],
        "policy": found["policy"] or "",
        "tiles": [Tile("Action", actions), Tile("Probability", chances), Tile("State", found["state"])],
        "sections": sections,
        "style": None,
        "root": "../../",
    }
    return render("decision.html", values)


def _choice(found: Mapping[str, Any], explained: Explanation | None) -> list[Card]:
    cards = [_chances(found)]
    if explained is None:
        text = ""
        words = "A policy that this server does not have made this decision, or what is needed was erased."
    else:
        cards += [] if explained.why is None else [_contributions(found["case"], explained.why)]
        cards += [_predictions(explained.expected, found["actions"])]
        text, words = dedent(explained.text), "Prices, worths and limits are those of the decision."
    said = Card(name="explained", title="What the policy says", summary=words, text=text, wide=True)
    return [*pair(cards), said]


def _predictions(each: Mapping[str, Mapping[str, float]], played: Sequence[str | None]) -> Card:
    """List the outcomes that every action was expected to have, the actions that were played first."""
    names = list(next(iter(each.values())))
    order = sorted(each, key=lambda action: action not in played)
    rows = [(action, *(digits(each[action][name]) for name in names)) for action in order]
    words = "What each action was expected to bring in this case, as predicted then; known outcomes as they are."
    title = f"All {len(rows)} actions" if len(rows) > 8 else ""
    return Card(
        name="expected", title="Expected outcomes", summary=words, tables=[Table(("action", *names), rows, title=title)]
    )


def _contributions(case: Mapping[str, Any], z: Why) -> Card:
    """Chart what made the play worth more than the best other action, the largest parts first."""
    parts = [(f"{name} {_plain(case[name])}" if name in case else name, x) for name, x in z.features.items() if name]
    parts.sort(key=lambda part: -abs(part[1]))
    others = (
        ("every case", z.features.get("", 0.0)),
        ("known outcomes", z.known),
        ("exploration", z.unsure),
        ("no feature", z.rest),
    )
    parts += [(name, x) for name, x in others if abs(x) > _NOTHING * max(abs(x) for _, x in (*parts, *others))]
    shown = [(name, x, signed(x)) for name, x in parts[:_MOST]]
    more = f"{signed(abs(z.difference)).lstrip('+')} {'less' if z.difference < 0.0 else 'more'}"
    words = f"At the prices then, {z.played} was worth {more} than {z.other}, the best other action."
    rows = [*((name, signed(x)) for name, x in parts), ("difference", signed(z.difference))]
    title = "" if len(rows) <= 8 else f"All {len(parts)} parts"
    return Card(
        name="mattered",
        title="What mattered",
        summary=words,
        chart=signed_bars(f"what made {z.played} differ from {z.other}: {_join(shown)}", shown),
        keys=[Key("bar", f"for {z.played}"), Key("less", f"for {z.other}")],
        tables=[Table(("part", "of the difference"), rows, title=title)],
    )


def _join(shown: Sequence[tuple[str, float, str]]) -> str:
    return ", ".join(f"{name} {words}" for name, _, words in shown)


def _chances(found: Mapping[str, Any]) -> Card:
    why = found["explanation"][:1].upper() + found["explanation"][1:] + "."
    chances = found["chances"]
    if chances is None:
        words = f"{why} Those of other actions are not in the log: the policy cannot state them, or there are too many."
        return Card(name="chances", title="Probabilities", summary=words)
    order = sorted(chances, key=lambda name: (name not in found["actions"], -chances[name]))
    shown = [(name, chances[name], name in found["actions"], percent(chances[name])) for name in order]
    about = "probabilities: " + ", ".join(f"{name} {p}" for name, _, _, p in shown[:_MOST])
    rows = [(name, p, "yes" if played else "no") for name, _, played, p in shown]
    table = Table(("action", "probability", "played"), rows, title=f"All {len(rows)} actions" if len(rows) > 8 else "")
    keys = [Key("bar played", "played")]
    keys += [Key("bar", "not played")] if any(p > 0.0 and not played for _, p, played, _ in shown) else []
    return Card(
        name="chances",
        title="Probabilities" if len(found["actions"]) == 1 else "Probabilities at the first place",
        summary=why,
        chart=bars(about, shown[:_MOST]),
        keys=keys,
        tables=[table],
    )


def _case(found: Mapping[str, Any]) -> list[Card]:
    if "case" not in found:
        return [Card(name="stated", title="Stated", summary="Erased.")]
    cards = [Card(name="stated", title="Stated", tables=[_table_of(("name", "value"), found["case"])])]
    offered = found.get("offered")
    words = "All actions." if offered is None else ", ".join(offered)
    tables = [_table_of(("known outcome", "value"), found["known"])] if found.get("known") else []
    return [*cards, Card(name="offered", title="Offered", summary=words, tables=tables)]


def _table_of(head: Sequence[str], values: Mapping[str, Any]) -> Table:
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
