"""Which goals can do what, looked up once: to ask an object for its abilities takes longer than most choices."""

from __future__ import annotations

from typing import NamedTuple

from evenhand.choices.base import Choice, Follows, Hears
from evenhand.goals.base import Cancels, Estimates, Goal, Learns, Limits, Plans, Priced, StepsAhead


class Abilities(NamedTuple):
    """The goals with each ability, by their places among all goals, and those of the choice."""

    priced: list[tuple[int, Priced]]
    limits: list[tuple[int, Limits]]
    ahead: list[tuple[int, StepsAhead]]
    estimates: list[tuple[int, Estimates]]
    planning: list[tuple[int, Plans]]
    learning: list[tuple[int, Learns]]
    cancelling: list[tuple[int, Cancels]]
    follows: Follows | None
    hears: Hears | None


def abilities(goals: tuple[Goal, ...], choice: Choice) -> Abilities:
    """What goals and choice can do."""
    places = list(enumerate(goals))
    return Abilities(
        priced=[(i, g) for i, g in places if isinstance(g, Priced)],
        limits=[(i, g) for i, g in places if isinstance(g, Limits)],
        ahead=[(i, g) for i, g in places if isinstance(g, StepsAhead)],
        estimates=[(i, g) for i, g in places if isinstance(g, Estimates) and g.on_estimates],
        planning=[(i, g) for i, g in places if isinstance(g, Plans)],
        learning=[(i, g) for i, g in places if isinstance(g, Learns)],
        cancelling=[(i, g) for i, g in places if isinstance(g, Cancels)],
        follows=choice if isinstance(choice, Follows) and choice.goes_on else None,
        hears=choice if isinstance(choice, Hears) else None,
    )
