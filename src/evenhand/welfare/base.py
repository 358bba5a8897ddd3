"""The contract of a welfare oracle: which user gets which arm, where the returns of every arm diminish."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from evenhand.core.types import Bools, Floats, Ints
from evenhand.welfare.curves import Curves


class Round(NamedTuple):
    """What a round has to allocate: N users to A arms."""

    value: Floats  # (R, N, A) what a user brings to an arm, at least 0; enters its satisfaction
    bonus: Floats  # (R, N, A) added for every user beside it; of either sign
    eligible: Bools  # (R, N, A)
    capacity: Ints  # (A,) the most users of an arm


class Allocation(NamedTuple):
    """Who gets what."""

    arms: Ints  # (R, N), -1 for a user without an arm
    chances: Floats  # (R, N) probability of every user's arm given the arms of the users before; NaN where unknown
    prices: Floats  # (R, A) what another match of an arm is worth; NaN where the oracle has no prices


@runtime_checkable
class Oracle(Protocol):
    """Finds arms with large welfare sum_a r_a(sum of the values of its users) + sum of bonuses.

    A user gets an arm wherever one is eligible and has room, even where the bonus makes that a loss. Only where no
    eligible arm has room is a user left without one.
    """

    @property
    def blind(self) -> bool:
        """Whether values change nothing, so that its rounds count as those of a warm-up."""

    def draws(self, users: int, arms: int) -> int:
        """How many uniform numbers it needs per round."""

    def allocate(self, case: Round, curves: Curves, prices: Floats, u: Floats) -> Allocation:
        """Allocate, `(N,A),(N,A),(N,A),(A),(A),(draws)->(N),(N),(A)`; `prices` are of a round before, or NaN."""
