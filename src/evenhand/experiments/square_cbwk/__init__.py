"""Figure 1 of Han, Zeng, Wang, Xiang & Zhang 2022: knapsacks with regression oracles, beside a linear baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.experiments.experiment import sections_of_study
from evenhand.experiments.options import option

AXES = ("m", "K", "T")  # dimension, arms, rounds


@named("S5", source="Han et al. 2022, Appendix C and Figure 1, with the settings of the authors' code")
@dataclass(frozen=True, kw_only=True)
class SquareCBwKExperiment:
    """Runs every system at the points with published numbers, or along whole axes of the figure.

    Raises:
        InvalidInput: a sweep is not "m", "K" or "T".
    """

    name: ClassVar[str] = "square-cbwk"
    title: ClassVar[str] = "knapsacks with regression oracles (2022)"
    about: ClassVar[str] = (
        "Figure 1 of 'Optimal contextual bandits with knapsacks under realizability via regression oracles': regret at "
        "the points with published numbers, and which of these are met; with --sweep, along a whole axis of the figure."
    )
    sections = sections_of_study
    replicas: int = option(10, "R")
    sweeps: tuple[str, ...] = option(
        (), None, "run all of an axis: dimension m, arms K or rounds T", flag="sweep", choices=AXES
    )
    orders: int = option(
        10, "N", "of the arms, drawn at random, one after the other by replica; 0: as published", least=0
    )
    seed: int = option(0, "S", "of all luck", least=None)
    jobs: int = option(1, "N", "processes")

    def __post_init__(self) -> None:
        object.__setattr__(self, "sweeps", tuple(dict.fromkeys(self.sweeps)))
        if not set(self.sweeps) <= set(AXES):
            raise InvalidInput("sweeps", f"some of {AXES}", self.sweeps)
