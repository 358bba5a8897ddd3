"""Limits of a campaign that are used up: its horizon, its end and its budgets."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.core.texts import amount, count
from evenhand.goals.base import Accounts
from evenhand.live.fold.fold import Fold, time_of
from evenhand.live.log.events import Conflict
from evenhand.live.log.life import Ended
from evenhand.policy.after_horizon import unguarded_constraints
from evenhand.policy.policy import Policy
from evenhand.policy.status import Status
from evenhand.problem.end import past
from evenhand.problem.problem import Problem

_STOP = "`evenhand pause` or `end` stops a campaign"
_NEAR = 1e-9  # relative


def refuse_ended_run(campaign: str, fold: Fold, policy: Policy, now: int) -> None:
    """Refuse to continue with a policy whose run is over.

    It is accepted where the run of the present policy is over as well, or where decisions continue after the horizon.

    Args:
        campaign: its name.
        fold: its state under the present policy.
        policy: the next one.
        now: microseconds since 1970.

    Raises:
        Ended: the campaign has ended for good.
        InvalidInput: the next policy has a horizon of no more rounds than are decided, or an end that is past.
    """
    if fold.life.state == "ended":
        raise Ended(f"campaign {campaign!r} is {fold.life.summary}; it makes no more decisions, under any policy")
    if fold.life.after == "go on":
        return
    old, new = fold.policy.problem, policy.problem
    rounds = float(fold.state.t[0])
    if rounds >= new.last_round and rounds < old.last_round:
        expected = f"more than the {count(int(rounds), 'round')} that are decided; {_STOP}"
        raise InvalidInput("policy: problem.horizon", expected, new.horizon)
    if is_past(new, now) and not is_past(old, now):
        at = datetime.fromtimestamp(now // 1_000_000, UTC).isoformat(" ")
        raise InvalidInput("policy: problem.until", f"an end after {at}, the present time; {_STOP}", new.until)


def exhausted_budgets(status: Status) -> list[str]:
    """List the budgets that are exhausted by what is spent and held.

    A switch may lower a budget so far, as a stop of what costs. An unspent budget of 0 is not listed. Of a budget by
    spans of time, the present ones count.
    """
    found = []
    for name, account in status.accounts.items():
        used, total = account.spent + account.held, account.total
        if account.hard and used > 0 and used >= total * (1 - _NEAR):
            told = f"{amount(used)} of {amount(total)} is spent and held, so that nothing that uses it is played"
            found.append(f"budget {name}: {told}")
            continue
        now = account.tightest
        if now is not None and now.used > 0 and now.used >= now.allowance * (1 - _NEAR):
            told = f"{amount(now.used)} of {amount(now.allowance)} is spent and held from {now.start} to {now.end}"
            found.append(f"budget {name}: {told}, so that nothing that uses it is played until then")
    return found


def refuse_narrow_ranges(fold: Fold, policy: Policy) -> None:
    """Refuse narrower ranges than those by which a hard budget holds the most that decisions may still use.

    Raises:
        Conflict: there is such a budget.
    """
    actions = len(fold.policy.problem.actions)
    before, now = (
        np.broadcast_to(z, (2, max(actions, z.shape[1]), z.shape[2]))[:, :actions]
        for z in (fold.policy.problem.span_by_action, policy.problem.span_by_action)
    )
    narrow = ((before[0] < now[0]) | (before[1] > now[1])).any(0)
    for goal, state in zip(fold.policy.goals, fold.state.goals, strict=True):
        if isinstance(goal, Accounts):
            reads = np.hstack([goal.rows.learned, goal.rows.known[:, goal.rows.noisy]]) != 0.0
            for j in np.flatnonzero((reads & narrow).any(1) & (goal.account(state)[1][0] > 0.0)):
                told = f"budget {goal.rows.names[j]!r} holds what waiting decisions may use by wider ranges"
                raise Conflict(f"{told}: observe or cancel them first, keep the ranges, or append an action")


def is_past(problem: Problem, now: int) -> bool:
    """Return whether a time of the store, in microseconds since 1970, is after the end that a run states."""
    return past(problem, problem.clock.of_micros(now))


def refuse_late(campaign: str, fold: Fold, context: Context) -> None:
    """Refuse a decision after the end of a run, unless the campaign then plays nothing or continues.

    Args:
        campaign: its name.
        fold: its state before the decision.
        context: of the case.

    Raises:
        Ended: the campaign is over, or would continue with a budget that nothing keeps.
    """
    if fold.life.after == "nothing" or not fold.is_late(context):
        return
    problem = fold.policy.problem
    over = f"its horizon of {problem.horizon:,} rounds is reached"
    if past(problem, time_of(context)):
        over = f"its end, {problem.clock.format(problem.clock.last)}, has passed"
    if fold.life.after == "stop":
        raise Ended(f"campaign {campaign!r} is over: {over}")
    if soft := unguarded_constraints(fold.policy):
        raise Ended(f"campaign {campaign!r} does not continue: {over}, and {_unkept(soft)}")


def refuse_soft(field: str, policy: Policy) -> None:
    """Refuse a policy that would continue after the horizon with a budget without a hard limit.

    Raises:
        InvalidInput: there is such a budget.
    """
    if soft := unguarded_constraints(policy):
        expected = 'only budgets that are kept hard, as after = "go on" lets decisions after the horizon spend the rest'
        raise InvalidInput(field, expected, f"one where {_unkept(soft)}")


def _unkept(soft: tuple[str, ...]) -> str:
    return f"no hard limit keeps {', '.join(soft)}"
