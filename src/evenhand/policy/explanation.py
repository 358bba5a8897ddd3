"""Explanations of decisions, in numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from evenhand.choices.base import Choice, Offer, behind, known_lotteries
from evenhand.core.records import Context, Decision
from evenhand.core.texts import amount
from evenhand.core.types import Bools, Floats
from evenhand.goals.base import Spanned
from evenhand.planning.pace import margins, to_come
from evenhand.policy import checks
from evenhand.policy.queries import Questions, pace_books
from evenhand.policy.standings import floors
from evenhand.policy.state import PolicyState
from evenhand.policy.units import UnitBooks
from evenhand.problem.constraints import Statement
from evenhand.problem.end import is_over
from evenhand.problem.problem import Problem

_MOST = 30  # lines on prices or candidates; the others are counted


class Debt(NamedTuple):
    """The span of a floor that owes most per future case, among those that contain a time."""

    name: str
    span: str
    floor: float
    value: float  # so far; of groups the least sum divided by the share
    cases: float  # that are forecast for the rest of the span
    among: int  # spans that contain the time

    @property
    def text(self) -> str:
        """The amount owed, in words."""
        of = f"{self.name}: {amount(self.value)} of {amount(self.floor)} reached from {self.span}"
        left = self.floor - self.value
        owed = f"{amount(left)} owed in about {self.cases:,.0f} future cases" if left > 0.0 else "nothing owed"
        return f"{of}, {owed}{f', the most of {self.among} spans' if self.among > 1 else ''}"


def debt(
    problem: Problem, stated: Statement, table: Floats, time: float, coming: Callable[[Floats], Floats]
) -> Debt | None:
    """Return the amount that a floor requires at a time, by a replica's table by period, `(P,1+C,W)`.

    `coming` has the cases that are expected from then on up to some ends, `(n)->(n)`. None if the constraint has no
    floor per span, or no span contains the time.
    """
    spans = stated.spans
    found = floors(problem, stated, table[None]) if spans is not None and spans.floors else None
    if found is None or spans is None:
        return None
    now = np.array([time])
    inside = spans.contain(spans.period(now))[0]
    if not inside.any():
        return None
    cases = coming(spans.ends)
    each = (found.asked - found.value[:, 0]) / np.maximum(cases * margins(problem, spans), 1.0)
    s, clock = int(np.where(inside, each, -np.inf).argmax()), problem.clock
    start, end = float(spans.edges[spans.first[s]]), float(min(spans.ends[s], clock.last))
    return Debt(
        name=str(stated.outcome) if stated.by is None else f"{stated.outcome}, least by {stated.by}",
        span=f"{clock.format(start)} to {clock.format(end)}",
        floor=float(found.asked[s]),
        value=float(found.value[s, 0]),
        cases=float(cases[s]),
        among=int(inside.sum()),
    )


def explain(ask: Questions, choice: Choice, state: PolicyState, context: Context, d: Decision, replica: int) -> str:
    """Explain a decision by the prices of rows, the worth of candidates and the masks; see `Policy.explain`."""
    problem = ask.problem
    context = checks.context(context, len(state.t), ask.model.n_features, problem)
    checks.replica(replica, len(state.t))
    worth, units = ask.net_worth(state, context, d), UnitBooks(problem)
    capped = context.offered & ~units.allow(state.units, context, d.time, int(d.id[0])).offered
    forbidden = capped[min(replica, len(capped) - 1)]
    offer = ask.offer(state, context, late=bool(d.counted[replica]))  # where it was played, it was offered
    playable, offered = offer.playable, context.offered[min(replica, len(context.offered) - 1)]
    prices = [
        f"  price of {name:<34} {price:+.4f}" for name, price in zip(ask.rows.names, d.row_prices[replica], strict=True)
    ]
    groups = context.groups[replica]
    lines = [
        *_first(prices, "prices"),
        *_tightest_spans(ask, state, d, replica),
        *_largest_debts(ask, state, d, replica),
    ]
    for i, (grouping, group) in enumerate(problem.columns):
        if len(groups) == 1 and i in groups[0]:
            lines.append(f"  the case is in {grouping} = {group}")
    for cap, used in units.uses(state.units, context, d, replica):
        of = f"{amount(cap.at_most)} {cap.outcome} within {units.length(cap.within)}"
        lines.append(f"  a cap of this unit: {amount(used)} of {of}")
    played = d.plays[replica].tolist()
    order = [a for a in played if a >= 0] + [a for a in range(worth.shape[1]) if a not in played]
    named, selects = len(problem.actions) == worth.shape[1], getattr(ask.model, "selects", False)
    names = problem.actions if named else tuple(f"candidate {a}" for a in range(worth.shape[1]))
    candidates = []
    for a in order if len(order) > _MOST else sorted(order):
        name = names[a]
        note = (
            ""
            if playable[replica, a]
            else f"  masked: {_misfit(ask, offer, replica, a) if offered[a] else 'not offered'}"
        )
        if forbidden[a]:
            note = "  masked: a cap forbids it"
        note = "  withdrawn" if name in problem.withdrawn else note
        if a in played:
            place = played.index(a)
            chance = float(d.propensities[replica, place])
            known = "unknown" if math.isnan(chance) else f"{chance:.3f}"
            note = f"  played ({place + 1} of {len(played)}), probability {known}"
        value = "" if selects else f" worth {worth[replica, a]:+.4f}"
        candidates.append(f"  {name:<20}{value}{note}".rstrip())
    lines += _first(candidates, "candidates")
    if selects:
        lines.append("  an algorithm that is wrapped selected: what it believes of the candidates is not known")
    if d.counted[replica] == 0:
        lines.append("  nothing was played: nothing fits, or the horizon is over")
    elif problem.unit is not None and units.is_kept(state.units, context, d, replica):
        lines.append(f"  the {problem.unit.name} keeps the action that it got before")
    elif behind(choice, np.ones(worth.shape[1])) is not None:
        fits = playable[replica] & ~forbidden
        lines += _best_candidate(worth[replica], fits, names, d, replica) if not selects else []
        drew = "drew this round, whatever candidates are worth" if d.forced[replica] == 1 else "left this round to it"
        lines.append(f"  a lottery for {known_lotteries(choice) or 'a share of rounds'} stood before it, and {drew}")
    elif d.forced[replica] == 1:
        lines.append("  at random, as in a warm-up: the choice did not look at the values")
    if d.counted[replica] == 1 and _is_late(problem, context, float(d.time[replica])):
        lines.append("  after the horizon: as the last round, with what was left of hard limits")
    return "\n".join(lines)


def _misfit(ask: Questions, offer: Offer, replica: int, a: int) -> str:
    """Say why an offered candidate may not be played."""
    worst = offer.worst[min(replica, len(offer.worst) - 1), a]
    names = [name for _, limits in ask.can.limits for name in limits.rows.names]
    full = [name for name, z, left in zip(names, worst, offer.left[replica], strict=True) if z > left]
    return f"its worst case does not fit {', '.join(full)}" if full else "the run is over"


def _best_candidate(worth: Floats, playable: Bools, names: Sequence[str], d: Decision, replica: int) -> Iterator[str]:
    """Say which candidate is worth most, and how much more than the play."""
    played = int(d.plays[replica, 0])
    allowed = playable.copy()
    allowed[played] = True  # it was played, so that it fitted
    best = int(np.where(allowed, worth, -np.inf).argmax())
    more = "" if best == played else f", {amount(float(worth[best] - worth[played]))} more than {names[played]}"
    yield f"  {names[best]} is worth most of what may be played{more}"


def _is_late(problem: Problem, context: Context, time: float) -> bool:
    """Whether a decision came after the end; its time is its round where the case states none."""
    return is_over(problem, time if context.time is None else 0.0, time)


def _tightest_spans(ask: Questions, state: PolicyState, d: Decision, replica: int) -> Iterator[str]:
    """Yield a sentence per limit on spans of time: the span that leaves the least at the time of a decision."""
    clock = ask.problem.clock
    for i, limits in ask.can.limits:
        if isinstance(limits, Spanned):
            spans, period = limits.spans, limits.spans.period(d.time[replica : replica + 1])
            rest = spans.rest(limits.used(state.goals[i])[replica : replica + 1], period)[0]
            s = int(rest.argmin())
            start, end = spans.edges[spans.first[s]], min(spans.ends[s], clock.last)
            among = f", the least of {np.isfinite(rest).sum()} spans" if np.isfinite(rest).sum() > 1 else ""
            name, within = limits.rows.names[0], f"{clock.format(float(start))} to {clock.format(float(end))}"
            yield f"  {name}: {amount(float(rest[s]))} of {amount(float(spans.allowance[s]))} left from {within}{among}"


def _largest_debts(ask: Questions, state: PolicyState, d: Decision, replica: int) -> Iterator[str]:
    """Yield a sentence per floor on spans of time: the span that owes most at the time of a decision."""
    if state.periods is not None:
        table, time, books = state.periods[replica], d.time, pace_books(ask.can, state)

        def coming(ends: Floats) -> Floats:
            every = to_come(ask.problem, time, ends) if books is None else books[0].coming(books[1], time, ends)
            return np.asarray(every[replica])

        found = (debt(ask.problem, stated, table, float(time[replica]), coming) for stated in ask.problem.stated)
        yield from (f"  {each.text}" for each in found if each is not None)


def _first(lines: list[str], what: str) -> list[str]:
    return lines if len(lines) <= _MOST else [*lines[:_MOST], f"  and {len(lines) - _MOST} more {what}"]
