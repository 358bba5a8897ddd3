"""Which rounds are held out, and what is played in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

import numpy as np

from evenhand.core.checked import checked
from evenhand.core.errors import InvalidInput
from evenhand.core.registry import meant
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import number, numbers
from evenhand.problem.declared import Declared


@checked
@dataclass(frozen=True)
class Holdout:
    """A share of the rounds, drawn at random, that a known lottery plays, to measure what a policy is worth.

    Args:
        share: of the rounds, in (0, 1).
        lottery: weights by action, at least 0; None plays all actions that may be played with equal probability.
            `{"nothing": 1}` is a control group. Where none of its actions may be played, no round is held out.

    Raises:
        InvalidInput: a share out of range, weights that are negative or all 0, or an unknown action.

    >>> from evenhand.environments import Court
    >>> Holdout(0.05, lottery={"ride": 1}).weights(Court().problem)
    (0.0, 0.0, 1.0)
    """

    share: float
    _: KW_ONLY
    lottery: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        number("Holdout.share", self.share, "a number in (0, 1)", lambda x: 0 < x < 1)
        if self.lottery is not None:
            expected = "finite numbers of at least 0, not all 0, by action"
            values = tuple(self.lottery.values())
            found = numbers("Holdout.lottery", values, len(values), expected, _weights)
            if not found.sum() > 0:
                raise InvalidInput("Holdout.lottery", expected, dict(self.lottery))

    def weights(self, problem: Declared) -> tuple[float, ...] | None:
        """The weights in the order of the actions, None for a uniform lottery."""
        if self.lottery is None:
            return None
        for name in self.lottery:
            if name not in problem.actions:
                raise InvalidInput("Holdout.lottery", "an action", f"{name!r}{meant(name, problem.actions)}")
        return tuple(float(self.lottery.get(action, 0.0)) for action in problem.actions)


def _weights(z: Floats) -> Bools:
    return np.asarray((z >= 0) & np.isfinite(z))
