"""A demonstration: several policies share scarce help among people of two groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenhand.experiments.experiment import sections_of_study
from evenhand.experiments.options import option

PICTURE = "demo.png"


@dataclass(frozen=True, kw_only=True)
class DemoExperiment:
    """Compares random sharing, published policies and ours on rides and vouchers for people summoned to a court."""

    name: ClassVar[str] = "demo"
    title: ClassVar[str] = "the main job: several policies share scarce help"
    about: ClassVar[str] = (
        "Share 500 rides and 2,000 vouchers among 10,000 people of two groups, learning who benefits. "
        "Prints a table and what it shows, and writes results.json and, if matplotlib is installed, a picture."
    )
    sections = sections_of_study
    replicas: int = option(20, "R")
    seed: int = option(0, "S", "of all luck", least=None)
    tolerance: float = 0.01
    rounds: int = 10_000
    jobs: int = option(1, "N", "processes")
