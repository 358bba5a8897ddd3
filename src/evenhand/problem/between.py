"""A horizon that may end at any round between two."""

from __future__ import annotations

from typing import Self

from evenhand.core.errors import InvalidInput
from evenhand.core.validate import whole


class Between(int):
    """A number of rounds that is not known beforehand: the run may end after any round from the earliest to the latest.

    It counts as the latest one, so that a policy decides until then. `Resolving` spends the rest of a total B at the
    rate B / (max(t, a) (1 + ln(b / a))) in round t, as far as earlier rounds kept to it, where a is the earliest round
    and b the latest one: whenever the run ends, what it could spend is in about the same proportion to B.
    Source: Balseiro, Kroer & Kumar 2022, target rates for uncertain horizons; what earlier rounds left is spread in
    the same proportions.

    Args:
        earliest, latest: numbers of rounds, the earliest at least 1 and at most the latest.

    Raises:
        InvalidInput: numbers that are not whole, or an earliest end below 1 or after the latest one.

    >>> horizon = Between(1500, 4500)
    >>> horizon, horizon.earliest, horizon + 0
    (Between(1500, 4500), 1500, 4500)
    """

    earliest: int

    def __new__(cls, earliest: int, latest: int) -> Self:
        whole("Between.earliest", earliest, 1)
        whole("Between.latest", latest, 1)
        if earliest > latest:
            raise InvalidInput("Between.earliest", f"at most the latest end, {latest}", earliest)
        horizon = super().__new__(cls, latest)
        horizon.earliest = int(earliest)
        return horizon

    def __reduce__(self) -> tuple[type[Between], tuple[int, int]]:
        return Between, (self.earliest, int(self))

    def __repr__(self) -> str:
        return f"Between({self.earliest}, {int(self)})"


def earliest(horizon: float) -> float:
    """Return the earliest round after which a run may end.

    >>> earliest(Between(3, 5)), earliest(5)
    (3, 5)
    """
    return horizon.earliest if isinstance(horizon, Between) else horizon
