"""Actions that are appended to those of a problem, and what a state of the shorter list takes for granted."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools, Floats, Ints
from evenhand.problem.outcome import Outcome


class Named(Protocol):
    """A problem with its actions."""

    @property
    def actions(self) -> tuple[str, ...]: ...

    @property
    def n_plays(self) -> int: ...


class Stated(Named, Protocol):
    """A problem with what it declares of each action."""

    @property
    def outcomes(self) -> tuple[Outcome, ...]: ...

    @property
    def by_action(self) -> Bools: ...

    @property
    def action_groups(self) -> Ints: ...

    @property
    def shares(self) -> Floats: ...


def refuse_other_actions(old: Named, new: Named, field: str) -> None:
    """Refuse a problem whose actions are neither those of an earlier problem nor those with others appended."""
    if new.actions[: len(old.actions)] != old.actions:
        expected = f"{old.actions}, after which others may be appended"
        raise InvalidInput(f"{field}: problem.actions", expected, new.actions)
    if len(new.actions) > len(old.actions) and max(old.n_plays, new.n_plays) > 1:
        expected = f"{old.actions}, as actions are appended only where one is played per round"
        raise InvalidInput(f"{field}: problem.actions", expected, new.actions)


def refuse_other_meanings(old: Stated, new: Stated, field: str) -> None:
    """Refuse a problem that declares outcomes or groups of an earlier problem's actions differently."""
    before, now = ([_meaning(o, old.actions) for o in p.outcomes] for p in (old, new))
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


def _meaning(o: Outcome, actions: tuple[str, ...]) -> tuple[object, ...]:
    """What an outcome says of some actions."""
    kind = o.is_learned, o.is_noisy
    each = [o.is_free(a) for a in actions], o.declared(actions), [o.ends(a) for a in actions]
    return o.name, o.widest, o.sure, o.fallback, o.times, kind, each  # models have the widest range
