"""Fair rankings of music: Figures 1 (middle and right) to 4 of Do et al. 2023."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenhand.core.catalogue import named
from evenhand.experiments.experiment import sections_of_study
from evenhand.experiments.options import distinct, option

PARTS = ("objectives", "trade-off", "constraints")
AIMS = ("eq. 2", "gini welfare", "equal exposure", "welfare")


@named("C9", source="Do et al. 2023, Figures 1 (middle, right) to 4 and Appendix B.1")
@dataclass(frozen=True, kw_only=True)
class FairRankingExperiment:
    """Ranks artists for listeners: four objectives over the rounds, and utility against inequality.

    The paper's systems are run as printed, with upper confidence bounds that may exceed the largest click, 1. Beside
    them are Frank-Wolfe and Unbiased-LinUCBRank with bounds clipped at 1 (the default of `Bilinear`), and Frank-Wolfe
    with `BayesianBilinear`.
    Without `data` the audience is synthetic, of the same shape.
    """

    name: ClassVar[str] = "fair-ranking"
    title: ClassVar[str] = "rankings with fair exposure (2023)"
    about: ClassVar[str] = (
        "The Last.fm experiments of 'Contextual bandits with concave rewards': objectives of users and artists over "
        "the rounds for FW-LinUCBRank and its baselines, and the trade-off between the users' utility and the "
        "inequality of exposures. The paper's systems are run as printed, with ours beside them. A last part compares "
        "the clicks under floors, parity and fees with the best that is possible. "
        "The paper's runs take 5,000,000 rounds: use --resume."
    )
    sections = sections_of_study
    data: str = option("", "DIR", "folder of the HetRec 2011 Last.fm files; by default a synthetic audience")
    items: str = option("50", None, "50 users and 50 artists, or 1,880 and 2,500", choices=("50", "2k"))
    factors: int = option(10, "r", "of users and artists; models have r x r coefficients")
    model: str = option(
        "bilinear",
        None,
        "with the paper's widths as printed, the same clipped at the ranges, or BayesianBilinear, which has none",
        choices=("bilinear", "clipped", "bayesian"),
    )
    parts: tuple[str, ...] = option(PARTS, None, "what to run", flag="part", choices=PARTS)
    aims: tuple[str, ...] = option(AIMS, None, "an objective", flag="objective", choices=AIMS)
    replicas: int = option(3, "R")
    rounds: int = option(100_000, "T", "users who come")
    seed: int = option(0, "S", "of all luck", least=None)
    jobs: int = option(1, "N", "processes")

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", distinct("parts", self.parts))
        object.__setattr__(self, "aims", distinct("aims", self.aims))
