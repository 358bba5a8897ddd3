"""An environment made of a world of your own: one method makes a case, another one answers an action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.luck import Stream
from evenhand.core.records import Context, Decision
from evenhand.core.types import Floats, Ints
from evenhand.environments.base import Arrival
from evenhand.problem.problem import Problem


class Steps(Protocol):
    """The wrapped world; it has no memory, so that every policy meets the same cases."""

    def context(self, luck: np.random.Generator) -> Floats:
        """Draw a case: the features of every action, `(A,n)`."""

    def step(
        self, luck: np.random.Generator, context: Floats, action: int
    ) -> float | Sequence[float] | Mapping[str, float]:
        """Return the outcome of an action in a case; of several, all of `problem.observed`, by name or in order."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Stepped:
    """An environment of a world that makes one case after the other in plain Python.

    Each case and each outcome has a generator of its own, by the seed, the replica and the round. All policies thus
    meet the same cases, and the same luck under the same action. It is slow, as it is asked once per replica and round.

    Args:
        problem: without groups, as the world states none.
        n_features: of every action.
        world: with `context(luck)`, which returns an array of shape (actions, features), and
            `step(luck, context, action)`, which returns the outcome: a number. If several outcomes are observed, it
            returns a dictionary by name, or a list in the order of the problem; known outcomes are left out.
            A method `expected(context, action)`, which returns the true means of these outcomes, lets `eh.opt` compute
            the optimum, and traces have the expectation over all plays.

    Raises:
        InvalidInput: the problem has groups or several plays per round, or the world lacks a method.

    >>> from evenhand.problem import Outcome
    >>> from evenhand.recipes import uniform
    >>> from evenhand.run.simulation import simulate
    >>> class Coins:
    ...     def context(self, luck):
    ...         return np.eye(2)
    ...
    ...     def step(self, luck, context, action):
    ...         return luck.random() < (0.2, 0.8)[action]
    >>> problem = Problem(actions=("a", "b"), outcomes=(Outcome("heads"),), maximize="heads", horizon=50)
    >>> coins = Stepped(problem=problem, n_features=2, world=Coins())
    >>> simulate(uniform(problem, 2), coins, replicas=2, progress=False).elapsed[-1]
    array([50., 50.])
    """

    problem: Problem
    n_features: int
    world: Steps

    def __post_init__(self) -> None:
        for member in ("context", "step"):
            if isinstance(self.world, type) or not callable(getattr(self.world, member, None)):
                kind = f"the class {self.world.__name__}" if isinstance(self.world, type) else type(self.world).__name__
                raise InvalidInput("Stepped.world", f"an object with a method {member}", kind)
        if self.problem.groups:
            raise InvalidInput("Stepped.problem.groups", "none, as the world states none", len(self.problem.groups))
        if self.problem.n_plays != 1:
            raise InvalidInput("Stepped.problem.n_plays", "1, as `step` takes one action", self.problem.n_plays)

    def start(self, seed: int, replicas: Ints) -> SteppedWorld:
        """Start a world for the given replicas."""
        return SteppedWorld(self, seed, replicas)


class SteppedWorld:
    """A run of a stepped environment."""

    counts_idle_steps = True

    def __init__(self, of: Stepped, seed: int, replicas: Ints) -> None:
        self._of, self._seed, self._replicas = of, seed, replicas.tolist()
        self.steps = of.problem.horizon

    def _luck(self, stream: Stream, step: int, replica: int) -> np.random.Generator:
        key = np.array([self._seed, stream], np.uint64)
        return np.random.Generator(np.random.Philox(key=key, counter=np.array([0, step, replica, 2], np.uint64)))

    def context(self, step: int) -> Context:
        problem, n = self._of.problem, self._of.n_features
        x = np.zeros((len(self._replicas), len(problem.actions), n))
        for i, r in enumerate(self._replicas):
            case = np.asarray(self._of.world.context(self._luck(Stream.CONTEXT, step, r)), float)
            if case.shape != x.shape[1:] or not np.isfinite(case).all():
                got = case if case.shape == x.shape[1:] else f"shape {case.shape}"
                raise InvalidInput("Stepped.world.context", f"finite numbers of shape {x.shape[1:]}", got)
            x[i] = case
        offered = np.ones((1, len(problem.actions)), bool)
        return Context(x, problem.declared[None], np.zeros((len(x), 1, 0), np.int64), offered)

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, Sequence[Arrival]]:
        names = self._of.problem.observed
        y = np.zeros((len(self._replicas), 1, len(names)))
        for i, r in enumerate(self._replicas):
            action = int(decision.plays[i, 0])
            if action >= 0:
                luck = self._luck(Stream.OUTCOME, step, r)
                y[i, 0] = _outcomes(self._of.world.step(luck, context.features[i], action), names, "step")
        return decision, [Arrival(step, decision, y)]

    def expected(self, context: Context, plays: Ints) -> Floats | None:
        mean, names = getattr(self._of.world, "expected", None), self._of.problem.observed
        if mean is None:
            return None
        truth = np.zeros((*plays.shape, len(names)))
        for i, p in zip(*np.nonzero(plays >= 0), strict=True):
            came = mean(context.features[i], int(plays[i, p]))
            truth[i, p] = _outcomes(came, names, "expected")
        return truth


def _outcomes(came: Any, names: Sequence[str], member: str) -> Floats:
    """Convert the outcomes that a method of the world returned to an array in the order of the names.

    Raises:
        InvalidInput: it is not a finite number for each of them.
    """
    field, expected = f"Stepped.world.{member}", f"{len(names)} finite outcomes, {', '.join(names)}"
    by_name = isinstance(came, Mapping)
    if by_name and set(came) != set(names):
        raise InvalidInput(field, expected, f"some for {', '.join(map(str, came)) or 'none'}")
    try:
        found = np.atleast_1d(np.asarray([came[name] for name in names] if by_name else came, float))
    except (TypeError, ValueError):
        raise InvalidInput(field, expected, repr(came)) from None
    if found.shape != (len(names),) or not np.isfinite(found).all():
        raise InvalidInput(field, expected, repr(came))
    return found
