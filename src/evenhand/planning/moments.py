"""Sums that a pass over contexts returns, by cell of groups, from which all rows follow, and their kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats, Ints

_TILE = 256  # contexts whose worth is held at once, so that it stays close to the processor
_FAR = 18.0  # temperatures below the best, where a chance is 1e-8 and is taken as 0


@kernel
def _worths(u: NDArray[np.floating], cell: Ints, slope: Floats, offset: Floats, k: Floats, x: Floats) -> None:
    """The worth of every action in a tile, `(V,A,m),(m),(C,V),(A,C)->(A,m)` in x."""
    m = len(cell)
    for v in range(len(u)):
        for i in range(m):
            k[v, i] = slope[cell[i], v]
    for a in range(len(offset)):
        own, at = x[a], offset[a]
        for i in range(m):
            own[i] = at[cell[i]]
        for v in range(len(u)):
            price, amount = k[v], u[v, a]
            for i in range(m):
                own[i] += price[i] * amount[i]


@kernel
def _best(x: Floats, m: int, top: Floats, at: Ints) -> None:
    """The greatest worth in a tile, and its first action, `(A,m)->(m),(m)`."""
    first = x[0]
    for i in range(m):
        top[i] = first[i]
        at[i] = 0
    for a in range(1, len(x)):
        own = x[a]
        for i in range(m):
            higher = own[i] > top[i]
            top[i] = own[i] if higher else top[i]
            at[i] = a if higher else at[i]


@kernel
def smooth_moments(
    u: NDArray[np.floating],
    cell: Ints,
    known: Floats,
    slope: Floats,
    offset: Floats,
    temperature: float,
    first: Floats,
    counts: Floats,
    second: Floats,
    tops: Floats,
) -> None:
    """Add the moments of lotteries with chances p_a ~ exp(worth_a / temperature).

    Args:
        u, cell, slope, offset: as above.
        known: `(K,A)` outcomes that are alike in all contexts.
        temperature: above 0.
        first: `(C,V)` sums of sum_a p_a u_va.
        counts: `(C,A)` sums of p_a.
        second: `(C,V+K,V+K)` sums of the covariances of all outcomes under p.
        tops: `(2)` sums of the smooth maximum, t log sum_a exp(worth_a / t), and of the maximum.
    """
    n_u, n_a, n = u.shape
    width = n_u + len(known)
    x, k, top, at = np.empty((n_a, _TILE)), np.empty((n_u, _TILE)), np.empty(_TILE), np.empty(_TILE, np.int64)
    near, live = np.empty(_TILE), np.empty(n_a, np.int64)
    chance, apart, mean = np.empty(n_a), np.empty(width), np.empty(width)
    for start in range(0, n, _TILE):
        m = min(_TILE, n - start)
        here, cells = u[:, :, start : start + m], cell[start : start + m]
        _worths(here, cells, slope, offset, k, x)
        _best(x, m, top, at)
        near[:] = 0.0
        for a in range(n_a):
            own = x[a]
            for i in range(m):
                near[i] += 1.0 if own[i] > top[i] - _FAR * temperature else 0.0
        for i in range(m):
            c = cells[i]
            tops[1] += top[i]
            if near[i] < 1.5:
                tops[0] += top[i]
                counts[c, at[i]] += 1.0
                for v in range(n_u):
                    first[c, v] += here[v, at[i], i]
                continue
            count, total = 0, 0.0
            for a in range(n_a):
                below = (x[a, i] - top[i]) / temperature
                if below > -_FAR:
                    live[count] = a
                    chance[count] = math.exp(below)
                    total += chance[count]
                    count += 1
            tops[0] += top[i] + temperature * math.log(total)
            mean[:] = 0.0
            for j in range(count):
                chance[j] /= total
                counts[c, live[j]] += chance[j]
                for v in range(width):
                    amount = here[v, live[j], i] if v < n_u else known[v - n_u, live[j]]
                    mean[v] += chance[j] * amount
            for v in range(n_u):
                first[c, v] += mean[v]
            for j in range(count):
                for v in range(width):
                    amount = here[v, live[j], i] if v < n_u else known[v - n_u, live[j]]
                    apart[v] = amount - mean[v]
                    for w in range(v + 1):
                        second[c, v, w] += chance[j] * apart[v] * apart[w]


@kernel
def pure_moments(
    u: NDArray[np.floating], cell: Ints, slopes: Floats, offsets: Floats, first: Floats, counts: Floats
) -> None:
    """Add the moments of the policies that play the best action at L price vectors, the first of several equal ones.

    Where the best action at the first vector is ahead by more than any other vector could change, it is the best of
    all, and the context is added to one sum for all of them.

    Args:
        u, cell: as above.
        slopes, offsets: `(L,C,V)` and `(L,A,C)`, as above for each vector.
        first: `(L+1,C,V)` sums of the outcomes; those of all vectors alike come last.
        counts: `(L+1,C,A)` numbers of contexts by action.
    """
    n_u, n_a, n = u.shape
    both, n_l = len(slopes), len(slopes)
    x, k, top, at = np.empty((n_a, _TILE)), np.empty((n_u, _TILE)), np.empty(_TILE), np.empty(_TILE, np.int64)
    second, moved, low, high = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    reach, apart = _reaches(slopes, offsets)
    for start in range(0, n, _TILE):
        m = min(_TILE, n - start)
        here, cells = u[:, :, start : start + m], cell[start : start + m]
        _worths(here, cells, slopes[0], offsets[0], k, x)
        _best(x, m, top, at)
        second[:] = -np.inf
        for a in range(n_a):
            own = x[a]
            for i in range(m):
                second[i] = own[i] if own[i] > second[i] and at[i] != a else second[i]
        for i in range(m):
            moved[i] = apart[cells[i]]
        for v in range(n_u):
            low[:] = np.inf
            high[:] = -np.inf
            for a in range(n_a):
                amount = here[v, a]
                for i in range(m):
                    low[i] = amount[i] if amount[i] < low[i] else low[i]
                    high[i] = amount[i] if amount[i] > high[i] else high[i]
            for i in range(m):
                moved[i] += reach[cells[i], v] * (high[i] - low[i])
        for i in range(m):
            c = cells[i]
            if top[i] - second[i] > moved[i] + 1e-12 * (abs(top[i]) + abs(second[i])):
                counts[both, c, at[i]] += 1.0
                for v in range(n_u):
                    first[both, c, v] += here[v, at[i], i]
                continue
            for z in range(n_l):
                a = _best_action(here, c, i, slopes[z], offsets[z])
                counts[z, c, a] += 1.0
                for v in range(n_u):
                    first[z, c, v] += here[v, a, i]


@kernel
def _reaches(slopes: Floats, offsets: Floats) -> tuple[Floats, Floats]:
    """The distances of the vectors from the first: in every slope, and in the difference of two offsets."""
    n_c, n_u = slopes.shape[1], slopes.shape[2]
    reach, apart = np.zeros((n_c, n_u)), np.zeros(n_c)
    for z in range(1, len(slopes)):
        for c in range(n_c):
            low, high = np.inf, -np.inf
            for a in range(offsets.shape[1]):
                low = min(low, offsets[z, a, c] - offsets[0, a, c])
                high = max(high, offsets[z, a, c] - offsets[0, a, c])
            apart[c] = max(apart[c], high - low)
            for v in range(n_u):
                reach[c, v] = max(reach[c, v], abs(slopes[z, c, v] - slopes[0, c, v]))
    return reach, apart


@kernel
def _best_action(u: NDArray[np.floating], c: int, i: int, slope: Floats, offset: Floats) -> int:
    """The first of the best actions in one context."""
    best, top = 0, -np.inf
    for a in range(len(offset)):
        worth = offset[a, c]
        for v in range(len(u)):
            worth += slope[c, v] * u[v, a, i]
        if worth > top:
            best, top = a, worth
    return best


@kernel
def best_actions(u: NDArray[np.floating], cell: Ints, slopes: Floats, offsets: Floats) -> Ints:
    """The action that each of L price vectors plays in every context, `->(L,n)`."""
    found = np.empty((len(slopes), len(cell)), np.int64)
    for z in range(len(slopes)):
        for i in range(len(cell)):
            found[z, i] = _best_action(u, cell[i], i, slopes[z], offsets[z])
    return found


class Block(NamedTuple):
    """Some contexts, column by column."""

    outcomes: NDArray[np.floating]  # (V,A,n) of every action, as they differ by context
    cell: Ints  # (n,) of groups

    def take(self, rows: Ints) -> Block:
        """Return some of the contexts."""
        return Block(np.ascontiguousarray(self.outcomes[:, :, rows]), self.cell[rows])


class Terms(NamedTuple):
    """A linear program over contexts, apart from these: max mean w.u s.t. mean of all rows <= bound.

    Row m of an action with outcomes u in a context of cell c is sum_o factors[c,m,o] u_o.
    """

    weights: Floats  # (V+K,) of outcomes in the objective
    known: Floats  # (K,A) outcomes that are alike in all contexts; they come after the others
    factors: Floats  # (C,M,V+K)
    bound: Floats  # (M,)

    def without_worth(self) -> Terms:
        """Return the same rows with an objective of 0."""
        return self._replace(weights=0.0 * self.weights)

    def slopes(self, prices: Floats) -> tuple[Floats, Floats]:
        """Return the worth of outcomes at prices of rows, `(L,M)->(L,C,V),(L,A,C)`: those of contexts, and offsets.

        Prices are added up in a fixed order, so that the same prices have the same worth to the bit.
        """
        worth = np.repeat(self.weights[None, None], len(prices), 0) - np.zeros((1, len(self.factors), 1))
        for m in range(len(self.bound)):
            worth -= prices[:, m, None, None] * self.factors[None, :, m]
        split = len(self.weights) - len(self.known)
        offsets = np.zeros((len(prices), self.known.shape[1], len(self.factors)))
        for k, amount in enumerate(self.known):
            offsets += amount[None, :, None] * worth[:, None, :, split + k]
        return np.ascontiguousarray(worth[:, :, :split]), offsets

    def outcomes(self, first: Floats, counts: Floats) -> Floats:
        """Join sums of outcomes with those of known ones, `(...,C,V),(...,C,A)->(...,C,V+K)`."""
        return np.concatenate([first, counts @ self.known.T], -1)


Sums = tuple[Floats, ...]
Job = Callable[[Iterable[Block]], Sums]


class Contexts(Protocol):
    """Contexts that are read in passes."""

    def over(self, job: Job) -> Sums:
        """Sum the results of a job over all parts, in their order; the last sum is the number of contexts."""


class Memory(NamedTuple):
    """Contexts in memory."""

    blocks: tuple[Block, ...]

    def over(self, job: Job) -> Sums:
        return job(self.blocks)


@dataclass(frozen=True, eq=False)
class SmoothJob:
    """The sums of lotteries at one price vector and a temperature."""

    terms: Terms
    prices: Floats  # (M,)
    temperature: float

    def __call__(self, blocks: Iterable[Block]) -> Sums:
        t = self.terms
        slopes, offsets = t.slopes(self.prices[None])
        cells, width = len(t.factors), len(t.weights)
        first, counts = np.zeros((cells, width - len(t.known))), np.zeros((cells, t.known.shape[1]))
        second, tops, rows = np.zeros((cells, width, width)), np.zeros(2), 0
        for block in blocks:
            smooth_moments(
                block.outcomes, block.cell, t.known, slopes[0], offsets[0], self.temperature,
                first, counts, second, tops,
            )  # fmt: skip
            rows += len(block.cell)
        return first, counts, second, tops, np.array([float(rows)])


@dataclass(frozen=True, eq=False)
class PureJob:
    """The sums of the policies that play the best action at each of some price vectors."""

    terms: Terms
    prices: Floats  # (L,M)

    def __call__(self, blocks: Iterable[Block]) -> Sums:
        slopes, offsets = self.terms.slopes(self.prices)
        first = np.zeros((len(slopes) + 1, *slopes.shape[1:]))
        counts = np.zeros((len(slopes) + 1, slopes.shape[1], offsets.shape[1]))
        rows = 0
        for block in blocks:
            pure_moments(block.outcomes, block.cell, slopes, offsets, first, counts)
            rows += len(block.cell)
        return first[:-1] + first[-1], counts[:-1] + counts[-1], np.array([float(rows)])


class SmoothedDual(NamedTuple):
    """The smoothed dual at some prices, per context."""

    value: float
    bound: float  # the dual itself: no plan is worth more
    slope: Floats  # (M,)
    curve: Floats  # (M,M)


def smooth_dual(contexts: Contexts, terms: Terms, prices: Floats, temperature: float) -> SmoothedDual:
    """Evaluate the smoothed dual and its derivatives in one pass, `(M)->(),(M),(M,M)`.

    Equation: D(q) = q.bound + mean_i t log sum_a exp((w.u_ia - q.rows_ia) / t); at t = 0 it is the dual function, the
    least value of which is the optimum.
    """
    first, counts, second, tops, (rows,) = contexts.over(SmoothJob(terms, prices, temperature))
    used = np.einsum("cmo,co->m", terms.factors, terms.outcomes(first, counts)) / rows
    lower = np.tril(second, -1)
    curve = np.einsum("cmo,cop,cnp->mn", terms.factors, second + np.swapaxes(lower, 1, 2), terms.factors, optimize=True)
    paid = float(prices @ terms.bound)
    return SmoothedDual(
        paid + float(tops[0]) / rows, paid + float(tops[1]) / rows, terms.bound - used, curve / (rows * temperature)
    )


class Policies(NamedTuple):
    """Policies that each play the best action at a price vector, with their averages per context."""

    prices: Floats  # (L,M)
    values: Floats  # (L,)
    used: Floats  # (L,M)

    @staticmethod
    def none(terms: Terms) -> Policies:
        rows = len(terms.bound)
        return Policies(np.zeros((0, rows)), np.zeros(0), np.zeros((0, rows)))

    def take(self, which: Ints) -> Policies:
        return Policies(*(z[which] for z in self))

    def and_(self, other: Policies) -> Policies:
        return Policies(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

    def bounds(self, terms: Terms) -> Floats:
        """Return the dual function at the prices of all, `->(L)`; infinite where a price is negative."""
        found = self.values + ((terms.bound - self.used) * self.prices).sum(1)
        return np.where((self.prices >= 0.0).all(1), found, np.inf)


def policies(contexts: Contexts, terms: Terms, prices: Floats) -> Policies:
    """Evaluate the best policies at L price vectors in one pass, `(L,M)->(L),(L,M)`."""
    first, counts, (rows,) = contexts.over(PureJob(terms, prices))
    sums = terms.outcomes(first, counts) / rows
    return Policies(prices, (sums @ terms.weights).sum(1), np.einsum("cmo,lco->lm", terms.factors, sums))
