"""The contract of a model."""

from __future__ import annotations

from typing import Any, Protocol

from evenhand.core.types import Floats


class Model(Protocol):
    """Answers one question: what are the outcomes of these candidates worth at these prices?

    A model is asked at prices because some have no width per outcome, and because optimism belongs after pricing:
    up where a price is positive, down where it is negative. Its state is a dataclass of arrays that lead with R.
    """

    @property
    def n_features(self) -> int:
        """How many features it reads."""

    @property
    def n_outcomes(self) -> int:
        """How many outcomes it predicts."""

    def start(self, n_replicas: int, low: Floats, high: Floats) -> Any:
        """The state before any data, for outcomes within [low, high], `(M),(M)->state`."""

    def value(self, state: Any, x: Floats, w: Floats) -> tuple[Floats, Floats]:
        """Mean worth of candidates x at prices w, and the optimism to add, `(A,n),(K,M)->(K,A),(K,A)`."""

    def update(self, state: Any, x: Floats, y: Floats, rounds: Floats, w: Floats) -> None:
        """Learn outcomes y of plays x under prices w, `(P,n),(P,M),(),(K,M)`, in place.

        Replicas with rounds = 0 and plays with an outcome of NaN (not observed) leave no trace.
        """
