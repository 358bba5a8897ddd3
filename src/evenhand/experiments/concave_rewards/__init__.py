"""Multi-objective bandits with generalised Gini functions: Figure 1 (left) and Figure 5 of Do et al. 2023."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenhand.core.catalogue import named
from evenhand.experiments.experiment import sections_of_study
from evenhand.experiments.options import distinct, option


@named("C9", source="Do et al. 2023, Figure 1 (left), Figure 5 and Appendix B.2")
@dataclass(frozen=True, kw_only=True)
class ConcaveRewardsExperiment:
    """Compares all systems for every number of arms and outcomes with one that knows the truth of the same replica.

    All replicas run in one process, as they share the model that knows their parameters.
    """

    name: ClassVar[str] = "concave-rewards"
    title: ClassVar[str] = "several outcomes, a generalised Gini (2023)"
    about: ClassVar[str] = (
        "The synthetic multi-objective experiment of 'Contextual bandits with concave rewards': the generalised Gini "
        "of average outcomes over the rounds, beside Frank-Wolfe with known parameters in the same replica."
    )
    sections = sections_of_study
    arms: tuple[int, ...] = option((50,), "A")
    outcomes: tuple[int, ...] = option((5, 20), "M")
    replicas: int = option(100, "R")
    rounds: int = option(2000, "T")
    seed: int = option(0, "S", "of all luck", least=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms", distinct("arms", self.arms))
        object.__setattr__(self, "outcomes", distinct("outcomes", self.outcomes))
