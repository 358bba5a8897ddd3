"""Policies that were planned within a budget: what rows have of them, and what they owe to where the budget ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from evenhand.core.types import Floats
from evenhand.offline.frontier import Point


class Planned(Protocol):
    """A policy that was planned within a budget."""

    def of(self, table: Floats) -> Floats:
        """Return what the rows have of a table of actions, `(N or 1,A)->(N)`."""

    def offset(self, spent: Floats, brings: Brings) -> Floats:
        """Return what is taken off the influence of rows, as they say where the budget ends, `(N)->(N)`."""

    def margin(self, brings: Brings) -> float:
        """Return what one more unit of the budget is worth."""

    def probabilities(self, n_actions: int) -> Floats:
        """Return the lottery of every row, `->(N,A)`."""


Brings = Callable[[Planned], Floats]  # what a policy brings of the objective in every row, `->(N)`


@dataclass(frozen=True, eq=False)
class Mixture:
    """A lottery of planned policies, all of which are the best at the prices of the last one.

    Args:
        policies: those of the lottery.
        shares: of each.
        last: the best policy at the final prices.
    """

    policies: Sequence[Planned]
    shares: Sequence[float]
    last: Planned

    def of(self, table: Floats) -> Floats:
        parts = (share * policy.of(table) for policy, share in zip(self.policies, self.shares, strict=True))
        return np.asarray(sum(parts))

    def offset(self, spent: Floats, brings: Brings) -> Floats:
        return self.last.offset(spent, brings)

    def margin(self, brings: Brings) -> float:
        return self.last.margin(brings)

    def probabilities(self, n_actions: int) -> Floats:
        parts = zip(self.policies, self.shares, strict=True)
        return np.asarray(sum(share * policy.probabilities(n_actions) for policy, share in parts))


class Once:
    """A policy that a line has at all budgets: what it has of a table is looked up once."""

    def __init__(self, policy: Point) -> None:
        self._policy, self._found = policy, list[tuple[Floats, Floats]]()
        self.offset, self.margin, self.probabilities = policy.offset, policy.margin, policy.probabilities

    def of(self, table: Floats) -> Floats:
        for known, found in self._found:
            if known is table:
                return found
        self._found.append((table, self._policy.of(table)))
        return self._found[-1][1]


@dataclass(frozen=True, eq=False)
class Single:
    """One action for a share of the rows, by chance, and the cheapest action for the others.

    Args:
        cheapest, single: the policies that are mixed.
        share: of the rows that get the action.
        step: what the action costs on average beyond the cheapest one.
    """

    cheapest: Once
    single: Once
    share: float
    step: float

    @staticmethod
    def within(budget: float, cheapest: Once, single: Once, cost: Floats) -> Single:
        """Return the policy that spends a budget on an action, `(N or 1,A)->`."""
        least = float(cheapest.of(cost).mean())
        step = float(single.of(cost).mean()) - least
        share = min(max(budget - least, 0.0) / step, 1.0) if step > 0.0 else 1.0
        return Single(cheapest, single, share, step)

    def of(self, table: Floats) -> Floats:
        base = self.cheapest.of(table)
        return np.asarray(base + self.share * (self.single.of(table) - base))

    def offset(self, spent: Floats, brings: Brings) -> Floats:
        """As the share follows from what the rows cost."""
        slope = self._slope(brings) if self.share > 0.0 else 0.0
        return np.asarray(slope * (spent - spent.mean()))

    def margin(self, brings: Brings) -> float:
        return self._slope(brings)

    def probabilities(self, n_actions: int) -> Floats:
        base = self.cheapest.probabilities(n_actions)
        return np.asarray(base + self.share * (self.single.probabilities(n_actions) - base))

    def _slope(self, brings: Brings) -> float:
        return float((brings(self.single) - brings(self.cheapest)).mean()) / self.step if self.share < 1.0 else 0.0
