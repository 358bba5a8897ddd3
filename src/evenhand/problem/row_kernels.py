"""Kernels of rows: sums of outcomes, and prices of outcomes from prices of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.records import Decision
from evenhand.core.types import Floats, Ints

# Columns of the packed coefficients of rows. From _FIRST on come the outcomes that a row reads, each by its place and
# its weight: a ranking has a row for the exposure of every item, which reads one of as many outcomes.
_ALWAYS, _INSIDE, _BY_SHARE, _COLUMN, _COUNT, _FIRST = 0, 1, 2, 3, 4, 5


def pack(columns: Floats, weights: Floats) -> Floats:
    """All coefficients of rows in one array, `(d,4),(d,W)->(d,5+2n)`, n the most outcomes that a row reads."""
    count = (weights != 0.0).sum(1)
    found = np.zeros((len(weights), _FIRST + 2 * int(count.max(initial=0))))
    found[:, :_COUNT], found[:, _COUNT] = columns, count
    for row, own in zip(found, weights, strict=True):
        places = np.flatnonzero(own)
        row[_FIRST : _FIRST + 2 * len(places)] = np.column_stack([places, own[places]]).ravel()
    return found


@kernel
def _inside(inside: float, by_share: float, share: float) -> float:
    """The part of a row's factor that a play inside its group adds."""
    return inside / share if by_share != 0.0 else inside


@kernel
def post(packed: Floats, groups: Ints, shares: Floats, y: Floats, z: Floats) -> Floats:
    """Rows of outcomes, summed over plays, `(d,5+2n),(1|P,G),(C),(P,M),(P,L)->(d)`."""
    m, width = y.shape[2], y.shape[2] + z.shape[2]
    v = np.zeros((len(y), len(packed)))
    total, inside = np.empty(width), np.empty((shares.shape[1], width))
    for r in range(len(y)):
        total[:] = 0.0
        inside[:] = 0.0
        for p in range(y.shape[1]):
            for i in range(width):
                x = y[r, p, i] if i < m else z[r, p, i - m]
                if x != 0.0:
                    total[i] += x
                    for g in range(groups.shape[2]):
                        inside[groups[r, p if groups.shape[1] > 1 else 0, g], i] += x
        s = r if len(shares) > 1 else 0
        for j in range(len(packed)):
            c = int(packed[j, _COLUMN])
            for n in range(int(packed[j, _COUNT])):
                i, w = int(packed[j, _FIRST + 2 * n]), packed[j, _FIRST + 2 * n + 1]
                v[r, j] += packed[j, _ALWAYS] * w * total[i]
                if c >= 0 and inside[c, i] != 0.0:
                    factor = _inside(packed[j, _INSIDE], packed[j, _BY_SHARE], shares[s, c])
                    v[r, j] += factor * w * inside[c, i]
    return v


