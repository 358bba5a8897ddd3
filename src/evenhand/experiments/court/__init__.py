"""Table 1 and Figure 1 of Chzhen, Giraud, Li & Stoltz 2023: court assistance under budgets and parity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenhand.core.catalogue import named
from evenhand.experiments.experiment import sections_of_study
from evenhand.experiments.options import distinct, option


@named("K8", source="Chzhen, Giraud, Li & Stoltz 2023, Table 1 and Figure 1")
@dataclass(frozen=True, kw_only=True)
class CourtExperiment:
    """Runs every policy of Table 1 at every tolerance, and shows our numbers beside the published ones."""

    name: ClassVar[str] = "court"
    title: ClassVar[str] = "court assistance: budgets and parity (NeurIPS 2023)"
    about: ClassVar[str] = (
        "Table 1 and Figure 1 of 'Small total-cost constraints in contextual bandits with knapsacks'. "
        "Published values are shown for the published horizon of 10,000 rounds."
    )
    sections = sections_of_study
    replicas: int = option(100, "R")
    rounds: int = option(10_000, "T", "people to come")
    taus: tuple[float, ...] = option((1e-7, 0.025), "X", "fairness tolerance", flag="tau")
    seed: int = option(0, "S", "of all luck", least=None)
    jobs: int = option(1, "N", "processes")

    def __post_init__(self) -> None:
        object.__setattr__(self, "taus", distinct("taus", self.taus))
