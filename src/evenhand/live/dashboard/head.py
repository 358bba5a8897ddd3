"""The head of the page: how a campaign goes, in one row."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evenhand.core.faces import count
from evenhand.live.dashboard.against import Against, against
from evenhand.live.dashboard.alarms import count_due
from evenhand.live.dashboard.axis import began
from evenhand.live.dashboard.plans import pace_of, plan_of
from evenhand.live.dashboard.sections import Readings
from evenhand.live.dashboard.view import Tile, digits, interval, moment, percent, signed
from evenhand.live.log.events import written
from evenhand.policy.status import Account, Use


def line(now: Readings) -> str:
    """Say which policy decides, since when, and when the latest event arrived."""
    spans = now.tally.spans.all
    latest = f"; the latest event at {moment(spans[-1].at)} UTC" if spans else ""
    restores = "".join(f"; restored {written(z.at)}: {z.gap}" for z in now.tally.ids.restores[-1:])
    lost = now.tally.uncounted
    uncounted = (
        f"; {count(lost, 'decision')} in segments not counted, as this policy counts in another way" if lost else ""
    )
    return f"{now.campaign.policy.name}, began {moment(began(now.campaign))} UTC{latest}{restores}{uncounted}"


def tiles(now: Readings, alarms: Sequence[str]) -> list[Tile]:
    """Return the objective, the budget that is furthest ahead of its plan, alarms, rounds, and what waits."""
    paced = _budget(now)
    return [_objective(now), *([] if paced is None else [paced]), _alarms(alarms), _rounds(now), _waiting(now)]


def _objective(now: Readings) -> Tile:
    problem, status = now.campaign.policy.problem, now.status
    name = f"Average {problem.maximize}" if isinstance(problem.maximize, str) else "Objective"
    found = against(problem, status, now.tally)
    return Tile(name, digits(status.objective), "no reference yet" if found is None else _compared(found))


def _compared(a: Against) -> str:
    rounds = f"{count(a.rounds, 'round')} {a.of}"
    if math.isnan(a.low):
        return f"{signed(a.difference)} against {rounds}: {a.verdict}"
    return f"{a.verdict}: {signed(a.difference)} ({interval(a.low, a.high)}, 95%) against {rounds}"


def _budget(now: Readings) -> Tile | None:
    """The pace of the budget that is furthest ahead of its plan, and the span of any that has the least left."""
    problem, axis, found = now.campaign.policy.problem, now.axis, []
    stated = (s for s in problem.stated if s.spends)
    for s, (name, account) in zip(stated, now.status.accounts.items(), strict=True):
        paced = pace_of(account, problem, plan_of(problem, s), now.status, axis)
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


def _waiting(now: Readings) -> Tile:
    n, whole = now.tally.counts, count_due(now.tally)
    overdue = f"{n['held']:,} of them overdue; " if n["held"] else ""
    expired = f"{percent(n['expired'] / whole)} of those due expired" if whole else "none was due"
    return Tile("Waiting", f"{now.status.waiting:,}", overdue + expired)
