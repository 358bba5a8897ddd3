"""Allocation with diminishing returns: Figures 2 and 3 of Shibukawa et al. 2026."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenhand.core.catalogue import named
from evenhand.experiments.experiment import sections_of_study
from evenhand.experiments.options import distinct, option

FIGURES = ("2a", "2b", "2c", "2d", "2e", "2f", "3a", "3b", "3c")
LONG, SHORT = 10_000, 5_000  # rounds of Figures 2a and 2b, and of the others


@named("A7", source="Shibukawa et al. 2026, Figures 2 and 3")
@dataclass(frozen=True, kw_only=True)
class AllocationExperiment:
    """Compares the paper's algorithms and ours on the synthetic instances with a reference and an upper bound."""

    name: ClassVar[str] = "allocation"
    title: ClassVar[str] = "users assigned to arms with diminishing returns (2026)"
    about: ClassVar[str] = (
        "Section 5 and Appendix F of 'Combinatorial allocation bandits': satisfaction and matches over the rounds "
        "(2a, 2b), against popularity, saturation, arms and FairX's gamma (2c, 2d, 3a, 3b), by arm (2e, 2f), and the "
        "time of a round (3c). Satisfaction is at the true means, as in the paper, and is divided by that of the "
        "paper's routine with the true parameter, and by the bound of a linear program. With --data, the same on "
        "listeners and artists of Last.fm."
    )
    sections = sections_of_study
    figures: tuple[str, ...] = option(FIGURES, None, "what to run", flag="figure", choices=FIGURES)
    data: str = option("", "DIR", "folder of the HetRec 2011 Last.fm files, for a section on them")
    replicas: int = option(10, "R")
    rounds: int = option(0, "T", f"of every run; 0 is the paper's, {LONG:,} for 2a and 2b, else {SHORT:,}", least=0)
    seed: int = option(0, "S", "of all luck", least=None)
    jobs: int = option(1, "N", "processes")

    def __post_init__(self) -> None:
        object.__setattr__(self, "figures", distinct("figures", self.figures))

    def horizon(self, published: int) -> int:
        """Return the number of rounds of a run: `rounds` if set, else the paper's."""
        return self.rounds or published
