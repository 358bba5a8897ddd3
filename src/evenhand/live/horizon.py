"""What is answered to who asks for a decision after the horizon, or after the end of a run that has dates."""

from __future__ import annotations

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context
from evenhand.live.fold import Fold, time_of
from evenhand.live.life import Ended
from evenhand.policy.late import unguarded
from evenhand.policy.policy import Policy
from evenhand.problem.ended import past


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
        over = f"its end, {problem.clock.written(problem.clock.last)}, has passed"
    if fold.life.after == "stop":
        raise Ended(f"campaign {campaign!r} is over: {over}")
    if soft := unguarded(fold.policy):
        raise Ended(f"campaign {campaign!r} does not continue: {over}, and {_unkept(soft)}")


def refuse_soft(field: str, policy: Policy) -> None:
    """Refuse a policy that would continue after the horizon with a budget without a hard limit.

    Raises:
        InvalidInput: there is such a budget.
    """
    if soft := unguarded(policy):
        expected = 'only budgets that are kept hard, as after = "go on" lets decisions after the horizon spend the rest'
        raise InvalidInput(field, expected, f"one where {_unkept(soft)}")


def _unkept(soft: tuple[str, ...]) -> str:
    return f"no hard limit keeps {', '.join(soft)}"
