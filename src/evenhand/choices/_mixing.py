"""Mixtures of a known lottery and of what another choice plays, with exact chances."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np

from evenhand.choices.base import Choice, Follows, Hears, Pick, behind, hearing
from evenhand.core.errors import InvalidInput
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats

_BELOW_ONE = np.nextafter(1.0, 0.0)


class Around(Protocol):
    """A choice of one play that wraps another one, which keeps the state."""

    then: Choice

    @property
    def n_plays(self) -> int:
        return 1

    @property
    def reads_bonus(self) -> bool:
        return self.then.reads_bonus

    def draws(self, candidates: int) -> int:
        return 1 + self.then.draws(candidates)

    def start(self, n_replicas: int) -> Any:
        return self.then.start(n_replicas)

    def known(self, playable: Bools) -> tuple[float, Floats]:
        """Return the share of rounds that the known lottery plays, and its chances, `(A)->(),(A)`."""

    def behind(self, lottery: Floats) -> Floats:
        share, before = self.known(lottery > 0.0)
        then = np.maximum(lottery - share * before, 0.0) / (1.0 - share) if share < 1.0 else before
        found = behind(self.then, then)
        return then if found is None else found

    @property
    def goes_on(self) -> bool:
        return self._follows is not None

    def on_decision(self, state: Any, decision: Decision) -> None:
        if self._follows is not None:
            self._follows.on_decision(state, decision)

    @property
    def hears(self) -> bool:
        return self._hears is not None

    def on_outcome(self, state: Any, decision: Decision, exposed: Bools | None) -> None:
        if self._hears is not None:
            self._hears.on_outcome(state, decision, exposed)

    @cached_property
    def _follows(self) -> Follows | None:
        return self.then if isinstance(self.then, Follows) and self.then.goes_on else None

    @cached_property
    def _hears(self) -> Hears | None:
        return hearing(self.then)


def check_one_play(field: str, then: Choice) -> None:
    """Refuse a choice of several plays: the chance that it plays a list drawn by a lottery is unknown."""
    if then.n_plays != 1:
        raise InvalidInput(
            field, "a choice of one play, as no choice states the probabilities of all lists", then.n_plays
        )


def mix(share: Floats, lottery: Floats, then: Pick, random: bool, u: Floats) -> tuple[Pick, Bools]:
    """Play a lottery with probability `share`, else a pick; return where the lottery was played, `(),(A),(),()`.

    Equation: p = share b + (1 - share) q. A play of the lottery is forced. Where luck made the pick, q is unknown, and
    so is p. One number decides and draws: what is left of it is again uniform. The share is 0 where nothing is
    playable.
    """
    held = u < share
    reached = lottery.cumsum(1)
    reached /= np.where(reached[:, -1:] > 0.0, reached[:, -1:], 1.0)
    left = np.minimum(np.divide(u, share, out=np.zeros_like(u), where=held), _BELOW_ONE)
    drawn = (reached > left[:, None]).argmax(1)
    plays = np.where(held[:, None], drawn[:, None], then.plays)
    mixed = share[:, None] * lottery + (1.0 - share)[:, None] * then.lottery
    chance = np.take_along_axis(mixed, np.maximum(plays, 0), 1)
    if random:
        chance = np.full_like(chance, np.nan)
    chance = np.where(plays >= 0, chance, 1.0)
    return Pick(plays, chance, mixed, np.where(held, 1.0, then.forced), then.carried), held
