"""What the actions of a list use, and the limits on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats, Ints
from evenhand.planning.program import largest


@dataclass(frozen=True, kw_only=True, eq=False)
class Resource:
    """The use of a resource by each action, and the limits on it.

    Equation: mean_i factor[m, groups_i] use[i, a_i] <= most[m] for every limit m.

    Args:
        use: `(N,A)`, or `(1,A)` if it is that of every case.
        most: `(M)` the limits, per case.
        factor: `(M,G)` of the cases of each group in each limit.
        groups: `(N)` the group of every case; None if there is one.
        units: `(M)` the largest use of one case, with its factor; 1 where there is none.
    """

    use: Floats
    most: Floats
    factor: Floats
    groups: Ints | None
    units: Floats

    @staticmethod
    def budget(use: Floats, most: float) -> Resource:
        """Limit the average use of all cases."""
        units = np.array([_largest(use)])
        return Resource(use=use, most=np.array([most]), factor=np.ones((1, 1)), groups=None, units=units)

    @staticmethod
    def parity(use: Floats, groups: Ints, tolerance: float) -> Resource:
        """Limit how far the average use of each group is from that of all, in both directions."""
        sizes = np.unique(groups, return_inverse=True, return_counts=True)[1:]
        apart = np.diag(len(groups) / sizes[1]) - 1.0
        both = np.concatenate([apart, -apart])
        most, units = np.full(len(both), tolerance), largest(both) * _largest(use)
        return Resource(use=use, most=most, factor=both, groups=sizes[0], units=units)

    def of(self, rows: Ints) -> Resource:
        """Return the same for some cases; the limits remain those of all."""
        use = self.use if len(self.use) == 1 else self.use[rows]
        groups = None if self.groups is None else self.groups[rows]
        return replace(self, use=use, groups=groups)

    def used(self, actions: Ints, by: Bools | None = None) -> Floats:
        """Sum the use of each limit by the actions of all cases, or of some, `(N),(N)->(M)`."""
        own = self.use[0, actions] if len(self.use) == 1 else self.use[np.arange(len(actions)), actions]
        return self.summed(own if by is None else np.where(by, own, 0.0))

    def summed(self, own: Floats) -> Floats:
        """Sum the use of all cases by limit, `(N)->(M)`."""
        if self.groups is None:
            return self.factor[:, 0] * float(own.sum())
        return np.asarray(self.factor @ np.bincount(self.groups, own, self.factor.shape[1]))

    def uses(self) -> Floats:
        """Return the use of each limit by every action of every case, `->(M,N,A)`."""
        factor = self.factor if self.groups is None else self.factor[:, self.groups]
        return factor[:, :, None] * self.use

    def charge(self, worth: Floats, prices: Floats) -> None:
        """Subtract the cost of every action's use at prices of the limits, `(N,A),(M)->`."""
        groups = np.zeros(1, np.int64) if self.groups is None else self.groups
        _charge(worth, self.use, np.asarray(prices @ self.factor), groups)


def net(worth: Floats, resources: Sequence[Resource], prices: Sequence[Floats]) -> Floats:
    """Return the worth of actions minus their use at some prices, `(N,A)->(N,A)`."""
    found = worth.copy()
    for resource, price in zip(resources, prices, strict=True):
        resource.charge(found, price)
    return found


@kernel
def _charge(worth: Floats, use: Floats, prices: Floats, groups: Ints) -> None:
    """Take off the use of a resource at the price in each group, `(N,A),(N,A),(G),(N)->`; `(1,A)` and `(1)` for all."""
    differ, grouped = len(use) > 1, len(groups) > 1
    for i in range(len(worth)):
        j, price = i if differ else 0, prices[groups[i if grouped else 0]]
        for a in range(worth.shape[1]):
            worth[i, a] -= price * use[j, a]


def _largest(use: Floats) -> float:
    return float(largest(use.reshape(1, -1))[0])
