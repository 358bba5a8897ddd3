"""Step sizes of dual prices: constant, falling, or doubling from regime to regime."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

from evenhand.core.errors import InvalidInput
from evenhand.core.signatures import checked
from evenhand.core.validate import nonnegative, positive


class Step(Protocol):
    """Step sizes, one per regime, and the limits at which regimes end."""

    @property
    def sizes(self) -> tuple[float, ...]:
        """The step size of every regime."""

    @property
    def limits(self) -> tuple[float, ...]:
        """The excess, the norm of [sum of v - bound]_+, at which each regime ends; infinite for the last."""

    @property
    def reset(self) -> bool:
        """Whether a new regime starts from prices of 0."""

    @property
    def falls(self) -> bool:
        """Whether sizes are divided by the square root of the rounds so far."""


@checked
@dataclass(frozen=True)
class Steady:
    """A constant step size.

    >>> Steady(0.02).sizes
    (0.02,)
    """

    size: float
    falls: ClassVar[bool] = False
    reset: ClassVar[bool] = False
    limits: ClassVar[tuple[float, ...]] = (math.inf,)  # of the only regime

    def __post_init__(self) -> None:
        nonnegative("Steady.size", self.size)

    @property
    def sizes(self) -> tuple[float, ...]:
        return (self.size,)


@checked
@dataclass(frozen=True)
class Falling:
    """A step size that falls with the rounds t that were decided by values: size / sqrt(t).

    A constant step s leaves the sum of v - bound at lam / s, the rise of the price. Here it is the sum of the moves of
    the price, each over the step of its round, so the rise is made by steps that are still large, and counts little. As
    1 / sqrt(t) adds up to 2 sqrt(T), the variation of prices costs as much as under a constant 2 size / sqrt(T).

    >>> Falling(0.5).sizes
    (0.5,)
    """

    size: float
    falls: ClassVar[bool] = True
    reset: ClassVar[bool] = False
    limits: ClassVar[tuple[float, ...]] = (math.inf,)  # of the only regime

    def __post_init__(self) -> None:
        nonnegative("Falling.size", self.size)

    @property
    def sizes(self) -> tuple[float, ...]:
        """The size in the first round."""
        return (self.size,)


@checked
@dataclass(frozen=True)
class Doubling:
    """A step size that doubles each time the excess of a regime passes that regime's limit.

    Equation: size_k = base 2^k; regime k is left when ||(sum over the regime of [v - bound])_+|| > limit_k.
    Source: Chzhen et al. 2023, Box C. Its pseudo-code resets prices to 0; its published numbers carry them over.

    >>> Doubling(0.01, (5.0, 6.0)).sizes
    (0.01, 0.02, 0.04)
    """

    base: float
    excess: tuple[float, ...]
    reset: bool = False
    falls: ClassVar[bool] = False

    def __post_init__(self) -> None:
        positive("Doubling.base", self.base)
        if not all(e > 0 for e in self.excess):
            raise InvalidInput("Doubling.excess", "limits above 0", self.excess)

    @property
    def sizes(self) -> tuple[float, ...]:
        return tuple(self.base * 2.0**k for k in range(len(self.excess) + 1))

    @property
    def limits(self) -> tuple[float, ...]:
        return (*self.excess, math.inf)
