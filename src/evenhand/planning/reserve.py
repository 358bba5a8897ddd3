"""What rounds use that values do not decide, and what is left for the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.core.records import Decision
from evenhand.core.types import Floats


@dataclass
class ReserveState:
    """Books of the forced rounds."""

    used: Floats  # (R, d) sums of the rows; (R, 0) without a reserve
    rounds: Floats  # (R, d) rounds in these sums


@dataclass(frozen=True)
class Reserve:
    """Splits a rate between a share of the rounds that is forced and the others.

    Equation: rate = share m + (1 - share) r, with m what forced rounds used on average so far, and r what is left for
    each of the others. Forced rounds are held out (`choices.HeldOut`), or played by a floor (`choices.Floored`).

    Args:
        share: in [0, 1).

    >>> reserve, state = Reserve(0.1), ReserveState(np.array([[6.0]]), np.array([[20.0]]))
    >>> reserve.left(state, np.array([[0.12]])), reserve.of_all(state, np.array([[0.1]]))
    (array([[0.1]]), array([[0.12]]))
    """

    share: float

    def start(self, n_replicas: int, rows: int) -> ReserveState:
        d = rows if self.share > 0.0 else 0
        return ReserveState(np.zeros((n_replicas, d)), np.zeros((n_replicas, d)))

    def enter(self, state: ReserveState, decision: Decision, rounds: Floats, v: Floats) -> None:
        """Enter (rounds, v) into the books if the round was forced, `(d),(d)`."""
        if self.share > 0.0:
            state.used += v * decision.forced[:, None]
            state.rounds += rounds * decision.forced[:, None]

    def left(self, state: ReserveState, rates: Floats) -> Floats:
        """The rates of the rounds that are not forced, from those of all, `(d)->(d)`."""
        if self.share == 0.0:
            return rates
        return np.asarray((rates - self.share * self._mean(state)) / (1.0 - self.share))

    def of_all(self, state: ReserveState, rates: Floats) -> Floats:
        """The rates of all rounds, from those of the rounds that are not forced, `(d)->(d)`."""
        if self.share == 0.0:
            return rates
        return np.asarray((1.0 - self.share) * rates + self.share * self._mean(state))

    def _mean(self, state: ReserveState) -> Floats:
        return np.asarray(state.used / np.maximum(state.rounds, 1.0))
