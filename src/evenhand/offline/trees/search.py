"""The best shallow trees of a log: an exact search over cuts of features and actions of leaves, within limits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats, Ints, Places
from evenhand.numerics.simplex import maximize, pivot
from evenhand.offline.plans.allocation import Resource
from evenhand.offline.trees.cuts import Branch, Cuts, Tree

_BITS = 51  # of sums of rows, which are exact in floating point and so the same in any order
_ROUNDED = 1e-12  # of a bound: rounding of products of prices and uses
_DEAR = 1e3  # the most that the largest use of every case is worth: of the difference in worth of any two trees
_NEAR = 1e-9  # of that difference: how far prices may be from the best ones
_STEPS = 40  # of prices, at each cut of the root
_PAIRS = 1e8  # of subtrees that are compared in a search


class Found(NamedTuple):
    """The best tree of a search."""

    tree: Tree
    worth: float  # on average
    bound: float  # what no tree within the limits is worth more than; the worth, if the search was complete
    beyond: Floats  # (M) the use beyond each limit, 0 if there is none
    complete: bool  # whether all pairs of subtrees were compared that may be the best


def best_tree(cuts: Cuts, worth: Floats, limits: Sequence[Resource], depth: int, pairs: float = _PAIRS) -> Found:
    """Return the tree with the greatest mean worth within limits or, without one, that which exceeds them least.

    Equation: max mean_i w_i(t(x_i)) over trees t of a depth of at most 2 s.t. the limits of all resources. Rows move
    from one side of the root to the other, cut by cut, so that sums by cut below it take O(F^2 N A) for F features. For
    each cut of the root, the dual bound at the best prices of the limits says whether it can have the best tree; if so,
    pairs of subtrees that are good enough at these prices are compared, each with all limits.

    At given prices the best tree is exact. So is the best tree within the limits, up to a rounding of each number by
    N 2^-51 of the largest one, unless there are too many pairs to compare: then no tree is worth more than the bound,
    which the best tree found may not reach. Where no tree keeps to the limits, the sum of what is used beyond them, in
    units of the largest use of one case, is the least up to .001 per case. Among equals, a tree with fewer cuts comes
    first, then the first feature, and the least cut.

    Args:
        cuts: of the rows.
        worth: `(N,A)`.
        limits: on the use of actions in these rows.
        depth: 1 or 2.
        pairs: how many pairs of subtrees are compared at most.

    Source: Zhou, Athey & Wager 2023, offline multi-action policy learning, without limits; the bound is ours.
    """
    program = _Program.of(worth, limits)
    search = _Search(program, pairs)
    whole = _Side.of(cuts, program.sums(cuts, np.arange(len(worth))))
    search.visit(-1, whole, _Side(np.zeros_like(whole.left[..., :1]), np.zeros_like(whole.total)))
    for cut, side in _roots(cuts, program) if depth > 1 else ():
        search.visit(cut, side, whole.less(side))
    return search.found(len(worth))


class _Program(NamedTuple):
    """Sums of worth and use, and the limits on them. A sum of use is of a resource and, if it has groups, of one."""

    table: Floats  # (N,U+1,A) worth and the use of resources, in units of which sums are exact
    places: Places  # (N,U+1) to which of the sums each of them adds
    unit: float  # of worth
    factor: Floats  # (M,S) of sums in limits, as a part of the largest use of one case; none has the worth
    most: Floats  # (M)
    scale: Floats  # (M) these units, per case
    span: float  # more than the difference in worth of any two trees

    @staticmethod
    def of(worth: Floats, limits: Sequence[Resource]) -> _Program:
        """State the program of some rows, `(N,A)->`."""
        count, actions = worth.shape
        rows, columns = sum(len(z.most) for z in limits), 1 + sum(z.factor.shape[1] for z in limits)
        table, places = np.empty((count, 1 + len(limits), actions)), np.zeros((count, 1 + len(limits)), np.int32)
        factor, most, scale = np.zeros((rows, columns)), np.zeros(rows), np.zeros(rows)
        table[:, 0], unit = _even(worth)
        row, column = 0, 1
        for u, z in enumerate(limits, 1):
            table[:, u], fine = _even(np.broadcast_to(z.use, worth.shape))
            places[:, u] = column + (0 if z.groups is None else z.groups)
            own, inside = slice(row, row + len(z.most)), slice(column, column + z.factor.shape[1])
            factor[own, inside] = z.factor / (z.units[:, None] * fine * count)
            most[own], scale[own] = z.most / z.units, z.units
            row, column = own.stop, inside.stop
        span = 1.0 + float((table[:, 0].max(1) - table[:, 0].min(1)).sum())
        return _Program(table, places, unit, factor, most, scale, span)

    def sums(self, cuts: Cuts, rows: Ints) -> Floats:
        """Return the sums of some rows by bin and, last, of all of them, `(n)->(S,A,C+1)`."""
        found = np.zeros((self.factor.shape[1], self.table.shape[2], len(cuts.conditions) + 1))
        _add(cuts.codes, cuts.starts, self.table, self.places, rows, found)
        return found

    def over(self, sums: Floats) -> Floats:
        """Return the use beyond limits, `(S,...)->(M,...)`; what is due to rounding is 0."""
        found = (self.factor @ sums).T - self.most
        return np.asarray(np.where(np.abs(found) <= _ROUNDED * (1.0 + np.abs(self.most)), 0.0, found).T)

    def score(self, sums: Floats) -> float:
        """Return the worth of sums, less than that of all within the limits if these are exceeded, `(S)->`."""
        return float(sums[0]) - _fine(np.maximum(self.over(sums), 0.0).sum(), self.span)


class Near(NamedTuple):
    """Subtrees that may be part of the best tree, the best ones at some prices first."""

    codes: Ints  # (n)
    less: Floats  # (n) by how much they are less than the best one at these prices
    worth: Floats  # (n)
    use: Floats  # (n,M)


class _Side(NamedTuple):
    """The sums of worth and use of the rows on one side of the root."""

    left: Floats  # (S,A,C+1) where the condition of each cut below holds; at first, of no cut, 0
    total: Floats  # (S,A)

    @staticmethod
    def of(cuts: Cuts, sums: Floats) -> _Side:
        """Return a side by the sums of its bins, `(S,A,C+1)->`; the last one is of all its rows."""
        left = np.concatenate([np.zeros_like(sums[..., :1]), sums[..., :-1]], 2)
        for f in np.flatnonzero(cuts.ordered).tolist():
            own = left[..., cuts.starts[f] + 1 : cuts.starts[f + 1] + 1]
            np.cumsum(own, axis=2, out=own)
        return _Side(left, sums[..., -1])

    def less(self, other: _Side) -> _Side:
        """Return the other side."""
        return _Side(self.left - other.left, self.total - other.total)

    def at(self, codes: Ints) -> Floats:
        """Return the sums of subtrees with codes, `(n)->(S,n)`."""
        actions = self.total.shape[1]
        t, a, b = codes // actions**2, codes // actions % actions, codes % actions
        return np.asarray(self.left[:, a, t] + self.total[:, b] - self.left[:, b, t])

    def best(self, weights: Floats) -> int:
        """Return the code of the subtree with the greatest weighted sum, `(S)->`."""
        yes = np.tensordot(weights, self.left, 1)
        no = (weights @ self.total)[:, None] - yes
        t, actions = int((yes.max(0) + no.max(0)).argmax()), len(yes)
        a, b = int(yes[:, t].argmax()), int(no[:, t].argmax())
        return (t * actions + a) * actions + b if t else b

    def near(self, weights: Floats, reach: float, factor: Floats) -> Near:
        """Return the subtrees whose weighted sum is within a reach of the greatest one, `(S),(),(M,S)->`.

        A tree that has several codes has the first of them.
        """
        yes = np.tensordot(weights, self.left, 1).T
        no = weights @ self.total - yes
        table, every = yes[:, :, None] + no[:, None], np.arange(yes.shape[1])
        table[1:, every, every] = -np.inf
        table[0, 1:] = -np.inf
        less = (table.max() - table).ravel()
        codes = np.flatnonzero(less <= reach)
        codes = codes[np.argsort(less[codes], kind="stable")]
        sums = self.at(codes)
        return Near(codes, less[codes], sums[0], np.ascontiguousarray((factor @ sums).T))

    def tree(self, code: int) -> Tree:
        """Return the subtree with a code."""
        actions = self.total.shape[1]
        cut, yes, no = code // actions**2 - 1, code // actions % actions, code % actions
        return no if cut < 0 else Branch(cut, yes, no)


class _Search:
    """The best tree so far, cut by cut of the root.

    Args:
        program: of the rows.
        pairs: how many pairs of subtrees may be compared.
    """

    def __init__(self, program: _Program, pairs: float) -> None:
        self.program, self.pairs = program, pairs
        self.tree: Tree = 0
        self.sums, self.best = np.zeros(0), tuple[float, ...]((-np.inf,))
        self.bound, self.pool = -np.inf, np.zeros((0, 2), np.int64)

    def found(self, rows: int) -> Found:
        """Return the result."""
        unit, over = rows * self.program.unit, np.maximum(self.program.over(self.sums), 0.0)
        worth = float(self.sums[0]) / unit
        return Found(self.tree, worth, max(self.bound / unit, worth), over * self.program.scale, self.pairs > 0.0)

    def visit(self, cut: int, yes: _Side, no: _Side) -> None:
        """Compare all trees with a cut of the root, none if it is -1.

        Prices are those of the best mixture of some trees, to which the best one at these prices is added. It begins
        with the trees of the mixture at the cut before.
        """
        program, pool, shares = self.program, self.pool, np.ones(len(self.pool))
        columns, weights, bound = yes.at(pool[:, 0]) + no.at(pool[:, 1]), np.eye(1, program.factor.shape[1])[0], np.inf
        for _ in range(_STEPS):
            reached, prices = -np.inf, np.zeros(len(program.most))
            if len(pool):
                reached, prices, shares = _mixed(columns[0], program.over(columns), program.span)
            at = weights - prices @ program.factor
            codes = np.array([[yes.best(at), no.best(at)]])
            sums = yes.at(codes[:, 0]) + no.at(codes[:, 1])
            self._take(cut, yes, no, codes[0], sums[:, 0])
            most = float((at @ sums)[0] + prices @ program.most)
            if most < bound:
                bound, best = most, at
            if bound <= self.best[0] or most <= reached + _NEAR * program.span:
                break
            pool, columns = np.concatenate([pool, codes]), np.column_stack([columns, sums])
        self.pool = pool[: len(shares)][shares > 0.0] if len(shares) else pool
        if bound > self.best[0]:
            self._compare(cut, yes, no, best, bound)

    def _compare(self, cut: int, yes: _Side, no: _Side, weights: Floats, bound: float) -> None:
        """Compare the pairs of subtrees that may be better than the best tree, by their sums at weights, `(S)->`."""
        program, best = self.program, self.best[0]
        reach = bound - best + _ROUNDED * program.span
        one, other = (side.near(weights, reach, program.factor) for side in (yes, no))
        i, j, count = _best_pair(one, other, program.most, program.span, best, reach, self.pairs)
        self.pairs = max(self.pairs - count, 0.0)
        if self.pairs <= 0.0:
            self.bound = max(self.bound, bound)
        if i >= 0:
            codes = np.array([[one.codes[i], other.codes[j]]])
            self._take(cut, yes, no, codes[0], (yes.at(codes[:, 0]) + no.at(codes[:, 1]))[:, 0])

    def _take(self, cut: int, yes: _Side, no: _Side, codes: Ints, sums: Floats) -> None:
        """Take a pair with some sums if it is the best so far; among equals, that of the first codes, `(2),(S)->`."""
        one, other = codes.tolist()
        own = self.program.score(sums), -cut, -one, -other
        if own > self.best:
            self.best, self.sums = own, sums
            self.tree = yes.tree(one) if cut < 0 else Branch(cut, yes.tree(one), no.tree(other))


def _even(table: Floats) -> tuple[Floats, float]:
    """Round numbers to multiples of a unit, so that sums of all rows are exact; the factor comes second."""
    size = float(np.abs(table).max())
    unit = 2.0 ** (_BITS - math.ceil(math.log2(len(table))) - (math.frexp(size)[1] if size else 0))
    return np.rint(table * unit), unit


def _roots(cuts: Cuts, program: _Program) -> Iterator[tuple[int, _Side]]:
    """Yield every cut of the root, with the side on which its condition holds."""
    for f, ordered in enumerate(cuts.ordered.tolist()):
        first, last = cuts.starts[f : f + 2].tolist()
        own, sums = cuts.codes[:, f], program.sums(cuts, np.zeros(0, np.int64))
        order = np.argsort(own, kind="stable")
        ends = np.searchsorted(own[order], np.arange(last - first + 1)).tolist()
        for b, cut in enumerate(range(first, last)):
            rows = order[ends[b] : ends[b + 1]]
            if len(rows):
                sums = sums * ordered + program.sums(cuts, rows)
                yield cut, _Side.of(cuts, sums)


def _mixed(worth: Floats, over: Floats, span: float) -> tuple[float, Floats, Floats]:
    """Mix trees so that they are worth most within limits, `(K),(M,K)->(),(M),(K)`: the worth, prices, and shares.

    Use beyond limits has a price, by which prices are at most.
    """
    limits, trees = over.shape
    table = np.zeros((limits + 2, trees + limits))
    table[:limits, : trees - 1] = over[:, 1:] - over[:, :1]
    table[np.arange(limits), trees - 1 + np.arange(limits)] = -1.0  # use beyond limits
    table[:limits, -1] = -over[:, 0]
    table[limits, : trees - 1], table[limits, -1] = 1.0, 1.0
    table[-1, : trees - 1] = (worth[1:] - worth[0]) / span
    table[-1, trees - 1 : -1] = -_DEAR
    basic, free = np.append(trees + limits + np.arange(limits), 0), np.arange(1, trees + limits)
    for m in np.flatnonzero(over[:, 0] > 0.0).tolist():
        pivot(table, m, trees - 1 + m, basic, free)
    maximize(table, limits + 1, basic, free)
    values = np.zeros(trees + 2 * limits)
    values[basic] = table[:-1, -1]
    prices = np.zeros(trees + 2 * limits)
    prices[free] = np.maximum(-table[-1, :-1], 0.0) * span
    value = worth @ values[:trees] - span * _DEAR * values[trees : trees + limits].sum()
    return float(value), prices[trees + limits :], values[:trees]


@kernel
def _fine(beyond: float, span: float) -> float:
    """Return what the use beyond limits costs in worth: more than any two trees differ by."""
    return span * (1.0 + _DEAR * beyond) if beyond > 0.0 else 0.0


@kernel
def _best_pair(
    one: Near, other: Near, most: Floats, span: float, best: float, reach: float, pairs: float
) -> tuple[int, int, float]:
    """Return the best pair of subtrees that is better than a tree, -1 without one, and how many were compared.

    Args:
        one, other: the subtrees of both sides.
        most: `(M)` the limits.
        span: of worth.
        best: the score of a tree.
        reach: how much less than the best, at the prices of the limits, pairs are that may be better than it.
        pairs: how many are compared at most.
    """
    found, pair, count = best, (-1, -1), 0.0
    for i in range(len(one.less)):
        for j in range(len(other.less)):
            count += 1.0
            if one.less[i] + other.less[j] > reach - (found - best) or count > pairs:
                break
            score = one.worth[i] + other.worth[j]
            if score <= found:
                continue
            beyond = 0.0
            for m in range(len(most)):
                over = one.use[i, m] + other.use[j, m] - most[m]
                if over > _ROUNDED * (1.0 + abs(most[m])):
                    beyond += over
            score -= _fine(beyond, span)
            if score > found:
                found, pair = score, (i, j)
    return pair[0], pair[1], count


@kernel
def _add(codes: Places, starts: Ints, table: Floats, places: Places, rows: Ints, sums: Floats) -> None:
    """Add rows to the sums of their bins, and to the last one."""
    for i in rows:
        for f in range(codes.shape[1] + 1):
            if f < codes.shape[1] and codes[i, f] < 0:
                continue
            t = starts[f] + codes[i, f] if f < codes.shape[1] else sums.shape[2] - 1
            for u in range(table.shape[1]):
                m = places[i, u]
                for a in range(table.shape[2]):
                    sums[m, a, t] += table[i, u, a]
