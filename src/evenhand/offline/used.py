"""What a list uses of its budgets, and what its groups have on average."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from evenhand.core.faces import amount


class Used(NamedTuple):
    """The use of a budget by a list."""

    outcome: str
    total: float
    learned: bool  # whether both are of predictions, as the outcome is not known before acting
    spent: float  # by the whole list, exactly where it is known
    price: float  # what one more unit is predicted to be worth

    def __str__(self) -> str:
        how = ", by predictions" if self.learned else ""
        return f"{self.outcome}: {amount(self.spent, 6)} of {amount(self.total, 6)}{how}"


class Averages(NamedTuple):
    """The average of an outcome per case, in each group of a parity."""

    outcome: str
    by: str
    tolerance: float
    averages: Mapping[str, float]

    def __str__(self) -> str:
        return f"{self.outcome} per case by {self.by}, planned within {amount(self.tolerance, 6)}"
