"""Concave rewards and convex knapsacks after Agrawal & Devanur: rates of convergence to the optimum and the set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.experiments.experiment import sections_of_study
from evenhand.experiments.options import distinct, option

WORLDS = ("arms", "gini", "disc", "knapsacks", "sensors", "points", "types", "edges", "routing", "clicks", "families")


@named("B11", source="Agrawal & Devanur 2014, who print no experiments: worlds and settings are evenhand's own")
@dataclass(frozen=True, kw_only=True)
class ConcaveConvexExperiment:
    """Measures both average regrets by the length of a run, for all combinations of primal and dual updates.

    Raises:
        InvalidInput: a world is unknown, or the rounds are too few to estimate a rate.
    """

    name: ClassVar[str] = "concave-convex"
    title: ClassVar[str] = "concave rewards and convex knapsacks (2014)"
    about: ClassVar[str] = (
        "The algorithms of 'Bandits with concave rewards and convex knapsacks' in runs of several lengths: how far the "
        "objective at the average outcomes is below the optimum, how far averages are outside of what is allowed, the "
        "rates at which both fall (theory: T to the power of -1/2), and the time of a round."
    )
    sections = sections_of_study
    worlds: tuple[str, ...] = option(WORLDS, None, "where to run", flag="world", choices=WORLDS)
    instances: int = option(5, "N", "of knapsacks, sensors and requests, one after the other")
    replicas: int = option(20, "R")
    rounds: int = option(64_000, "T", "of the longest runs; the others have 1/4, 1/16 and 1/64 of them")
    seed: int = option(0, "S", "of all luck", least=None)
    jobs: int = option(1, "N", "processes")

    def __post_init__(self) -> None:
        object.__setattr__(self, "worlds", distinct("worlds", self.worlds))
        if not set(self.worlds) <= set(WORLDS):
            raise InvalidInput("worlds", f"some of {WORLDS}", self.worlds)
        if self.rounds < 64:
            raise InvalidInput("rounds", "at least 64, as the shortest runs have 1/64 of them", self.rounds)
