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


class HeldOut(NamedTuple):
    """The cases of a list that a lottery decides, so that the list can be judged, and what they cost."""

    cases: int
    chances: Mapping[str, float]  # of the lottery, by action
    used: tuple[Used, ...]  # of each budget, by these cases
    less: float  # by predictions, what the list brings less than one without a holdout
    objective: str

    @property
    def lottery(self) -> str:
        """In words."""
        played = {action: chance for action, chance in self.chances.items() if chance > 0.0}
        if len(played) == 1:
            return f"{next(iter(played))!r} for all of them"
        if len(played) == len(self.chances) and max(played.values()) - min(played.values()) < 1e-12:
            return "any action, with the same chance each"
        return ", ".join(f"{action} {chance:.1%}" for action, chance in played.items())

    def __str__(self) -> str:
        if not self.cases:
            return "no case is held out: the share is too small for so few cases, and nothing can judge the list"
        uses = " and ".join(f"{amount(u.spent, 6)} of {amount(u.total, 6)} {u.outcome}" for u in self.used)
        cost = f"the list is predicted to bring {amount(self.less)} {self.objective} less than without a holdout"
        return f"{self.cases:,} cases held out: {self.lottery}; {f'they use {uses}, and ' if uses else ''}{cost}"


class Averages(NamedTuple):
    """The average of an outcome per case, in each group of a parity."""

    outcome: str
    by: str
    tolerance: float
    averages: Mapping[str, float]

    def __str__(self) -> str:
        return f"{self.outcome} per case by {self.by}, planned within {amount(self.tolerance, 6)}"
