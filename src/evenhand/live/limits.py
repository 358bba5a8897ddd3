"""Limits of another policy that are used up already, so that a switch to it would stop a campaign in silence."""

from __future__ import annotations

from datetime import UTC, datetime

from evenhand.core.errors import InvalidInput
from evenhand.core.faces import amount, count
from evenhand.live.fold import Fold
from evenhand.live.life import Ended
from evenhand.policy.policy import Policy
from evenhand.policy.status import Status
from evenhand.problem.ended import past
from evenhand.problem.problem import Problem

_STOP = "`evenhand pause` or `end` stops a campaign"
_NEAR = 1e-9  # relative


def refuse_over(campaign: str, fold: Fold, policy: Policy, now: int) -> None:
    """Refuse to go on with a policy whose run is over.

    It is accepted where the run of the present policy is over as well, or where decisions go on after the horizon.

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
        raise Ended(f"campaign {campaign!r} is {fold.life.told}; it decides nothing any more, under no policy")
    if fold.life.after == "go on":
        return
    old, new = fold.policy.problem, policy.problem
    rounds = float(fold.state.t[0])
    if rounds >= new.last_round and rounds < old.last_round:
        expected = f"more than the {count(int(rounds), 'round')} that are decided; {_STOP}"
        raise InvalidInput("policy: problem.horizon", expected, new.horizon)
    if _past(new, now) and not _past(old, now):
        at = datetime.fromtimestamp(now // 1_000_000, UTC).isoformat(" ")
        raise InvalidInput("policy: problem.until", f"an end after {at}, which is now; {_STOP}", new.until)


def used_up(status: Status) -> list[str]:
    """Say which budgets have no more than is spent and held, so that nothing that uses them is played any more.

    A switch may lower a budget so far, as a stop of what costs.
    """
    return [
        f"budget {name}: {amount(account.spent + account.held)} of {amount(account.total)} is spent and held, so that "
        "nothing that uses it is played"
        for name, account in status.accounts.items()
        if account.hard and account.spent + account.held > account.total * (1 + _NEAR)
    ]


def _past(problem: Problem, now: int) -> bool:
    return past(problem, problem.clock.of_micros(now))
