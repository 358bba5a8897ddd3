"""Constraints a user states: budgets and parity between groups."""

from __future__ import annotations

import math
from dataclasses import dataclass

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput


@named("X3", source="hard budgets by construction; the rows c <= B of Box A in paper 2")
@dataclass(frozen=True)
class Budget:
    """A total, or a rate per round, that the sum of an outcome may not exceed.

    Equation: sum_t c_t <= total, or sum_t c_t <= rate * horizon.

    Args:
        outcome: the outcome that is spent.
        total: in units of the outcome, over the whole horizon.
        rate: in units of the outcome per round; exactly one of the two is given.

    Raises:
        InvalidInput: neither or both are given, or the one given is not a positive number.

    >>> Budget("ride", total=500).per_round(10_000)
    0.05
    >>> Budget("ride", rate=-1)
    Traceback (most recent call last):
    evenhand.core.errors.InvalidInput: Budget('ride').rate: expected a finite number above 0, got -1
    """

    outcome: str
    total: float | None = None
    rate: float | None = None

    def __post_init__(self) -> None:
        if (self.total is None) == (self.rate is None):
            raise InvalidInput(
                f"Budget({self.outcome!r})", "exactly one of total= and rate=", f"total={self.total}, rate={self.rate}"
            )
        field, value = ("rate", self.rate) if self.total is None else ("total", self.total)
        if value is None or not (math.isfinite(value) and value > 0):
            raise InvalidInput(f"Budget({self.outcome!r}).{field}", "a finite number above 0", value)

    def per_round(self, horizon: int) -> float:
        """What may be spent per round on average, over `horizon` rounds."""
        return self.total / horizon if self.total is not None else float(self.rate or 0.0)


@named("K5", source="Chzhen, Giraud, Li & Stoltz 2023, Section 2.1 and Appendix G.1 (rows divided by the share)")
@dataclass(frozen=True)
class Parity:
    """An outcome spread evenly: each group's average stays within a tolerance of everybody's.

    Equation: |sum_t c_t 1{g_t = g} / share_g - sum_t c_t| <= tolerance * T for every group g, as two signed rows each.
    Deviation: Section 2.1 of the paper prints these rows multiplied by share_g; its experiments use them as here.

    Args:
        outcome: the outcome that is to be shared evenly.
        by: the grouping, as declared in the problem.
        tolerance: allowed difference of averages per round, in units of the outcome; 0 is allowed.

    Raises:
        InvalidInput: a negative or infinite tolerance.

    >>> Parity("ride", by="district", tolerance=0.02).tolerance
    0.02
    """

    outcome: str
    by: str
    tolerance: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.tolerance) and self.tolerance >= 0):
            raise InvalidInput(f"Parity({self.outcome!r}).tolerance", "a finite number of at least 0", self.tolerance)


Constraint = Budget | Parity
