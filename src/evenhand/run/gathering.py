"""A buffer of the rounds whose outcomes arrive in parts, until they are complete."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.types import Bools, Floats
from evenhand.environments.base import Arrival
from evenhand.policy.settlement import arriving_part, counted_plays


class _Gathered(NamedTuple):
    """The outcomes of a round so far."""

    waits: Bools  # (R, P) plays whose outcomes have not arrived
    y: Floats  # (R, P, M + B) outcomes that have arrived
    exposed: Bools  # (R, P)


class Gathering:
    """Keeps the outcomes of rounds that are not complete yet."""

    def __init__(self) -> None:
        self._rounds: dict[int, _Gathered] = {}

    def __bool__(self) -> bool:
        return bool(self._rounds)

    def add(self, a: Arrival) -> Arrival:
        """Return all outcomes of an arrival's round so far; it counts if the round is complete now."""
        d, y, number = a.decision, a.y, int(a.decision.id[0])
        before = self._rounds.pop(number, None) or _Gathered(
            counted_plays(d), np.full(y.shape, np.nan), np.ones(d.plays.shape, bool)
        )
        part = arriving_part(d, before.waits, a.pending)
        here = part.decision.plays >= 0
        y = np.where((here | ~counted_plays(d))[:, :, None], y, before.y)
        exposed = before.exposed if a.exposed is None else np.where(here, a.exposed, before.exposed)
        if part.rest.any():
            self._rounds[number] = _Gathered(part.rest, y, exposed)
        whole = d.counted * here.any(1) * ~part.rest.any(1)
        return Arrival(a.step, d._replace(counted=whole), y, exposed)
