"""Sums that a pass over contexts returns, by cell of groups, from which all rows follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.core.types import Floats, Ints
from evenhand.planning.moment_kernels import pure_moments, smooth_moments


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
        """Return what outcomes are worth at prices of rows, `(L,M)->(L,C,V),(L,A,C)`: those of contexts, and offsets.

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
        """Add what a job finds in every part, in the order of the parts; the last sum is the number of contexts."""


class Held(NamedTuple):
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


class Smoothed(NamedTuple):
    """The smoothed dual at some prices, per context."""

    value: float
    bound: float  # the dual itself: no plan is worth more
    slope: Floats  # (M,)
    curve: Floats  # (M,M)


def smoothed(contexts: Contexts, terms: Terms, prices: Floats, temperature: float) -> Smoothed:
    """Evaluate the smoothed dual and its derivatives in one pass, `(M)->(),(M),(M,M)`.

    Equation: D(q) = q.bound + mean_i t log sum_a exp((w.u_ia - q.rows_ia) / t); at t = 0 it is the dual function, the
    least value of which is the optimum.
    """
    first, counts, second, tops, (rows,) = contexts.over(SmoothJob(terms, prices, temperature))
    used = np.einsum("cmo,co->m", terms.factors, terms.outcomes(first, counts)) / rows
    lower = np.tril(second, -1)
    curve = np.einsum("cmo,cop,cnp->mn", terms.factors, second + np.swapaxes(lower, 1, 2), terms.factors, optimize=True)
    paid = float(prices @ terms.bound)
    return Smoothed(
        paid + float(tops[0]) / rows, paid + float(tops[1]) / rows, terms.bound - used, curve / (rows * temperature)
    )


class Policies(NamedTuple):
    """Policies that each play the best action at a price vector, with what they bring per context."""

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
