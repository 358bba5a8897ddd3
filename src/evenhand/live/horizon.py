"""What is answered to who asks for a decision after the horizon, or after the end of a run that has dates."""

from __future__ import annotations

from evenhand.live.life import Ended
from evenhand.problem.problem import Problem


def refuse_late(campaign: str, problem: Problem, rounds: float, time: float | None) -> None:
    """Refuse a decision for which the run is over; more rounds than a forecast expected are not after its end.

    Args:
        campaign: its name.
        problem: states the horizon or the end.
        rounds: that were decided and count.
        time: of the case, None where the run has no dates.

    Raises:
        Ended: the run is over.
    """
    if rounds >= problem.last_round:
        over = f"its horizon of {problem.horizon:,} rounds is reached"
    elif time is not None and time >= problem.clock.last:
        over = f"its end, {problem.clock.written(problem.clock.last)}, is past"
    else:
        return
    raise Ended(f"campaign {campaign!r} is over: {over}")
