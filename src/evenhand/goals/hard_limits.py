"""The hard limits of a problem: on totals over the horizon, and on allowances of spans of time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.signatures import has
from evenhand.core.types import Floats
from evenhand.goals.base import Accounts, Goal, Limits, Timed
from evenhand.goals.hard_budget import HardBudget
from evenhand.goals.hard_credit import HardCredit
from evenhand.goals.hard_spans import HardSpans
from evenhand.problem.constraints import Statement, constraint_rows, per_row
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Cases


def hard_limits(problem: Problem, hard: bool) -> tuple[Limits, ...]:
    """Return the hard limits of a problem: on totals, on each list of spans, and those that constraints state.

    The totals of everybody are one limit, and those of each group another.

    Args:
        problem: its constraints may state whether they are hard.
        hard: whether constraints that leave this to the recipe are hard.

    Raises:
        InvalidInput: one to be kept hard is on an outcome without a finite range, or is below the worst case of every
            single play, so that nothing could ever be played.

    >>> from evenhand.environments import Court
    >>> hard_limits(Court().problem, hard=False)
    ()
    >>> hard_limits(Court().problem, hard=True)[0].total
    array([ 500., 2000.])
    """
    stated = [(s, s.constraint.hard) for s in problem.stated if s.spends]
    kept = [s for s, own in stated if (hard if own is None else own)]
    whole = dict[int, list[Statement]]()
    for s in kept:
        if s.spans is None:
            whole.setdefault(int(s.rows.column[0]) if s.rows.inside_only else -1, []).append(s)
    limits: list[Accounts] = [_on_totals(problem, each) for each in whole.values()]
    limits += [HardSpans(limit=_on_totals(problem, [s]), spans=s.spans) for s in kept if s.spans is not None]
    for goal in limits:
        worst, room = _room(goal, problem)
        _refuse(goal, worst.min(0), room, "play")
        if isinstance(goal, Timed) and problem.until is None and worst.min() > 0.0:
            expected = "an action that uses nothing, as time stands still where nothing is played, or until= and times"
            raise InvalidInput(f"Budget {goal.rows.names[0]!r} per number of rounds, kept hard", expected, "none")
    return (*limits, *(HardCredit(problem=problem, credit=s.credit) for s in problem.stated if s.credit is not None))


def _on_totals(problem: Problem, stated: Sequence[Statement]) -> HardBudget:
    """Return the limit on the totals of some constraints."""
    rows, _ = constraint_rows(problem, stated)
    return HardBudget(
        rows=rows,
        total=np.array(per_row(stated, lambda s: s.total if s.spans is None else float(s.spans.allowance.min()))),
        low=problem.span_by_action[0],
        high=problem.span_by_action[1],
        free=problem.free,
        constraints=tuple(per_row(stated, lambda s: s.constraint)),
    )


def refuse_unspendable(goals: Iterable[Goal], problem: Problem) -> None:
    """Refuse totals below the worst case of every play with a cost, as policies could then play only free actions."""
    for goal in (g for g in goals if has(g, Accounts)):
        worst, room = _room(goal, problem)
        # A known outcome may be another number in every case.
        learned = goal.rows.learned.any(1) | goal.rows.known[:, goal.rows.noisy].any(1)
        paid = np.where(learned & (worst <= 0.0), np.inf, worst)
        _refuse(goal, np.where(np.isfinite(paid).any(0), paid.min(0), 0.0), room, "play that is not free")


def _room(goal: Accounts, problem: Problem) -> tuple[Floats, Floats]:
    """The most that each action can use at first, as declared, and the allowance, `->(A,d),(d)`."""
    groups = goal.rows.column[None, None, :1]  # of a limit by group, a case of this group
    worst, room = goal.room(goal.start(1), Cases(problem.declared[None], groups))
    return worst[0], room[0]


def _refuse(goal: Accounts, least: Floats, room: Floats, whose: str) -> None:
    for j in np.flatnonzero(least > room):
        expected = f"a total of at least {least[j]:g}: any single {whose} may use that much"
        got = min(float(goal.total[j]), float(room[j]))  # of a span of time, what the first one allows
        raise InvalidInput(f"Budget {goal.rows.names[j]!r}, kept hard", expected, got)


def hard_budget(problem: Problem) -> Accounts:
    """Return the first hard limit of a problem; refuse a problem without an amount that a hard limit can keep."""
    limits = [g for g in hard_limits(problem, True) if has(g, Accounts)]
    if not limits:
        raise InvalidInput("subject_to", "at least one Budget to be kept hard", problem.subject_to)
    return limits[0]
