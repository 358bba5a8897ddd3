"""A choice that plays what comes last."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.choices.base import Offer, Pick
from evenhand.core.catalogue import named
from evenhand.core.records import Worth
from evenhand.core.types import Floats, Ints


@named("Z1", source="a test")
@dataclass(frozen=True)
class PlayLast:
    """Plays the last candidate that is playable.

    Equation: a = max {a : a is playable}.

    >>> PlayLast().n_plays
    1
    """

    n_plays: ClassVar[int] = 1
    reads_bonus = False

    def draws(self, candidates: int) -> int:
        return 0

    def start(self, n_replicas: int) -> None:
        return None

    def pick(self, state: None, worth: Worth, offer: Offer, t: Ints, u: Floats) -> Pick:
        last = offer.playable.shape[1] - 1 - offer.playable[:, ::-1].argmax(1)
        plays = np.where(offer.playable.any(1), last, -1)[:, None]
        lottery = (np.arange(offer.playable.shape[1]) == plays).astype(float)
        return Pick(plays, np.ones(plays.shape), lottery, forced=np.ones(len(t)))
