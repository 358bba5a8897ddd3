"""Checks that recipes keep a constraint or refuse it: none may drop it silently."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.core.types import Floats
from evenhand.policy.policy import Policy
from evenhand.problem.constraints.base import Constraint
from evenhand.problem.constraints.sums import Sums
from evenhand.problem.declared import Declared
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows, select
from evenhand.run.simulation import play
from evenhand.testing.promises import require
from evenhand.testing.recipes import Bazaar, Call, calls


@dataclass(frozen=True)
class _Stated:
    """A constraint that consists of given rows and bounds."""

    given: Rows
    bounds: tuple[float, ...]
    label: str = "rows"
    hard: bool | None = None
    spends: bool = False
    worst: Literal["low", "high"] = "high"

    def rows(self, problem: Declared) -> Rows:
        return self.given

    def bound(self, problem: Declared) -> Floats:
        return np.array(self.bounds, float)

    def limit(self, horizon: int) -> float:
        return 0.0

    def total_over(self, horizon: int) -> float:
        return 0.0

    def measure(self, run: Sums) -> Floats:
        return np.zeros(run.elapsed.shape)


class _Reads(NamedTuple):
    """The rows that the goals of a policy read, by value, and the sets of its goals and its choice."""

    rows: tuple[tuple[str, bytes], ...]
    sets: tuple[str, ...]


def check_recipes(constraint: Constraint, problem: Problem, rounds: int) -> None:
    """Check every recipe with a problem under this constraint alone.

    Raises:
        AssertionError: a recipe drops the constraint, or fails with an error other than evenhand's; names the recipe.
    """
    under = replace(problem, subject_to=(constraint,))
    (stated,) = under.stated
    rows, bound, curved = stated.rows, tuple(stated.bound.tolist()), stated.region is not None
    if not len(rows) and not curved:
        return
    less: list[tuple[Constraint, ...]] = [()] if len(rows) else []
    if curved:
        less.append((_Stated(rows, bound),))
    name = under.objective.outcomes[0]
    lenient = _Stated(select(under, (name,)), (1e12,))
    for call in calls():
        policy = _made(call, under)
        if policy is None:
            continue
        for subject_to in less:
            without = _made(call, replace(problem, subject_to=subject_to))
            dropped = without is not None and _reads(policy) == _reads(without)
            if dropped:
                none = _made(call, replace(problem, subject_to=()))
                any_other = _made(call, replace(problem, subject_to=(lenient,)))
                blind = none is not None and any_other is not None and _reads(none) == _reads(any_other)
                what = "a set" if subject_to else "rows"
                require(blind, f"{call.name} keeps a constraint or refuses it, but drops {what} of {constraint.label}")
        _plays(call, policy, rounds)


def _made(call: Call, problem: Problem) -> Policy | None:
    """Make the policy; None if the recipe refuses the problem with an error of evenhand."""
    try:
        return call.make(problem)
    except EvenhandError:
        return None
    except Exception as error:
        raise AssertionError(f"{call.name} refuses with a sentence, not by {type(error).__name__}: {error}") from error


def _plays(call: Call, policy: Policy, rounds: int) -> None:
    state = policy.start(seed=3)
    try:
        for _ in play(policy, state, Bazaar(policy.problem).start(3, state.replicas), range(rounds)):
            pass
    except Exception as error:
        raise AssertionError(f"{call.name} plays what it took, without {type(error).__name__}: {error}") from error


def _reads(policy: Policy) -> _Reads:
    rows = []
    for goal in policy.goals:
        weights = np.column_stack([goal.rows.weights, goal.rows.always, goal.rows.inside, goal.rows.column])
        rows.append((type(goal).__name__, weights.tobytes()))
    sets = [getattr(part, "regions", ()) for part in (*policy.goals, policy.choice)]
    return _Reads(tuple(rows), tuple(map(repr, sets)))
