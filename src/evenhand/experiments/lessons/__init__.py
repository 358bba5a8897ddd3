"""A concave objective, budgets and a parity combined, with and without contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenhand.core.catalogue import named
from evenhand.experiments.experiment import sections_of_study
from evenhand.experiments.options import option


@named("X2", source="evenhand's own: Do et al. 2023 and Agrawal & Devanur 2014 have a half of it each")
@dataclass(frozen=True, kw_only=True)
class LessonsExperiment:
    """Compares two recipes on the whole problem, one on each half, and one without contexts with the optimum."""

    name: ClassVar[str] = "lessons"
    title: ClassVar[str] = "everything at once: a concave goal, budgets, a parity and contexts"
    about: ClassVar[str] = (
        "Four subjects that keep up with each other under two budgets and a parity: with everything, with each half of "
        "it, and without contexts, beside what the best static policies with full knowledge reach."
    )
    sections = sections_of_study
    replicas: int = option(50, "R")
    rounds: int = option(20_000, "T", "pupils to come")
    seed: int = option(0, "S", "of all luck", least=None)
    jobs: int = option(1, "N", "processes")
