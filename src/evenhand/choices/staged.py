"""One choice for the first rounds, another one after."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.choices.base import Choice, Follows, Pick
from evenhand.choices.random import Random
from evenhand.core.errors import InvalidInput
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import whole


@dataclass
class StagedState:
    """The states of both choices."""

    first: Any
    then: Any


@dataclass(frozen=True)
class Staged:
    """A warm-up: `first` for the given number of decided rounds, `then` for the rest.

    Its rounds count in all averages and budgets, but prices do not learn from rounds they did not steer.

    Args:
        rounds: length of the warm-up, at least 0.
        then: the choice after it.
        first: the choice in it; uniform by default.

    Raises:
        InvalidInput: a negative length, or two choices that play different numbers of candidates.

    >>> from evenhand.choices.top_k import TopK
    >>> Staged(50, TopK(1)).draws
    1
    """

    rounds: int
    then: Choice
    first: Choice = field(default_factory=Random)

    def __post_init__(self) -> None:
        whole("Staged.rounds", self.rounds, 0)
        if self.first.n_plays != self.then.n_plays:
            raise InvalidInput(
                "Staged.first", f"a choice of {self.then.n_plays} plays, like `then`", self.first.n_plays
            )

    @property
    def n_plays(self) -> int:
        """As many as both choices play."""
        return self.then.n_plays

    @property
    def draws(self) -> int:
        """What the needier of the two needs."""
        return max(self.first.draws, self.then.draws)

    def start(self, n_replicas: int) -> StagedState:
        """The states of both choices."""
        return StagedState(self.first.start(n_replicas), self.then.start(n_replicas))

    def pick(self, state: StagedState, mean: Floats, bonus: Floats, playable: Bools, t: Floats, u: Floats) -> Pick:
        """Choose with whichever stage the replica is in, `(K,A),(K,A),(A),(),(draws)->(P),(A),()`."""
        early = t < self.rounds
        if not early.any():
            return self.then.pick(state.then, mean, bonus, playable, t, u)
        first = self.first.pick(state.first, mean, bonus, playable, t, u)
        if early.all():
            return first
        then = self.then.pick(state.then, mean, bonus, playable, t, u)
        return Pick(
            np.where(early[:, None], first.plays, then.plays),
            np.where(early[:, None], first.probabilities, then.probabilities),
            np.where(early, first.steered, then.steered),
        )

    def on_decision(self, state: StagedState, decision: Decision) -> None:
        """Tell whichever stage follows what it chose."""
        for stage, choice in self._following:
            choice.on_decision(getattr(state, stage), decision)

    @cached_property
    def _following(self) -> list[tuple[str, Follows]]:
        """Once, as to ask what an object is able to do takes longer than most choices."""
        stages = (("first", self.first), ("then", self.then))
        return [(stage, choice) for stage, choice in stages if isinstance(choice, Follows)]
