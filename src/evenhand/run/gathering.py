"""Rounds whose outcomes arrive in parts, until they are whole."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.types import Bools, Floats
from evenhand.environments.base import Arrival
from evenhand.policy.parts import arriving_part, counted_plays


class _Gathered(NamedTuple):
    """What is known of a round."""

    waits: Bools  # (R, P) plays whose outcomes have not arrived
    y: Floats  # (R, P, M + B) outcomes that have arrived
    exposed: Bools  # (R, P)


class Gathering:
    """Keeps the outcomes of every round of which some arrived and others did not."""

    def __init__(self) -> None:
        """Nothing has arrived."""
        self._rounds: dict[int, _Gathered] = {}

    def __bool__(self) -> bool:
        return bool(self._rounds)

    def add(self, a: Arrival) -> Arrival:
        """All that arrived of the round of an arrival, this included; it counts where the round is whole now."""
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
