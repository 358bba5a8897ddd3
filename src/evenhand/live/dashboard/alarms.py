"""What somebody should look at now, each a fact of the log or of the status."""

from __future__ import annotations

from collections.abc import Iterator

from evenhand.core.faces import count
from evenhand.live.dashboard.tally import Tally
from evenhand.live.dashboard.view import part, said
from evenhand.live.dashboard.watched import Watched
from evenhand.policy.status import Status

MANY = 0.1  # of the outcomes that are due may expire without an alarm
_FEW = 20  # outcomes that are due, below which no share is judged


def alarms(campaign: Watched, status: Status, tally: Tally) -> list[str]:
    """Budgets that are overspent or jammed, limits that are missed, outcomes after their release, too many expired."""
    return [*_budgets(status, tally), *_limits(status), *_outcomes(campaign, tally)]


def due(tally: Tally) -> int:
    """How many decisions have their outcome or were to have it by now."""
    counts = tally.counts
    return counts["observed"] + counts["expired"] - counts["late"]


def _budgets(status: Status, tally: Tally) -> Iterator[str]:
    for name, a in status.accounts.items():
        if a.spent > a.total * (1 + 1e-9):
            yield f"{name}: overspent. {said(a.spent)} of {said(a.total)} is spent, {said(a.spent - a.total)} too much."
        elif a.hard and a.held > a.left and tally.spans.all and tally.spans.all[-1].restricted:
            last = tally.spans.all[-1]
            yield (
                f"{name}: jammed. {said(a.held)} is held for outcomes to come and {said(a.left)} is left; in "
                f"{last.restricted:,} of the last {count(last.rounds, 'round')}, actions did not fit the hard budgets."
            )


def _limits(status: Status) -> Iterator[str]:
    """Limits that are missed by more than chance explains."""
    for name, s in status.standings.items():
        if s.verdict not in ("kept", "close") and status.rounds > status.waiting:
            yield f"{name}: {said(s.value)}, {s.side} {said(s.limit)}. It is {s.said}."


def _outcomes(campaign: Watched, tally: Tally) -> Iterator[str]:
    late, expired, whole = tally.counts["late"], tally.counts["expired"], due(tally)
    if late and campaign.terms.on_expiry == "release":
        yield f"{count(late, 'outcome')} came after what was held was given back: hard budgets may be overspent by it."
    if whole >= _FEW and expired > MANY * whole:
        yield f"{part(expired / whole)} of the outcomes that were due expired ({expired:,} of {whole:,})."
