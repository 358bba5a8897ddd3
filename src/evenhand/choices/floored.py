"""A choice that gives every playable candidate a least probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evenhand.choices.base import Choice, Offer, Pick, Worth
from evenhand.choices.held_out import Around, check_one_play, mix
from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import number


@named("X13", source="evenhand's own: a floor that is added, so that inverse propensities are bounded")
@dataclass(frozen=True)
class Floored(Around):
    """Give every playable candidate at least some probability, so that any policy can be evaluated on the log.

    Equation: p_a = floor + (1 - n floor) q_a, with n the number of playable candidates and q the lottery of `then`.
    The floor is added, not clipped, so that p is exact. Inverse propensities are at most 1 / floor. A round that the
    floor plays is `forced`: no price and no plan is blamed for it.

    Args:
        floor: in (0, 1), at most 1 / A for A candidates.
        then: a choice of one play.

    Raises:
        InvalidInput: a floor out of range, or a choice of several plays.

    >>> from evenhand.choices.top_k import TopK
    >>> worth = Worth(np.array([[[0.0, 1.0, 2.0]]]), np.zeros((1, 1, 3)), random=False)
    >>> offer = Offer(np.array([[True, True, False]]), worst=np.zeros((1, 3, 0)), left=np.zeros((1, 0)))
    >>> Floored(0.02, TopK()).pick(None, worth, offer, np.zeros(1), np.array([[0.7, 0.2]])).lottery
    array([[0.02, 0.98, 0.  ]])
    """

    floor: float
    then: Choice

    lottery: ClassVar[str] = "a floor of probabilities"

    def __post_init__(self) -> None:
        number("Floored.floor", self.floor, "a number in (0, 1)", lambda x: 0 < x < 1)
        check_one_play("Floored.then", self.then)

    def known(self, playable: Bools) -> tuple[float, Floats]:
        """Return the share of rounds that floors take, and equal chances of the playable, `(A)->(),(A)`."""
        count = max(int(playable.sum()), 1)
        return self.floor * count, playable / count

    def pick(self, state: Any, worth: Worth, offer: Offer, t: Floats, u: Floats) -> Pick:
        candidates = offer.playable.shape[1]
        if self.floor * candidates > 1.0:
            raise InvalidInput(
                "Floored.floor", f"at most {1.0 / candidates:g}, for {candidates} candidates", self.floor
            )
        count = offer.playable.sum(1).astype(float)
        lottery = offer.playable / np.maximum(count, 1.0)[:, None]
        then = self.then.pick(state, worth, offer, t, np.ascontiguousarray(u[:, 1:]))
        return mix(self.floor * count, lottery, then, worth.random, u[:, 0])[0]
