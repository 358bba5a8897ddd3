"""One choice for the first rounds, and another one for the rest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from evenhand.choices.base import Choice, Follows, Hears, Offer, Pick, Warms, Worth, behind, exposure_reader, greedy
from evenhand.choices.random import Random
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.records import Decision
from evenhand.core.signatures import checked
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import whole
from evenhand.core.views import view_of


@kernel
def _count_early(t: Floats, rounds: int) -> int:
    """Count the replicas in the warm-up; a NumPy sum of comparisons would take five times as long."""
    count = 0
    for r in range(len(t)):
        if t[r] < rounds:
            count += 1
    return count


class _StagedView(NamedTuple):
    rounds: int
    warmup: Any
    then: Any

    @kernel
    def pick(self, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        early = _count_early(t, self.rounds)
        if early == 0:
            return self.then.pick(worth, offer, t, u)  # type: ignore[no-any-return]
        first = self.warmup.pick(worth, offer, t, u)
        if early < len(t):
            then = self.then.pick(worth, offer, t, u)
            for r in range(len(t)):
                if t[r] >= self.rounds:
                    for i in range(first.plays.shape[1]):
                        first.plays[r, i], first.propensities[r, i] = then.plays[r, i], then.propensities[r, i]
                    for a in range(first.lottery.shape[1]):
                        first.lottery[r, a] = then.lottery[r, a]
                    first.forced[r] = then.forced[r]
        return first  # type: ignore[no-any-return]

    @kernel
    def pauses(self, t: Floats, candidates: int) -> bool:
        return bool(self.warmup.pauses(t, candidates) or self.then.pauses(t, candidates))


@dataclass
class StagedState:
    """The states of both choices."""

    warmup: Any
    then: Any


@checked
@dataclass(frozen=True)
class Staged:
    """A warm-up: one choice for the given number of decided rounds, `then` for the rest.

    The warm-up counts in all averages and budgets, but prices are updated only in rounds whose plays they decided.

    Args:
        rounds: length of the warm-up, at least 0.
        then: the choice after it.
        warmup: the choice in it; None draws as many candidates as `then` plays, uniformly, or what `then` itself plays
            at random, such as an arm for each user.

    Raises:
        InvalidInput: a negative length, or two choices that play different numbers of candidates.

    >>> from evenhand.choices.top_k import TopK
    >>> Staged(50, TopK(3)).draws(candidates=20)
    3
    """

    rounds: int
    then: Choice
    warmup: Choice | None = None

    def __post_init__(self) -> None:
        whole("Staged.rounds", self.rounds, 0)
        if self._warmup.n_plays != self.then.n_plays:
            expected = f"a choice of {self.then.n_plays} plays, like `then`"
            raise InvalidInput("Staged.warmup", expected, self._warmup.n_plays)

    @property
    def n_plays(self) -> int:
        return self.then.n_plays

    @property
    def reads_bonus(self) -> bool:
        """The same as for `then`, because exploration must not end with the warm-up."""
        return self.then.reads_bonus

    @property
    def greedy(self) -> bool:
        """The same as for `then`, as nothing corrects a warm-up's bad luck with an action."""
        return greedy(self.then)

    def behind(self, lottery: Floats) -> Floats | None:
        return None if self.rounds else behind(self.then, lottery)  # chances do not say which rounds are a warm-up

    def draws(self, candidates: int) -> int:
        early = self._warmup.draws(candidates) if self.rounds else 0
        return max(early, self.then.draws(candidates))

    def start(self, n_replicas: int) -> StagedState:
        return StagedState(self._warmup.start(n_replicas), self.then.start(n_replicas))

    def pick(self, state: StagedState, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        n_early = _count_early(t, self.rounds) if self.rounds else 0
        if n_early == 0:
            return self.then.pick(state.then, worth, offer, t, u)
        first = self._warmup.pick(state.warmup, worth, offer, t, u)
        if n_early == len(t):
            return first
        early = t < self.rounds
        then = self.then.pick(state.then, worth, offer, t, u)
        carried = then.carried if first.carried is None else first.carried
        if first.carried is not None and then.carried is not None:
            carried = np.where(early[:, None], first.carried, then.carried)
        return Pick(
            np.where(early[:, None], first.plays, then.plays),
            np.where(early[:, None], first.propensities, then.propensities),
            np.where(early[:, None], first.lottery, then.lottery),
            np.where(early, first.forced, then.forced),
            carried,
        )

    def view(self, state: StagedState) -> Any:
        if self._followers:
            return None
        warmup, then = view_of(self._warmup, state.warmup), view_of(self.then, state.then)
        if self.rounds == 0 or then is None:
            return then
        return None if warmup is None else _StagedView(self.rounds, warmup, then)

    @property
    def goes_on(self) -> bool:
        """Whether one of the two choices continues from its decisions."""
        return bool(self._followers)

    def on_decision(self, state: StagedState, decision: Decision) -> None:
        for stage, choice in self._followers:
            choice.on_decision(getattr(state, stage), decision)

    @property
    def hears(self) -> bool:
        """Whether one of the two choices listens to exposures."""
        return bool(self._exposure_readers)

    def on_outcome(self, state: StagedState, decision: Decision, exposed: Bools | None) -> None:
        for stage, choice in self._exposure_readers:
            choice.on_outcome(getattr(state, stage), decision, exposed)

    @cached_property
    def _warmup(self) -> Choice:
        if self.warmup is not None:
            return self.warmup
        return self.then.at_random() if isinstance(self.then, Warms) else Random(n_plays=self.then.n_plays)

    @cached_property
    def _followers(self) -> list[tuple[str, Follows]]:
        """The choices that continue from their decisions, cached because checking a protocol is slow."""
        stages = (("warmup", self._warmup), ("then", self.then))
        return [(stage, choice) for stage, choice in stages if isinstance(choice, Follows) and choice.goes_on]

    @cached_property
    def _exposure_readers(self) -> list[tuple[str, Hears]]:
        stages = (("warmup", self._warmup), ("then", self.then))
        return [(stage, told) for stage, choice in stages if (told := exposure_reader(choice)) is not None]
