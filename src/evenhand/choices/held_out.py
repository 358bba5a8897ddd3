"""A choice that holds out a share of the rounds, which a known lottery plays, and mixtures with known lotteries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from evenhand.choices.base import Choice, Follows, Hears, Offer, Pick, Worth, behind, exposure_reader, greedy
from evenhand.choices.random import Random
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import number

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
        return exposure_reader(self.then)


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


_OTHER, _HELD = 1.0, 2.0  # what a decision carries; 0 is a decision of somebody else


@named("X13", source="evenhand's own: rounds held out at random, as trials hold out a control group")
@dataclass(frozen=True)
class HeldOut(Around):
    """Hold out a share of the rounds at random: a known lottery plays these, and another choice plays the others.

    Equation: p_a = share b_a + (1 - share) q_a, with q the lottery of `then` and b the weights, restricted to what may
    be played. Where b has nothing to play, nothing is held out. A held out round is `forced`: no price and no plan is
    blamed for it. Where the model explores by drawing its parameters, q and so p are unknown.

    Args:
        share: of the rounds, in (0, 1).
        then: a choice of one play.
        weights: b, one per candidate, at least 0; None means uniform. A single 1 is a control group.

    Raises:
        InvalidInput: a share out of range, a choice of several plays, or weights as for `Random`.

    >>> from evenhand.choices.top_k import TopK
    >>> worth = Worth(np.array([[[0.0, 1.0]]]), np.zeros((1, 1, 2)), random=False)
    >>> offer = Offer(np.ones((1, 2), bool), worst=np.zeros((1, 2, 0)), left=np.zeros((1, 0)))
    >>> HeldOut(0.1, TopK()).pick(None, worth, offer, np.zeros(1), np.array([[0.7, 0.2]])).lottery
    array([[0.05, 0.95]])
    """

    share: float
    then: Choice
    weights: tuple[float, ...] | None = None

    lottery: ClassVar[str] = "a holdout"

    def __post_init__(self) -> None:
        number("HeldOut.share", self.share, "a number in (0, 1)", lambda x: 0 < x < 1)
        check_one_play("HeldOut.then", self.then)
        Random(self.weights)  # which refuses bad weights

    @property
    def greedy(self) -> bool:
        """Whether some candidate is played for its worth alone: the lottery never plays it."""
        return self.weights is not None and min(self.weights) == 0.0 and greedy(self.then)

    def known(self, playable: Bools) -> tuple[float, Floats]:
        """Return the share of rounds held out, and the chances of each candidate in them, `(A)->(),(A)`."""
        weights = playable * np.array((1.0,) * len(playable) if self.weights is None else self.weights)
        total = float(weights.sum())
        return (self.share, weights / total) if total > 0.0 else (0.0, weights)

    def pick(self, state: Any, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        candidates = offer.playable.shape[1]
        if self.weights is not None and len(self.weights) != candidates:
            expected = f"one per candidate, of which there are {candidates}"
            raise InvalidInput("HeldOut.weights", expected, self.weights)
        weights = offer.playable * np.array((1.0,) * candidates if self.weights is None else self.weights)
        total = weights.sum(1, keepdims=True)
        some = total[:, 0] > 0.0
        lottery = weights / np.where(some[:, None], total, 1.0)
        then = self.then.pick(state, worth, offer, t, np.ascontiguousarray(u[:, 1:]))
        pick, held = mix(np.where(some, self.share, 0.0), lottery, then, worth.random, u[:, 0])
        mark = np.where(held, _HELD, _OTHER)[:, None]
        return pick._replace(carried=mark if then.carried is None else np.concatenate([mark, then.carried], 1))

    def on_decision(self, state: Any, decision: Decision) -> None:
        if self._follows is not None:
            self._follows.on_decision(state, decision._replace(carried=decision.carried[:, 1:]))


def sides(decision: Decision) -> Floats:
    """Return 1 or 0 for a decision held out, and for one not held out; both are 0 for decisions of others, `->(2)`."""
    mark = decision.carried[:, :1] if decision.carried.shape[1] else np.zeros((len(decision.plays), 1))
    return np.concatenate([mark == _HELD, mark == _OTHER], 1).astype(float)
