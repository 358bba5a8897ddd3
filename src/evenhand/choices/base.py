"""The contract of a choice."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

from evenhand.core.kernel import kernel
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats, Ints


class Pick(NamedTuple):
    """What a choice decided."""

    plays: Ints  # (R, P), -1 where nothing could be played
    probabilities: Floats  # (R, A) with which each candidate was to be chosen
    steered: Floats  # (R,) 1 where the values made the choice, 0 where it looked away


@kernel
def optimistic(mean: Floats, bonus: Floats, a: int) -> float:
    """Worth of candidate a with its optimism, over all readings, `(K,A),(K,A),()->()`."""
    total = 0.0
    for k in range(len(mean)):
        total += mean[k, a] + bonus[k, a]
    return total


class Choice(Protocol):
    """Turns values into plays. It never picks what is not playable, and draws no luck but what it is handed."""

    @property
    def n_plays(self) -> int:
        """P, how many candidates are chosen per round."""

    @property
    def draws(self) -> int:
        """How many uniform numbers it needs per round."""

    def start(self, n_replicas: int) -> Any:
        """Its state before the first round."""

    def pick(self, state: Any, mean: Floats, bonus: Floats, playable: Bools, t: Floats, u: Floats) -> Pick:
        """Choose, `(K,A),(K,A),(A),(),(draws)->(P),(A),()`, in decided round t (counted from 0)."""


@runtime_checkable
class Follows(Protocol):
    """A choice that goes on from what it chose."""

    def on_decision(self, state: Any, decision: Decision) -> None:
        """A decision was made; it is this choice's own where `steered` and `rounds` are 1."""
