"""The contract of a welfare oracle, which allocates arms with diminishing returns to users."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from evenhand.core.types import Bools, Floats, Ints
from evenhand.welfare.curves import Curves


class Round(NamedTuple):
    """An allocation problem: N users and A arms."""

    value: Floats  # (R, N, A) a user's contribution to an arm's satisfaction, at least 0
    bonus: Floats  # (R, N, A) a user's additional worth, of either sign
    eligible: Bools  # (R, N, A)
    capacity: Ints  # (A,) the most users of an arm


class Allocation(NamedTuple):
    """The arms of all users, with probabilities and prices."""

    arms: Ints  # (R, N), -1 for a user without an arm
    chances: Floats  # (R, N) probability of every user's arm given those of earlier users; NaN if unknown
    prices: Floats  # (R, A) the marginal worth of a match of an arm; NaN if the oracle has no prices


@runtime_checkable
class Oracle(Protocol):
    """Allocates arms with large welfare sum_a r_a(sum of the values of its users) + sum of bonuses.

    A user gets an arm if an eligible one has room, even if the bonus makes that a loss, and stays without one only if
    no eligible arm has room.
    """

    @property
    def blind(self) -> bool:
        """Whether the oracle ignores values, so that its rounds count as warm-up."""

    def draws(self, users: int, arms: int) -> int:
        """Return the number of uniform numbers needed per round."""

    def allocate(self, case: Round, curves: Curves, prices: Floats, u: Floats) -> Allocation:
        """Allocate, `(N,A),(N,A),(N,A),(A),(A),(draws)->(N),(N),(A)`; `prices` are of the previous round, or NaN."""
