"""Small budgets: every constrained policy on the court, with total budgets from sqrt(T) to T / 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.experiments.experiment import sections_of_study
from evenhand.experiments.options import option

EXPONENTS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 1.0)  # of T; the last is halved, so that it still binds


@named("X1", source="evenhand's own: total budgets from sqrt(T) to T / 2 (cf. Chzhen et al. 2023, Section 1)")
@dataclass(frozen=True, kw_only=True)
class SmallBudgetsExperiment:
    """Measures the gain and the overspending of every policy at every budget.

    Raises:
        InvalidInput: there are no exponents, or one is outside (0, 1].
    """

    name: ClassVar[str] = "small-budgets"
    title: ClassVar[str] = "how small may budgets be? every policy, T B from sqrt(T) to T / 2"
    about: ClassVar[str] = (
        "Court assistance with ever smaller budgets: what share of the possible gain each policy reaches, what it "
        "overspends, and down to which budget it works. Policies for which a budget is too small are shown as refused."
    )
    sections = sections_of_study
    replicas: int = option(20, "R")
    rounds: int = option(10_000, "T", "people to come")
    exponents: tuple[float, ...] = EXPONENTS
    seed: int = option(0, "S", "of all luck", least=None)
    jobs: int = option(1, "N", "processes")

    def __post_init__(self) -> None:
        if not self.exponents or not all(0 < e <= 1 for e in self.exponents):
            raise InvalidInput("exponents", "numbers in (0, 1]", self.exponents)
