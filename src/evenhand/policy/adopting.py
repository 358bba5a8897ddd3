"""A policy that goes on where another one of the same parts stopped, under other budgets, weights or settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.goals.base import Goal, Learns, Replans
from evenhand.models.base import Model
from evenhand.policy import saving
from evenhand.policy.state import PolicyState
from evenhand.problem.problem import Problem

_SAME = ("actions", "observed", "names", "columns", "features", "n_plays", "since")


class Parts(Protocol):
    """A policy."""

    @property
    def problem(self) -> Problem: ...

    @property
    def model(self) -> Model: ...

    @property
    def goals(self) -> tuple[Goal, ...]: ...

    def start(self, *, seed: int, replicas: int | Sequence[int]) -> PolicyState: ...


def adopt(new: Parts, old: Parts, state: PolicyState) -> PolicyState:
    """Return a state of a policy with the sums, the model, the contexts and the receipts of another one's state.

    Settings such as totals are those of the new policy, and plans are made anew at the next commit.
    """
    _refuse_others(new, old)
    fresh, shaped = (p.start(seed=state.seed, replicas=state.replicas.tolist()) for p in (new, old))
    mine, theirs = (dict(saving.flatten(z)) for z in (fresh, shaped))
    own = tuple(f".goals.{i}." for i, g in enumerate(new.goals) if not isinstance(g, Learns))  # weights, and no sums
    for path in (z for z in {**mine, **theirs} if not z.startswith(own)):
        if path not in mine or path not in theirs or mine[path].shape != theirs[path].shape:
            expected = "as many rows, spans of time and candidates as in the state"
            raise InvalidInput("adopt", expected, f"another size of {path.lstrip('.')}")
    copied = {path: np.array(z) for path, z in saving.flatten(state) if not path.startswith(own)}
    saving.fill(fresh, {**mine, **copied})
    for goal, sums in zip(new.goals, fresh.goals, strict=True):
        if isinstance(goal, Replans):
            goal.replan(sums)
    return fresh


def _refuse_others(new: Parts, old: Parts) -> None:
    """Refuse a policy to which the state means something else: other outcomes, another model, goals of other rows."""
    for field in _SAME:
        before, now = getattr(old.problem, field), getattr(new.problem, field)
        if before != now:
            raise InvalidInput(f"adopt: problem.{field}", f"{before}, as in the state", now)
    if back := sorted(set(old.problem.withdrawn) - set(new.problem.withdrawn)):
        expected = f"also {back}, as an action that was withdrawn does not come back"
        raise InvalidInput("adopt: problem.withdrawn", expected, new.problem.withdrawn)
    if saving.fingerprint(old.model) != saving.fingerprint(new.model):
        raise InvalidInput("adopt: model", f"{old.model!r}, of which the state is", repr(new.model))
    before, now = ([type(g).__name__ for g in p.goals] for p in (old, new))
    if before != now:
        raise InvalidInput("adopt: goals", f"{before}, as in the state", now)
    for was, goal in zip(old.goals, new.goals, strict=True):
        if isinstance(was, Learns) and was.rows.names != goal.rows.names:
            expected = f"{was.rows.names}, as the sums in the state are of these"
            raise InvalidInput(f"adopt: rows of {type(goal).__name__}", expected, goal.rows.names)
