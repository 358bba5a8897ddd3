"""The part of a total that each campaign should have: by the rounds that it expects, and by what it used so far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

_SLACK = 1.25  # times the use per round so far: a campaign may come to need more
_LEAST = 0.5  # of an even part, which a campaign may have whatever it used: one that had little could not use more
_MOVES = 0.05  # of what a campaign has left or should have: a smaller move is not worth a switch and a plan
_YOUNG = 0.05  # of the rounds of a campaign: before, its use says nothing


class Need(NamedTuple):
    """What a campaign used of an outcome, spent or held, in so many rounds, and how many rounds it still expects."""

    used: float
    rounds: int
    left: int
    horizon: int  # of all its rounds, also of those that an end before left out

    def most(self, even: float) -> float:
        """Return what it may have for the rounds left, where an even part is so much per round."""
        if self.rounds < _YOUNG * (self.rounds + self.left):
            return float("inf")
        return max(_SLACK * self.used / max(self.rounds, 1), _LEAST * even) * self.left


def moves(units: int, left: int) -> int:
    """Return what moves of some units, beside so many that a campaign has left or should have: all of them, or none.

    >>> moves(100, 1000), moves(10, 1000)
    (100, 0)
    """
    return units if units > _MOVES * max(left, 0) else 0


def share(total: float, rounds: int, each: Mapping[str, Need], campaign: str) -> float:
    """Return what a campaign should have of a total: what it used, and its part of what all of them left.

    Equation: used_c + min(most_c, x left_c), with one level x of budget per round for all campaigns, so that the parts
    add up to the total. Where no most_c binds, x is what is left by the rounds left. What a campaign will not need at
    its present use is shared by those that use more; what nobody needs is shared by rounds. Rounds that no campaign
    has reported yet, of those that the pool was told to expect, keep their part.

    Args:
        total: of an outcome.
        rounds: that all campaigns together expect.
        each: the needs of the campaigns that reported, by name.
        campaign: one of them.

    >>> each = {"north": Need(40.0, 50, 50, 100), "south": Need(10.0, 50, 50, 100)}
    >>> share(100.0, 200, each, "north"), share(100.0, 200, each, "south")
    (77.5, 22.5)
    """
    rest = max(total - sum(need.used for need in each.values()), 0.0)
    coming = sum(need.left for need in each.values())
    coming += max(rounds - sum(need.horizon for need in each.values()), 0)
    own = each[campaign]
    if not own.left:
        return own.used
    even = rest / coming
    level, over = _level(rest, coming, list(each.values()))
    return own.used + min(own.most(even), level * own.left) + over * own.left


def _level(rest: float, coming: int, each: list[Need]) -> tuple[float, float]:
    """Return the budget per round at which the parts of what is left add up to it, and what is over then, per round.

    The campaigns that need least per round come first; those after them share what these leave.
    """
    even, whole = rest / coming, coming
    for need in sorted((z for z in each if z.left > 0), key=lambda z: z.most(even) / z.left):
        if need.most(even) >= rest / coming * need.left:
            return rest / coming, 0.0
        rest, coming = rest - need.most(even), coming - need.left
    return (rest / coming, 0.0) if coming else (float("inf"), rest / whole)
