"""Rows that are multiples of each other, merged into directions with a lower and an upper bound.

A parity constraint states each row twice, once with each sign; with two groups of equal size, four times. Solvers for
prices treat these rows as one direction u with lo <= average u <= hi and one signed price.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.types import Floats, Ints
from evenhand.problem.problem import Problem
from evenhand.problem.rows import Rows


@kernel
def prices_of_rows(mu: Floats, multiple: Floats, upper: Ints, lower: Ints) -> Floats:
    """Prices of the rows, all at least 0, from signed prices of the directions, `(k),(d),(k),(k)->(d)`."""
    price = np.zeros((len(mu), len(multiple)))
    for r in range(len(mu)):
        for i in range(len(upper)):
            if upper[i] >= 0:
                price[r, upper[i]] = max(mu[r, i], 0.0) / multiple[upper[i]]
            if lower[i] >= 0:
                price[r, lower[i]] = min(mu[r, i], 0.0) / multiple[lower[i]]
    return price


@dataclass(frozen=True, kw_only=True, eq=False)
class MergedRows:
    """k directions of d rows.

    Row j reads multiple_j times direction of_j. The upper bound of a direction comes from row `upper`, the lower one
    from row `lower`; -1 where there is none.
    """

    first: Ints  # (k,) the row that stands for each direction
    of: Ints  # (d,)
    multiple: Floats  # (d,)
    upper: Ints  # (k,)
    lower: Ints  # (k,)

    def bounds(self, left: Floats) -> tuple[Floats, Floats]:
        """Bounds of the directions from bounds of the rows, `(d)->(k),(k)`; infinite where there is none."""
        scaled = left / self.multiple
        high = np.full((len(left), len(self.first)), np.inf)
        low = np.full((len(left), len(self.first)), -np.inf)
        for j, i in enumerate(self.of.tolist()):
            if self.multiple[j] > 0.0:
                high[:, i] = np.minimum(high[:, i], scaled[:, j])
            else:
                low[:, i] = np.maximum(low[:, i], scaled[:, j])
        return np.minimum(low, high), high

    def rows(self, u: Floats) -> Floats:
        """The rows at values u of the directions, `(k)->(d)`."""
        return np.asarray(u[:, self.of] * self.multiple)

    def prices(self, mu: Floats) -> Floats:
        """Prices of the rows, all at least 0, from signed prices that begin with those of the directions."""
        return prices_of_rows(mu, self.multiple, self.upper, self.lower)


def separate(bound: Floats) -> MergedRows:
    """Return every row as a direction of its own, with an upper bound."""
    each = np.arange(len(bound))
    return MergedRows(first=each, of=each, multiple=np.ones(len(bound)), upper=each, lower=np.full(len(bound), -1))


def merge(problem: Problem, rows: Rows, bound: Floats) -> MergedRows:
    """Find rows that are always multiples of each other, and the tightest bounds of each direction."""
    marks = [_mark(problem, rows, j) for j in range(len(rows))]
    first: list[int] = []
    of, multiple = np.zeros(len(rows), np.int64), np.ones(len(rows))
    for j, (kind, vector) in enumerate(marks):
        for i, f in enumerate(first):
            other_kind, other = marks[f]
            if kind == other_kind and vector.any() and other.any():  # a row of zeros is a direction of its own
                c = float(vector @ other) / float(other @ other)
                if np.allclose(vector, c * other, rtol=1e-9, atol=0.0):  # each entry: outcomes have units of their own
                    of[j], multiple[j] = i, c
                    break
        else:
            of[j] = len(first)
            first.append(j)
    upper, lower = np.full(len(first), -1), np.full(len(first), -1)
    for j in range(len(rows)):
        i, edge = of[j], bound[j] / multiple[j]
        if multiple[j] > 0 and (upper[i] < 0 or edge < bound[upper[i]] / multiple[upper[i]]):
            upper[i] = j
        if multiple[j] < 0 and (lower[i] < 0 or edge > bound[lower[i]] / multiple[lower[i]]):
            lower[i] = j
    return MergedRows(first=np.array(first, np.int64), of=of, multiple=multiple, upper=upper, lower=lower)


def _mark(problem: Problem, rows: Rows, j: int) -> tuple[object, Floats]:
    """A kind and a vector: rows of one kind are multiples of each other exactly if their vectors are."""
    coefficients = np.concatenate([rows.learned[j], rows.known[j]])
    if rows.grouping[j] < 0:
        return "everybody", coefficients * rows.always[j]
    grouping = problem.groups[rows.grouping[j]]
    if rows.by_share[j] and not grouping.known:  # estimated shares change: only rows of one group can be multiples
        return (grouping.name, int(rows.column[j])), np.outer([rows.always[j], rows.inside[j]], coefficients).ravel()
    columns = [i for i, (name, _) in enumerate(problem.columns) if name == grouping.name]
    inside = np.array([_inside(problem, rows, j, c) for c in columns])
    return grouping.name, np.outer(rows.always[j] + inside, coefficients).ravel()


def _inside(problem: Problem, rows: Rows, j: int, column: int) -> float:
    """The part of row j's factor that a play in the group of a column adds."""
    if column != rows.column[j]:
        return 0.0
    return float(rows.inside[j] / problem.shares[column] if rows.by_share[j] else rows.inside[j])
