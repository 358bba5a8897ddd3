"""A curve of quickly diminishing returns."""

from dataclasses import dataclass

from evenhand.welfare.curves import Curves, Power


@dataclass(frozen=True)
class SquareRoot:
    """Returns diminish as a square root.

    Equation: r(x) = 2 (sqrt(1 + x) - 1).

    >>> len(SquareRoot().curves(3).kind)
    3
    """

    def curves(self, arms: int) -> Curves:
        return Power(0.5).curves(arms)
