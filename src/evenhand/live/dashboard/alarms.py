"""Alarms: facts of the log or the status that need attention."""

from __future__ import annotations

from collections.abc import Iterator

from evenhand.core.faces import count
from evenhand.live.dashboard.tally import Tally
from evenhand.live.dashboard.view import digits, percent
from evenhand.live.dashboard.watched import Watched
from evenhand.policy.status import Status

MANY = 0.1  # the share of due outcomes that may expire without an alarm
CLIPPED = 0.05  # the share of the latest decisions that may state a value out of range without an alarm
_FEW = 20  # with fewer due outcomes than this, the share is not judged
_FEW_CASES = 100  # with fewer decisions than this, values out of range are not judged


def alarms(campaign: Watched, status: Status, tally: Tally) -> list[str]:
    """List the alarms: overspent or jammed budgets, missed limits, late outcomes, too many expiries; the model's."""
    said = [f"{note.text[:1].upper()}{note.text[1:]}." for note in status.notes if note.alarm]
    return [*_budgets(status, tally), *_limits(status), *_outcomes(tally), *_cases(tally), *said]


def count_due(tally: Tally) -> int:
    """Count the decisions whose outcome has arrived or is overdue."""
    counts = tally.counts
    return counts["observed"] + counts["expired"] - counts["late"]


def _budgets(status: Status, tally: Tally) -> Iterator[str]:
    for name, n in tally.credited.items():
        yield f"{name}: {count(n, 'decision')} stated a use below 0, by which others get more than the total."
    for name, a in status.accounts.items():
        if a.spent < 0:
            yield f"{name}: {digits(a.spent)} is spent, which is below 0."
        if a.spent > a.total * (1 + 1e-9):
            over = digits(a.spent - a.total)
            yield f"{name}: overspent. {digits(a.spent)} of {digits(a.total)} is spent, {over} too much."
        elif a.hard and a.held > a.left and tally.spans.all and tally.spans.all[-1].restricted:
            last = tally.spans.all[-1]
            yield (
                f"{name}: jammed. {digits(a.held)} is held for outcomes to come and {digits(a.left)} is left; in "
                f"{last.restricted:,} of the last {count(last.rounds, 'round')}, actions did not fit the hard budgets."
            )


def _limits(status: Status) -> Iterator[str]:
    """Yield the limits that are missed by more than chance explains."""
    for name, s in status.standings.items():
        if s.verdict not in ("kept", "close") and status.rounds > status.waiting:
            yield f"{name}: {digits(s.value)}, {s.side} {digits(s.limit)}. It is {s.said}."


def _outcomes(tally: Tally) -> Iterator[str]:
    released, expired, whole = tally.counts["released"], tally.counts["expired"], count_due(tally)
    if released:
        said = count(released, "outcome")
        yield f"{said} came after what was held was given back: hard budgets may be overspent by it."
    if whole >= _FEW and expired > MANY * whole:
        yield f"{percent(expired / whole)} of the outcomes that were due expired ({expired:,} of {whole:,})."


def _cases(tally: Tally) -> Iterator[str]:
    for name, n, whole in tally.clipped.latest():
        if whole >= _FEW_CASES and n > CLIPPED * whole:
            of = f"{percent(n / whole)} of the latest {whole:,} decisions"
            yield f"{name}: {of} stated a value out of its range, which counted as another one."