@kernel
def pull(
    packed: Floats,
    learned: tuple[int, bool],
    groups: Ints,
    shares: Floats,
    known: Floats,
    q: Floats,
    o: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Prices of learned outcomes, offsets, and each row's total price, as `Rows.read` has them.

    `learned` is the number of learned outcomes, and whether a row of some group reads one.
    """
    m, by_group = learned
    width = m + known.shape[2]
    candidates, each = known.shape[1], groups.shape[1] > 1
    prices = np.empty((len(q), q.shape[1], candidates if by_group and each else 1, m))
    offset = np.empty((len(q), q.shape[1], candidates))
    everybody, members = np.empty(width), np.empty((shares.shape[1], width))
    price, total = np.empty(width), np.zeros((len(q), len(packed)))
    for r in range(len(q)):
        z, s = r if len(known) > 1 else 0, r if len(shares) > 1 else 0
        for k in range(q.shape[1]):
            everybody[:] = 0.0
            members[:] = 0.0
            for j in range(len(packed)):
                if q[r, k, j] == 0.0:
                    continue
                total[r, j] += q[r, k, j]
                c = int(packed[j, _COLUMN])
                for n in range(int(packed[j, _COUNT])):
                    i, w = int(packed[j, _FIRST + 2 * n]), packed[j, _FIRST + 2 * n + 1]
                    everybody[i] += q[r, k, j] * packed[j, _ALWAYS] * w
                    if c >= 0 and shares[s, c] > 0.0:  # skip a group of share 0, which had no case yet
                        factor = _inside(packed[j, _INSIDE], packed[j, _BY_SHARE], shares[s, c])
                        members[c, i] += q[r, k, j] * factor * w
            constant = o[r, k] if k < o.shape[1] else 0.0
            for a in range(candidates):
                if each or a == 0:
                    for i in range(width):
                        price[i] = everybody[i]
                        for g in range(groups.shape[2]):
                            price[i] += members[groups[r, a, g], i]
                    if a < prices.shape[2]:
                        for i in range(m):
                            prices[r, k, a, i] = price[i]
                offset[r, k, a] = constant
                for i in range(m, width):
                    if known[z, a, i - m] != 0.0:  # without sums that wait for each other
                        offset[r, k, a] += price[i] * known[z, a, i - m]
    return prices, offset, total


@kernel
def post_known(
    packed: Floats, learned: int, groups: Ints, shares: Floats, plays: Ints, counted: Floats, known: Floats
) -> Floats:
    """Rows of the known outcomes of plays that count, `(d,5+2n),(),(1|P,G),(C),(P),(),(P,L)->(d)`."""
    z = np.zeros(known.shape)  # 0 where nothing is played, or the decision does not count
    for r in range(len(plays)):
        for p in range(plays.shape[1]):
            if counted[r] > 0.0 and plays[r, p] >= 0:
                for i in range(known.shape[2]):
                    z[r, p, i] = known[r, p, i]
    none = np.zeros((*plays.shape, learned))
    return post(packed, groups, shares, none, z)


class RowsView(NamedTuple):
    """The kernels' view of rows whose learned outcomes have a factor of 1."""

    packed: Floats
    learned: tuple[int, bool]

    @kernel
    def pull(self, groups: Ints, shares: Floats, known: Floats, q: Floats, o: Floats) -> tuple[Floats, Floats, Floats]:
        return pull(self.packed, self.learned, groups, shares, known, q, o)

    @kernel
    def post(self, d: Decision, y: Floats, z: Floats) -> Floats:
        return post(self.packed, d.groups, d.shares, y, z)

    @kernel
    def post_known(self, d: Decision) -> Floats:
        return post_known(self.packed, self.learned[0], d.groups, d.shares, d.plays, d.counted, d.known)


class ZeroRowsView(NamedTuple):
    """The kernels' view of rows that read outcomes which are declared 0 under some candidates."""

    packed: Floats
    learned: tuple[int, bool]
    factors: Floats  # (A, M) 0 where an outcome is declared 0, else 1

    @kernel
    def pull(self, groups: Ints, shares: Floats, known: Floats, q: Floats, o: Floats) -> tuple[Floats, Floats, Floats]:
        """As `Rows.read`; a candidate beyond those that were declared gets prices that no check lets pass."""
        price, offset, total = pull(self.packed, self.learned, groups, shares, known, q, o)
        w, each = np.empty((len(q), q.shape[1], known.shape[1], price.shape[3])), price.shape[2] > 1
        for r in range(len(w)):
            for k in range(w.shape[1]):
                for a in range(w.shape[2]):
                    for m in range(w.shape[3]):
                        factor = self.factors[a, m] if a < len(self.factors) else np.nan
                        w[r, k, a, m] = price[r, k, a if each else 0, m] * factor
        return w, offset, total

    @kernel
    def post(self, d: Decision, y: Floats, z: Floats) -> Floats:
        amounts = y.copy()
        for r in range(len(y)):
            for p in range(y.shape[1]):
                if d.plays[r, p] >= 0:
                    for m in range(y.shape[2]):
                        amounts[r, p, m] *= self.factors[d.plays[r, p], m]
        return post(self.packed, d.groups, d.shares, amounts, z)

    @kernel
    def post_known(self, d: Decision) -> Floats:
        return post_known(self.packed, self.learned[0], d.groups, d.shares, d.plays, d.counted, d.known)
