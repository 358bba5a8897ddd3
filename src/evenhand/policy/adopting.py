"""A policy that continues where another one of the same parts stopped, under other budgets, weights or settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from evenhand.choices.base import Choice
from evenhand.core.errors import InvalidInput
from evenhand.goals.base import Compares, Goal, Learns, Replans
from evenhand.models.base import Model
from evenhand.policy import saving
from evenhand.policy.appending import appends, carries, grow, refuse_other_models, refuse_waiting
from evenhand.policy.state import PolicyState
from evenhand.problem.appended import refuse_other_actions, refuse_other_meanings
from evenhand.problem.constraints import Credit
from evenhand.problem.problem import Problem
from evenhand.problem.withdrawn import refuse_return

_SAME = ("columns", "n_plays", "since")


class Parts(Protocol):
    """A policy."""

    @property
    def problem(self) -> Problem: ...

    @property
    def model(self) -> Model: ...

    @property
    def goals(self) -> tuple[Goal, ...]: ...

    @property
    def choice(self) -> Choice: ...

    def start(self, *, seed: int, replicas: int | Sequence[int]) -> PolicyState: ...


def adopt(new: Parts, old: Parts, state: PolicyState) -> PolicyState:
    """Return a state of a policy with the sums, the model, the contexts and the receipts of another one's state.

    Settings such as totals are those of the new policy, and plans are made anew at the next commit.
    """
    _refuse_others(new, old)
    refuse_waiting(new, old, state)
    if (reason := next(saving.refusals(state), None)) is not None:
        raise InvalidInput("adopt: state", "one of arrays alone, which are copied", reason)
    fresh, shaped = (p.start(seed=state.seed, replicas=state.replicas.tolist()) for p in (new, old))
    mine, theirs = (dict(saving.flatten(z)) for z in (fresh, shaped))
    own = tuple(f".goals.{i}." for i, g in enumerate(new.goals) if not isinstance(g, Learns))  # weights, and no sums
    own += (".model", ".waiting.sums" if carries(new, old) else ".waiting") if appends(new, old) else ()
    for path in (z for z in {**mine, **theirs} if not z.startswith(own)):
        if path not in mine or path not in theirs or mine[path].shape != theirs[path].shape:
            expected = "as many rows, spans of time and candidates as in the state"
            raise InvalidInput("adopt", expected, f"another size of {path.lstrip('.')}")
    copied = {path: np.array(z) for path, z in saving.flatten(state) if not path.startswith(own)}
    saving.fill(fresh, {**mine, **copied})
    if appends(new, old):
        grow(new, old, fresh, state)
    for goal, sums in zip(new.goals, fresh.goals, strict=True):
        if isinstance(goal, Replans):
            goal.replan(sums)
    return fresh


def refuse_other_books(new: Parts, old: Parts) -> None:
    """Refuse a policy to which the sums in a state mean something else: other outcomes, groups or spans of time."""
    refuse_other_actions(old.problem, new.problem, "adopt")
    for field in _SAME:
        before, now = getattr(old.problem, field), getattr(new.problem, field)
        if before != now:
            raise InvalidInput(f"adopt: problem.{field}", f"{before}, as in the state", now)
    refuse_other_meanings(old.problem, new.problem, "adopt")
    refuse_return(old.problem, new.problem, "adopt")
    if _periods(old.problem) != _periods(new.problem):
        expected = "the same spans of time, end and forecast's periods, as sums in the state are of these"
        raise InvalidInput("adopt: problem.subject_to, until, traffic", expected, "others")
    if (was_owed := _credits(old.problem)) != (owed := _credits(new.problem)):
        raise InvalidInput("adopt: NeverWorse", f"{was_owed}, as the credit in the state is of this", owed)


def _refuse_others(new: Parts, old: Parts) -> None:
    """Refuse a policy to which the state means something else: other sums, another model, goals of other rows."""
    if old.problem.features != new.problem.features:
        expected = f"{old.problem.features}, as in the state"
        raise InvalidInput("adopt: problem.features", expected, new.problem.features)
    refuse_other_books(new, old)
    refuse_other_models(new, old)
    before, now = ([type(g).__name__ for g in p.goals] for p in (old, new))
    if before != now:
        raise InvalidInput("adopt: goals", f"{before}, as in the state", now)
    held_out = any(isinstance(g, Compares) for g in new.goals)
    if held_out and saving.fingerprint(old.choice) != saving.fingerprint(new.choice):
        raise InvalidInput("adopt: choice", f"{old.choice!r}, whose rounds are compared in the state", repr(new.choice))
    for was, goal in zip(old.goals, new.goals, strict=True):
        if isinstance(was, Learns) and was.rows.names != goal.rows.names:
            expected = f"{was.rows.names}, as the sums in the state are of these"
            raise InvalidInput(f"adopt: rows of {type(goal).__name__}", expected, goal.rows.names)


def _periods(problem: Problem) -> tuple[object, ...]:
    """The periods of which a state keeps sums: of spans of time, of the run, and of its forecast; () without any."""
    spans = [s.spans for s in problem.stated]
    if problem.until is None and all(s is None for s in spans):
        return ()
    found = [None if s is None else (s.edges.tolist(), s.first.tolist(), s.last.tolist()) for s in spans]
    edges = None if problem.traffic is None else problem.traffic.edges(problem.clock).tolist()
    return problem.clock.last, edges, found


def _credits(problem: Problem) -> list[Credit]:
    return [s.credit for s in problem.stated if s.credit is not None]
