"""The clusters of a log, rows of one customer or shop that tell less than independent ones, and how much rows count."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Bools, Floats, Ints
from evenhand.logs.bad_rows import BadRows
from evenhand.logs.columns import Columns, Names

_POINTED = re.compile(r"^(-?\d+)\.0+$")


@dataclass(frozen=True, eq=False)
class Clusters:
    """Groups of rows that belong together: rows of a cluster may depend on each other, and clusters are independent.

    Args:
        numbers: `(N)` from 0 on, of the cluster of every row.
        names: `(G)` of clusters, wherever rows are in another order; see `dealt`.
        column: that states them; None where each row is a cluster.
        weights: `(N)` as how many cases each row counts, 1 on average; None where all count alike.

    >>> rows = Clusters.of(np.array([1, 0, 1]), "customer")
    >>> rows.count, rows.sums(np.array([1.0, 2.0, 3.0])).tolist()
    (2, [1.3333333333333333, 2.6666666666666665])
    """

    numbers: Ints
    names: Ints
    column: str | None = None
    weights: Floats | None = None

    @staticmethod
    def of(numbers: Ints, column: str | None = None) -> Clusters:
        """Return clusters by their numbers, each of which occurs, `(N)->`."""
        return Clusters(numbers, np.arange(int(numbers.max(initial=-1)) + 1), column)

    def weighted(self, weights: Floats) -> Clusters:
        """Return the clusters with weights of rows in any unit, `(N)->`; nothing changes where all are the same.

        >>> Clusters.of(np.arange(3)).weighted(np.array([2.0, 4.0, 6.0])).weights.tolist()
        [0.5, 1.0, 1.5]
        """
        return replace(self, weights=weights / weights.mean()) if np.ptp(weights) > 0.0 else self

    def mean(self, terms: Floats | Bools, rows: Ints | Bools | slice = slice(None)) -> float:
        """Return an average over rows, by their weights, `(N)->`."""
        each = terms[rows]
        return float(each.mean() if self.weights is None else np.average(each, weights=self.weights[rows]))

    def times(self, terms: Floats) -> Floats:
        """Return numbers of rows times the weights of rows, `(N,...)->(N,...)`."""
        if self.weights is None:
            return terms
        return np.asarray(terms * self.weights.reshape(-1, *[1] * (terms.ndim - 1)))

    @property
    def count(self) -> int:
        return len(self.names)

    @property
    def degrees(self) -> float:
        """The degrees of freedom of standard errors: clusters less 1, and no end of them where each row is one."""
        return float("inf") if self.count == len(self.numbers) else self.count - 1.0

    def sums(self, influence: Floats) -> Floats:
        """Return the influence of clusters on an average over rows, `(N)->(G)`.

        Equation: psi_g = (G / N) sum_i psi_i over the rows of g, so that var(psi_g) / G, with G - 1 in the variance, is
        the linearised variance of the average by clusters, G / (G - 1) sum_g (sum_i psi_i)^2 / N^2 (Liang and Zeger
        1986). Where each row is a cluster these are the numbers of rows. Weights of rows multiply their influence, as
        on a ratio of sums (Horvitz and Thompson 1952; Hajek 1971).
        """
        found = np.bincount(self.numbers, weights=self.times(influence), minlength=self.count).astype(float)
        return found if self.count == len(self.numbers) else found * (self.count / len(self.numbers))

    def parts(self) -> Floats:
        """Return the fraction that every row is of its cluster, `->(N)`."""
        return np.asarray(1.0 / np.bincount(self.numbers)[self.numbers])

    def totals(self, terms: Floats) -> Floats:
        """Return sums over clusters, `(N,n)->(G,n)`."""
        each = [np.bincount(self.numbers, weights=z, minlength=self.count) for z in terms.T]
        return np.ascontiguousarray(np.stack(each, 1))

    def effective(self, weights: Floats) -> float:
        """Return the effective number of clusters, (sum w)^2 / sum w^2 over sums of weights (Kish 1965), `(N)->`."""
        w = np.bincount(self.numbers, weights=self.times(weights), minlength=self.count)
        total, square = float(w.sum()), float(w @ w)
        return total**2 / square if total else 0.0

    def excess(self, terms: Floats, kind: Ints | None = None, kinds: int = 1) -> tuple[Floats, Floats]:
        """Return the factors by which clusters and weights multiply variances and third moments of averages.

        `(N)->(K),(K)`.

        Equation: with the sums S_g over clusters of the terms t_i less their mean, sum_g |S_g|^k / sum_i |t_i|^k for k
        of 2 and 3, the design effect of Kish 1965. It is 1 where each row is a cluster. With weights of rows, 1 on
        average in each kind, means and sums S_g are by them.

        Args:
            terms: what is averaged.
            kind, kinds: of every row the kind whose average it is in, and how many there are; by default one.
        """
        kind = np.zeros(len(terms), np.int64) if kind is None else kind
        rows = np.maximum(np.bincount(kind, minlength=kinds), 1)
        own = None if self.weights is None else self.weights / (np.bincount(kind, self.weights, kinds) / rows)[kind]
        t = terms - (np.bincount(kind, terms if own is None else own * terms, kinds) / rows)[kind]
        pairs, place = np.unique(self.numbers * kinds + kind, return_inverse=True)
        sums, found = np.bincount(place, t if own is None else own * t), []
        for k in (2, 3):
            whole, alone = (np.bincount(of, np.abs(z) ** k, kinds) for of, z in ((pairs % kinds, sums), (kind, t)))
            found.append(np.maximum(np.divide(whole, alone, out=np.ones(kinds), where=alone > 0.0), 1.0))
        return found[0], found[1]

    def kept(self, rows: Ints | Bools | slice) -> Clusters:
        """Return the clusters of some rows."""
        names, numbers = np.unique(self.numbers[rows], return_inverse=True)
        return Clusters(numbers, self.names[names], self.column, None if self.weights is None else self.weights[rows])

    def dealt(self, order: Ints) -> Clusters:
        """Return the clusters of the rows in another order, in which those of a cluster follow each other."""
        numbers = self.numbers[order]
        fresh = np.diff(numbers, prepend=-1) != 0
        weights = None if self.weights is None else self.weights[order]
        return Clusters(np.cumsum(fresh) - 1, self.names[numbers[fresh]], self.column, weights)


def whole(names: Names) -> Names:
    """Read names alike that differ in how they are typed: in capitals, or in the point of a whole number, such as 5.0.

    Customers that are joined by it make errors larger, and one that is several would make them too small.

    >>> whole(Names.of(["5", "5.0", "A-1", "a-1", "a.0"])).texts()
    ['5', '5', 'A-1', 'A-1', 'a.0']
    """
    found = [_POINTED.sub(r"\1", text) for text in names.values]
    typed = {text.casefold(): text for text in sorted(found, reverse=True)}
    same = Names.of([typed[text.casefold()] for text in found])
    return Names(same.codes[names.codes], same.values)


def declared(column: str, columns: Columns, bad: BadRows, missing: tuple[str, ...]) -> Clusters:
    """Read the clusters of usable rows, whose numbers follow their sorted names in any order of rows.

    Raises:
        InvalidInput: a usable row has none, or there are fewer than two.
    """
    names = whole(columns.names(column))
    none = np.flatnonzero(bad.good & names.are({"", *missing}))
    if len(none):
        rows = "1 row" if len(none) == 1 else f"{len(none):,} rows"
        expected = "a value in every row, as rows without one belong to nobody"
        raise InvalidInput(f"cluster: {column!r}", expected, f"none in {rows} (first in {columns.where(int(none[0]))})")
    found, numbers, _ = Names(bad.kept(names.codes), names.values).counted()
    if len(found) < 2:
        raise InvalidInput(f"cluster: {column!r}", "at least two different values", f"{found[0]!r} in every row")
    return Clusters.of(numbers, column)
