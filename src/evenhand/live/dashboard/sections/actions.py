"""The section on plays: actions over time, and their probabilities."""

from __future__ import annotations

import numpy as np

from evenhand.core.texts import count
from evenhand.live.dashboard.axis import Axis
from evenhand.live.dashboard.charts import HUES, histogram, shares
from evenhand.live.dashboard.interface import CampaignView
from evenhand.live.dashboard.sections.base import Readings
from evenhand.live.dashboard.tally import BINS, RARE, Tally
from evenhand.live.dashboard.view import Card, Key, Section, Table, digits, label, percent

_FEW = 8  # actions that are not folded


def actions(now: Readings) -> Section:
    """Show actions over time and the probabilities of the plays."""
    over_time = _course_of_actions(now.campaign, now.tally, _order(now.campaign, now.tally), now.axis)
    return Section(name="actions", title="Actions", cards=[over_time, _probabilities(now.tally)])


def _order(campaign: CampaignView, tally: Tally) -> list[str | None]:
    """All actions, the most played first, and playing nothing where it came to that."""
    names = [*campaign.policy.problem.actions, *([None] if tally.played[None] else [])]
    return sorted(names, key=lambda name: -tally.played[name])


def _course_of_actions(campaign: CampaignView, tally: Tally, order: list[str | None], axis: Axis) -> Card:
    """Chart the actions over time; the most played have a colour each, all others share one."""
    names: list[str | None] = [*campaign.policy.problem.actions, None]
    columns = {name: i for i, name in enumerate(names)}
    top = order if len(order) <= HUES else order[: HUES - 1]
    single = [name for name in names if name in top]  # in the order of the problem, so that colours are stable
    others = [columns[name] for name in order if name not in single]
    spans = tally.spans.all
    counted = [[int(s.plays[columns[name]]) for name in single] for s in spans]
    if others:
        counted = [[*row, int(s.plays[others].sum())] for row, s in zip(counted, spans, strict=True)]
    shown = [label(name) for name in single] + (["all others"] if others else [])
    whole = max(sum(tally.played.values()), 1)
    said = ", ".join(f"{label(name)} {percent(tally.played[name] / whole)}" for name in order[:HUES])
    lines = [(axis.format(x), *(f"{n:,}" for n in row)) for x, row in zip(axis.ends, counted, strict=True)]
    return Card(
        name="actions-over-time",
        title="Actions over time",
        summary="Shares of plays, in spans of equally many rounds. Probabilities are means where an action was played.",
        chart=shares(f"shares of plays over the rounds: {said}", counted, axis.ends, axis.horizontal()),
        keys=[Key(f"hue{min(i, HUES - 1)}", name) for i, name in enumerate(shown)],
        tables=[*_plays(order, tally), Table((axis.unit, *shown), lines, title=axis.table_title)],
        wide=True,
    )


def _plays(order: list[str | None], tally: Tally) -> list[Table]:
    whole, head = max(sum(tally.played.values()), 1), ("action", "plays", "share", "probability")
    rows = [
        (label(name), f"{tally.played[name]:,}", percent(tally.played[name] / whole), digits(tally.probability(name)))
        for name in order
    ]
    folded = [Table(head, rows, title=f"All {len(rows)} actions")] if len(rows) > _FEW else []
    return [Table(head, rows[:_FEW]), *folded]


def _probabilities(tally: Tally) -> Card:
    whole = max(sum(tally.bins), 1)
    certain = tally.bins[-1] / whole
    words = f"Probabilities of what was played. {count(tally.rare, 'play')} had a probability below {RARE}, "
    words += f"{percent(certain)} one of {1 - 1 / BINS:.2f} or more."
    if certain > 0.5:
        words += " A log of plays that were certain says little about other actions."
    if tally.unstated:
        words += f" Of {count(tally.unstated, 'play')} the policy cannot tell it."
    if tally.certain() == 1.0:
        words += (
            " All of the latest had probability 1, so the log cannot say what other actions would have brought; "
            "a holdout or a floor on probabilities would let it."
        )
    edges = np.linspace(0.0, 1.0, BINS + 1)
    rows = [
        (f"{low:.2f} to {high:.2f}", f"{n:,}", percent(n / whole))
        for low, high, n in zip(edges, edges[1:], tally.bins, strict=False)
        if n
    ]
    below = [(f"below {RARE}", tally.rare)]
    below += [(f"below {x}", sum(tally.bins[: round(x * BINS)])) for x in (0.05, 0.25, 0.5)]
    short = [(name, f"{n:,}", percent(n / whole)) for name, n in [*below, ("any", sum(tally.bins))]]
    return Card(
        name="probabilities",
        title="Probabilities",
        summary=words,
        chart=histogram(f"how many plays had which probability; {words}", tally.bins),
        keys=[Key("bar", "plays by their probability")],
        tables=[
            Table(("probability", "plays", "share"), short),
            Table(("probability", "plays", "share"), rows, title="All bins"),
        ],
        wide=True,
    )
