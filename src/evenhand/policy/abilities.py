"""The abilities of goals and choice, looked up once: checking a protocol takes longer than most choices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.choices.base import Choice, Follows, Hears, hearing
from evenhand.core.protocols import has
from evenhand.goals.base import (
    Cancels,
    Compares,
    Estimates,
    Foresees,
    Goal,
    Learns,
    Limits,
    Mixes,
    Nets,
    Plans,
    Priced,
    Restates,
    Returns,
    Reverses,
    Splits,
    StepsAhead,
    Timed,
    Watches,
    Weighs,
)
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows


class Abilities(NamedTuple):
    """The goals with each ability, by their places among all goals, and those of the choice."""

    priced: list[tuple[int, Priced]]
    limits: list[tuple[int, Limits]]
    ahead: list[tuple[int, StepsAhead]]
    estimates: list[tuple[int, Estimates]]
    planning: list[tuple[int, Plans]]
    foreseeing: list[tuple[int, Foresees]]
    learning: list[tuple[int, Learns]]
    watching: list[tuple[int, Watches]]
    cancelling: list[tuple[int, Cancels]]
    restating: list[tuple[int, Restates]]
    reversing: list[tuple[int, Reverses]]
    returning: list[tuple[int, Returns]]
    splitting: dict[int, Splits]
    compares: tuple[int, Compares] | None
    mixes: tuple[int, Mixes] | None
    follows: Follows | None
    hears: Hears | None
    timed: bool  # whether any limit depends on the time of the case
    nets: bool  # whether any asks for one bonus of the whole
    fixed: bool  # whether prices are the same in all rounds and for all candidates


def abilities(problem: Problem, goals: tuple[Goal, ...], choice: Choice) -> Abilities:
    """Look up the abilities of goals and choice."""
    places = list(enumerate(goals))
    return Abilities(
        priced=[(i, g) for i, g in places if has(g, Priced)],
        limits=[(i, g) for i, g in places if has(g, Limits)],
        ahead=[(i, g) for i, g in places if has(g, StepsAhead)],
        estimates=[(i, g) for i, g in places if has(g, Estimates) and g.on_estimates],
        planning=[(i, g) for i, g in places if has(g, Plans)],
        foreseeing=[(i, g) for i, g in places if has(g, Foresees)],
        learning=[(i, g) for i, g in places if has(g, Learns)],
        watching=[(i, g) for i, g in places if has(g, Watches)],
        cancelling=[(i, g) for i, g in places if has(g, Cancels)],
        restating=[(i, g) for i, g in places if has(g, Restates) and by_estimated_share(problem, g.rows)],
        reversing=[(i, g) for i, g in places if has(g, Reverses)],
        returning=[(i, g) for i, g in places if has(g, Returns)],
        splitting={i: g for i, g in places if has(g, Splits)},
        compares=compares(goals),
        mixes=next(((i, g) for i, g in places if has(g, Mixes)), None),
        follows=choice if has(choice, Follows) and choice.goes_on else None,
        hears=hearing(choice),
        timed=any(has(g, Timed) and g.by_time for g in goals),
        nets=any(has(g, Nets) and g.nets for g in goals),
        fixed=all(has(g, Weighs) and g.rows.plain_only for g in goals) and not problem.known,
    )


def compares(goals: tuple[Goal, ...]) -> tuple[int, Compares] | None:
    """Find the books of held-out rounds, with their position, None if there are none."""
    return next(((i, g) for i, g in enumerate(goals) if has(g, Compares)), None)


def by_estimated_share(problem: Problem, rows: Rows) -> bool:
    """Whether any row divides by a share that is estimated."""
    unknown = np.array([not g.known for g in problem.groups] + [False])  # the last one for rows of everybody
    return bool((rows.by_share & unknown[rows.grouping]).any())
