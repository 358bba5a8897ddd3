"""A number that follows from an action."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from evenhand.core.errors import InvalidInput
from evenhand.core.validate import number


@dataclass(frozen=True)
class Outcome:
    """A number that follows from an action: learned, within a range, or known from the start.

    Args:
        name: how constraints and the objective refer to it.
        low, high: its range, in its own units; a learned outcome outside it is an error.
        known: its value under each action, 0 where an action is not named, or one value for all actions; then nothing
            is learned.
        sure: False for a known outcome that counts only where a play is exposed: its worst case is held back when a
            decision is committed, and settled when `learn` says which plays were exposed.
        free: actions under which a learned outcome is always 0, such as doing nothing: no budget on it ever masks them.

    Raises:
        InvalidInput: an empty range, values that are not finite, free actions where 0 is outside of the range or
            values are known anyway, or a learned outcome that is not `sure`: it counts only where a play is exposed.

    >>> Outcome("voucher", known={"voucher": 1}).is_known
    True
    """

    name: str
    low: float = 0.0
    high: float = 1.0
    known: Mapping[str, float] | float | None = None
    free: tuple[str, ...] = ()
    sure: bool = True

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InvalidInput(f"Outcome({self.name!r})", "low < high", f"low={self.low}, high={self.high}")
        if isinstance(self.free, str) or (self.free and (self.is_known or not self.low <= 0 <= self.high)):
            expected = "names of actions, of a learned outcome whose range has 0"
            raise InvalidInput(f"Outcome({self.name!r}).free", expected, repr(self.free))
        if not (self.sure or self.is_known):
            expected = "True, as a learned outcome always waits for the exposure of its play"
            raise InvalidInput(f"Outcome({self.name!r}).sure", expected, self.sure)
        if not isinstance(self.known, Mapping):
            number(f"Outcome({self.name!r}).known", 0.0 if self.known is None else self.known, "a finite number")
            return
        for action, value in self.known.items():
            if not math.isfinite(value):
                raise InvalidInput(f"Outcome({self.name!r}).known[{action!r}]", "a finite number", value)

    @property
    def is_known(self) -> bool:
        """Whether its values are declared rather than learned."""
        return self.known is not None

    def declared(self, actions: tuple[str, ...]) -> list[float]:
        """The known value of each action; 0 where it is learned."""
        if isinstance(self.known, Mapping):
            return [float(self.known.get(a, 0.0)) for a in actions]
        return [float(self.known or 0.0)] * len(actions)
