"""The section on plays: actions over time, and their probabilities."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from evenhand.core.faces import count
from evenhand.live.dashboard.charts import HUES, histogram, shares
from evenhand.live.dashboard.sections.base import Readings
from evenhand.live.dashboard.tally import BINS, RARE, Tally
from evenhand.live.dashboard.view import Card, Key, Section, Table, digits, label, percent
from evenhand.live.dashboard.watched import Watched


def actions(now: Readings) -> Section:
    """Show actions over time and the probabilities of the plays."""
    return Section(
        name="actions", title="Actions", cards=[_actions(now.campaign, now.tally), _probabilities(now.tally)]
    )


def _actions(campaign: Watched, tally: Tally) -> Card:
    """Chart the actions over time; the most played have a colour each, all others share one."""
    names: list[str | None] = list(campaign.policy.problem.actions)
    columns = {name: i for i, name in enumerate(names)} | {None: len(names)}
    names += [None] if tally.played[None] else []
    order = sorted(names, key=lambda name: -tally.played[name])
    top = order if len(order) <= HUES else order[: HUES - 1]
    single = [name for name in names if name in top]  # in the order of the problem, so that colours are stable
    others = [columns[name] for name in order if name not in single]
    spans = tally.spans.all
    counted = [[int(s.plays[columns[name]]) for name in single] for s in spans]
    if others:
        counted = [[*row, int(s.plays[others].sum())] for row, s in zip(counted, spans, strict=True)]
    shown = [label(name) for name in single] + (["all others"] if others else [])
    rounds = [float(x) for x in accumulate(s.rounds for s in spans)]
    whole = max(sum(tally.played.values()), 1)
    rows = []
    for name in order:
        times, mean = tally.played[name], tally.probability(name)
        rows.append((label(name), f"{times:,}", percent(times / whole), digits(mean)))
    about = "shares of plays over the rounds: " + ", ".join(f"{row[0]} {row[2]}" for row in rows[:HUES])
    lines = [(f"{x:,.0f}", *(f"{n:,}" for n in row)) for x, row in zip(rounds, counted, strict=True)]
    head = ("action", "plays", "share", "probability")
    return Card(
        name="actions-over-time",
        title="Actions over time",
        summary="Shares of plays, in spans of equally many rounds. Probabilities are means where an action was played.",
        chart=shares(about, counted, rounds),
        keys=[Key(f"hue{min(i, HUES - 1)}", name) for i, name in enumerate(shown)],
        tables=[
            Table(head, rows, title="" if len(rows) <= 8 else "All actions"),
            Table(("rounds", *shown), lines, title="Over the rounds"),
        ],
    )


def _probabilities(tally: Tally) -> Card:
    whole = max(sum(tally.bins), 1)
    words = f"Of what was played. {count(tally.rare, 'play')} had a probability below {RARE}."
    if tally.unstated:
        words += f" Of {count(tally.unstated, 'play')} the policy cannot tell it."
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
    )
