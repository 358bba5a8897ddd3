"""Actions that are not played any longer, and those that are appended to those of a problem."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.registry import suggestion
from evenhand.core.types import Bools, Floats, Ints
from evenhand.problem.outcome import Outcome


class Withdraws(Protocol):
    """A problem with its actions."""

    @property
    def actions(self) -> tuple[str, ...]: ...

    @property
    def withdrawn(self) -> tuple[str, ...]: ...


def check_withdrawn(problem: Withdraws) -> None:
    """Refuse withdrawn actions that the problem does not have, and a problem without remaining actions."""
    names = set(problem.actions)
    for action in problem.withdrawn:
        if action not in names:
            got = f"{action}{suggestion(action, problem.actions)}"
            raise InvalidInput("withdrawn", f"some of the actions {problem.actions}", got)
    if set(problem.withdrawn) == set(problem.actions):
        raise InvalidInput("withdrawn", "fewer than all actions", problem.withdrawn)


def present(problem: Withdraws) -> Bools | None:
    """Return a mask of the actions that may still be played, None if that is all of them, `->(A)`."""
    gone = set(problem.withdrawn)
    return np.array([a not in gone for a in problem.actions]) if gone else None


def refuse_return(old: Withdraws, new: Withdraws, field: str) -> None:
    """Refuse a problem that would play an action again which an earlier one had withdrawn."""
    if back := sorted(set(old.withdrawn) - set(new.withdrawn)):
        expected = f"also {back}, as an action that was withdrawn does not come back"
        raise InvalidInput(f"{field}: problem.withdrawn", expected, new.withdrawn)


class HasActions(Protocol):
    """A problem with its actions."""

    @property
    def actions(self) -> tuple[str, ...]: ...

    @property
    def n_plays(self) -> int: ...


class HasDeclarations(HasActions, Protocol):
    """A problem with its declarations of each action."""

    @property
    def outcomes(self) -> tuple[Outcome, ...]: ...

    @property
    def declared(self) -> Floats: ...

    @property
    def by_action(self) -> Bools: ...

    @property
    def action_groups(self) -> Ints: ...

    @property
    def shares(self) -> Floats: ...


def refuse_other_actions(old: HasActions, new: HasActions, field: str) -> None:
    """Refuse a problem whose actions are neither those of an earlier problem nor those with others appended."""
    if new.actions[: len(old.actions)] != old.actions:
        expected = f"{old.actions}, after which others may be appended"
        raise InvalidInput(f"{field}: problem.actions", expected, new.actions)
    if len(new.actions) > len(old.actions) and max(old.n_plays, new.n_plays) > 1:
        expected = f"{old.actions}, as actions are appended only where one is played per round"
        raise InvalidInput(f"{field}: problem.actions", expected, new.actions)


def refuse_other_meanings(old: HasDeclarations, new: HasDeclarations, field: str) -> None:
    """Refuse a problem that declares outcomes or groups of an earlier problem's actions differently."""
    before, now = ([_declarations(o, old.actions) for o in p.outcomes] for p in (old, new))
    if before != now:
        expected = f"{old.outcomes}, as in the state, for {old.actions}"
        raise InvalidInput(f"{field}: problem.outcomes", expected, new.outcomes)
    count = len(old.actions)
    same = old.by_action.tolist() == new.by_action.tolist()
    if not same or not np.array_equal(old.action_groups, new.action_groups[:count]):
        raise InvalidInput(f"{field}: problem.groups", f"the groups of {old.actions} as in the state", "others")
    if not np.array_equal(old.shares, new.shares, equal_nan=True):
        expected = f"the shares {old.shares.tolist()}, of which the sums in the state are (state them as numbers)"
        raise InvalidInput(f"{field}: problem.groups", expected, new.shares.tolist())


def refuse_other_amounts(old: HasDeclarations, new: HasDeclarations, field: str) -> None:
    """Refuse a problem that declares other known outcomes of an earlier problem's actions."""
    if not np.array_equal(old.declared, new.declared[: len(old.actions)]):
        expected = f"{old.outcomes}, as in the state, for {old.actions}"
        raise InvalidInput(f"{field}: problem.outcomes", expected, new.outcomes)


def _declarations(o: Outcome, actions: tuple[str, ...]) -> tuple[object, ...]:
    """The declarations of an outcome for some actions, but for its known values."""
    kind = o.is_learned, o.is_noisy
    each = [o.is_free(a) for a in actions], [o.ends(a) for a in actions]
    return o.name, o.widest, o.sure, o.fallback, o.times, kind, each  # models have the widest range
