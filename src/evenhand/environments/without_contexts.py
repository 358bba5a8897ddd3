"""Environments with hidden features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided

from evenhand.core.errors import InvalidInput
from evenhand.core.records import Context, Decision
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats, Ints
from evenhand.environments.base import Arrival, Environment, World, case_skipper
from evenhand.problem.problem import Problem


class _BlindWorld:
    """A world that shows one-hot features to policies, and passes the hidden ones to the inner world."""

    def __init__(self, world: World, arms: int, replicas: int) -> None:
        self._world, self._passing = world, case_skipper(world)
        self._one_hot = np.eye(arms + 1, arms)  # the last row is zeros, for empty places, which are -1
        self._features = as_strided(self._one_hot, (replicas, arms, arms), (0, *self._one_hot.strides))  # shared by all
        self._shown: Context | None = None
        self._hidden: Context | None = None
        self.unsaveable = getattr(world, "unsaveable", "")

    @property
    def steps(self) -> int:
        return self._world.steps

    @property
    def counts_idle_steps(self) -> bool:
        return self._world.counts_idle_steps

    def cases(self, step: int) -> Floats:
        return self._passing.cases(step)

    def ended(self, step: int) -> Bools:
        return self._passing.ended(step)

    def context(self, step: int) -> Context:
        self._hidden = self._world.context(step)
        if self._hidden.features.shape[1] != self._features.shape[1]:
            expected = f"one whose candidates are its {self._features.shape[1]} actions"
            raise InvalidInput("WithoutContexts.environment", expected, f"{self._hidden.features.shape[1]} candidates")
        self._shown = self._hidden._replace(features=self._features)
        return self._shown

    def respond(self, step: int, context: Context, decision: Decision) -> tuple[Decision, Sequence[Arrival]]:
        hidden = self._full_context(context)
        played = np.maximum(decision.plays, 0)[:, :, None]
        x = np.take_along_axis(hidden.features, played, 1) * (decision.plays >= 0)[:, :, None]
        taken, arrivals = self._world.respond(step, hidden, decision._replace(features=x))
        return self._blind(taken), [a._replace(decision=self._blind(a.decision)) for a in arrivals]

    def expected(self, context: Context, plays: Ints) -> Floats | None:
        return self._world.expected(self._full_context(context), plays)

    def _full_context(self, context: Context) -> Context:
        if self._hidden is None or context is not self._shown:
            raise InvalidInput(
                "context", "the last one shown, as the hidden parts of others are not kept", "another one"
            )
        return self._hidden

    def _blind(self, decision: Decision) -> Decision:
        return decision._replace(features=self._one_hot[decision.plays])


@checked
@dataclass(frozen=True)
class WithoutContexts:
    """Hides contexts: each candidate's features are a one-hot encoding of its action.

    Equation: x_a = e_a in R^A. The problem, groups, outcomes and luck are those of the environment. True means are
    still those of the hidden case. The gap to policies that see features is the value of contexts.

    Args:
        environment: an environment whose candidates are the actions of its problem. Its world answers only for its
            latest context.

    Raises:
        InvalidInput: the value is not an environment; in a run, contexts have other candidates.

    >>> from evenhand.environments.court import Court
    >>> WithoutContexts(Court()).start(0, np.arange(1)).context(0).features
    array([[[1., 0., 0.],
            [0., 1., 0.],
            [0., 0., 1.]]])
    """

    environment: Environment

    def __post_init__(self) -> None:
        if not isinstance(getattr(self.environment, "problem", None), Problem):
            raise InvalidInput("WithoutContexts.environment", "an environment", repr(self.environment))

    @property
    def problem(self) -> Problem:
        return self.environment.problem

    @property
    def n_features(self) -> int:
        return len(self.problem.actions)

    def start(self, seed: int, replicas: Ints) -> World:
        return _BlindWorld(self.environment.start(seed, replicas), self.n_features, len(replicas))
