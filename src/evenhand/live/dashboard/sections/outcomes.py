"""The section on outcomes: the objective, late and missing outcomes, and prices."""

from __future__ import annotations

from evenhand.core.texts import count
from evenhand.live.dashboard.alarms import count_due
from evenhand.live.dashboard.charts import course
from evenhand.live.dashboard.contrast import TOO_FEW, contrast, is_few
from evenhand.live.dashboard.sections.base import Readings
from evenhand.live.dashboard.tally import Tally
from evenhand.live.dashboard.view import Card, Key, Section, Table, digits, duration, interval, pair, percent, signed
from evenhand.policy.status import Status

_MOST = 8  # prices that are not folded


def outcomes(now: Readings) -> Section:
    """Show the objective, the counts of timely, late and missing outcomes, prices, and the notes of the model."""
    small = pair([*_came(now.status, now.tally)])
    cards = [_objective(now), *_holdout(now.status, now.tally), *small, *_model(now.status)]
    return Section(name="outcomes", title="Outcomes", cards=cards)


def _objective(now: Readings) -> Card:
    problem, status, tally, axis = now.campaign.policy.problem, now.status, now.tally, now.axis
    values = [(x, y) for x, y in zip(axis.ends, tally.objectives(), strict=True) if y is not None]
    beside, rows = contrast(problem, status, tally), [("so far", digits(status.objective))]
    words = (
        f"Averages are over the {count(tally.n_with_outcomes(), 'decision')} that count: those with their outcomes. "
    )
    if beside is None:
        words += "There is no reference: rounds at random with outcomes, and others, are needed for one."
    else:
        words += f"The reference: {count(beside.rounds, 'round')} {beside.of}, whose plays no value or price decided."
        rows += [
            (beside.of, digits(beside.reference)),
            ("all others", digits(beside.decided)),
            ("difference", signed(beside.difference)),
            ("its 95% interval", interval(beside.low, beside.high)),
        ]
    rows += [(f"average {name}", digits(x)) for name, x in status.averages.items()]
    title = f"Objective: average {problem.maximize}" if isinstance(problem.maximize, str) else "Objective"
    tables = [Table(("per round", "average"), rows)]
    if not values:
        return Card(name="objective", title=title, summary=words, tables=tables, wide=True)
    lines = [(axis.format(x), digits(y)) for x, y in values]
    reference = None if beside is None else beside.reference
    text = "" if beside is None else f"; {digits(reference)} {beside.of}"
    return Card(
        name="objective",
        title=title,
        summary=words,
        chart=course(f"objective: {digits(status.objective)} so far{text}", values, axis.horizontal(), reference),
        keys=[Key("spent", "so far"), *([Key("reference", beside.of)] if beside is not None else [])],
        tables=[*tables, Table((axis.unit, "objective"), lines, title=axis.table_title)],
        wide=True,
    )


def _holdout(status: Status, tally: Tally) -> list[Card]:
    """Rounds held out beside the others, a line per outcome; none where no round is held out."""
    if not status.held_out:
        return []
    rows = []
    for c in status.held_out.values():
        between = TOO_FEW if is_few(c, tally) else f"{digits(c.low)} to {digits(c.high)}"
        rows.append((c.name, f"{c.rounds:,.0f}", digits(c.held_out), digits(c.others), between))
    words = "Rounds drawn at random, which a known lottery played, beside all others."
    head = ("per round", "rounds held out", "held out", "others", "difference, 95% interval")
    return [Card(name="held-out", title="Held out", summary=words, tables=[Table(head, rows, texts=True)], wide=True)]


def _came(status: Status, tally: Tally) -> list[Card]:
    n, whole = tally.counts, max(count_due(tally), 1)
    rows = [
        ("observed in time", f"{n['observed'] - n['late']:,}", percent((n["observed"] - n["late"]) / whole)),
        ("observed late, after expiry", f"{n['late']:,}", percent(n["late"] / whole)),
        ("expired, no outcome yet", f"{n['overdue']:,}", percent(n["overdue"] / whole)),
    ]
    others = [
        ("waiting", f"{status.waiting:,}"),
        ("cancelled", f"{n['cancelled']:,}"),
        ("revised", f"{n['revised']:,}"),
        ("median delay", duration(tally.delays.quantile(0.5))),
        ("90% of delays, at most", duration(tally.delays.quantile(0.9))),
    ]
    tables = [Table(("due by now", "decisions", "share"), rows), Table(("other", "number"), others)]
    cards = [Card(name="came", title="What came, and when", tables=tables)]
    if status.prices:
        prices = [(name, f"{x:+.4g}" if x else "0") for name, x in status.prices.items()]
        words = "What one more unit is worth at present."
        tables = [Table(("of", "price"), prices[:_MOST])]
        if len(prices) > _MOST:
            tables.append(Table(("of", "price"), prices, title=f"All {len(prices)} prices"))
        cards.append(Card(name="prices", title="Prices", summary=words, tables=tables))
    return cards


def _model(status: Status) -> list[Card]:
    text = "\n".join(note.text for note in status.notes)
    return [Card(name="model", title="The model", text=text, wide=True)] if text else []
