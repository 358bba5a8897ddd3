"""What a list uses of its budgets, and what its groups have on average."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Used(NamedTuple):
    """What a list uses of a budget."""

    outcome: str
    total: float
    learned: bool  # whether both are of predictions, as the outcome is not known before acting
    spent: float  # by the whole list, exactly where it is known
    price: float  # what one more unit is predicted to be worth

    def __str__(self) -> str:
        return f"{self.outcome}: {self.spent:,.6g} of {self.total:,.6g}{', by predictions' if self.learned else ''}"


class Averages(NamedTuple):
    """What the groups of a parity have of an outcome, per case."""

    outcome: str
    by: str
    tolerance: float
    averages: Mapping[str, float]

    def __str__(self) -> str:
        return f"{self.outcome} per case by {self.by}, planned within {self.tolerance:g}"
