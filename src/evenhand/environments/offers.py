"""Offers that change over the phases of a run, as items come and go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from evenhand.core.checked import checked
from evenhand.core.errors import InvalidInput
from evenhand.core.luck import Luck, Stream
from evenhand.core.types import Bools
from evenhand.core.validate import number, whole


class Offers(Protocol):
    """The contract of a schedule of offers."""

    @property
    def length(self) -> int:
        """The number of rounds of a phase."""

    def offered(self, luck: Luck, phase: int, items: int) -> Bools:
        """Return the items offered in a phase, counted from 0; a pure function of luck and phase, `->(m)`."""


@checked
@dataclass(frozen=True, eq=False)
class Phases:
    """Repeats a plan that states the offered items of each phase.

    Args:
        plan: whether each item is offered, one row per phase, `(phases, m)`.
        length: the number of rounds per phase.

    Raises:
        InvalidInput: the plan is not a boolean matrix or has a phase without items, or the length is below 1; in a run,
            the number of items differs.

    >>> seasons = Phases(np.array([[True, False], [True, True]]), length=100)
    >>> seasons.offered(Luck(seed=0, replicas=np.arange(1)), phase=2, items=2)
    array([[ True, False]])
    """

    plan: Bools
    length: int

    def __post_init__(self) -> None:
        plan = np.array(self.plan)
        if plan.ndim != 2 or not plan.size or plan.dtype.kind != "b" or not plan.any(1).all():
            expected = "a matrix of true and false, a row per phase, with at least one item in each"
            raise InvalidInput("Phases.plan", expected, repr(self.plan))
        whole("Phases.length", self.length, 1)
        object.__setattr__(self, "plan", plan)

    def offered(self, luck: Luck, phase: int, items: int) -> Bools:
        if self.plan.shape[1] != items:
            raise InvalidInput("Phases.plan", f"a column for each of {items} items", f"{self.plan.shape[1]} columns")
        return np.asarray(self.plan[phase % len(self.plan)][None])


@checked
@dataclass(frozen=True)
class Absences:
    """Makes every item absent in a share of the phases, at random and independently.

    Args:
        share: the probability of an absence, in [0, 1).
        length: the number of rounds per phase.

    >>> offered = Absences(0.25, length=10).offered(Luck(seed=0, replicas=np.arange(400)), phase=0, items=50)
    >>> bool(abs(offered.mean() - 0.75) < 0.01)
    True
    """

    share: float
    length: int

    def __post_init__(self) -> None:
        number("Absences.share", self.share, "a number in [0, 1)", lambda x: 0 <= x < 1)
        whole("Absences.length", self.length, 1)

    def offered(self, luck: Luck, phase: int, items: int) -> Bools:
        return np.asarray(luck.uniform(Stream.TRUTH, np.array([phase]), items) >= self.share)
