"""Scores of every action in every row of a log, and their averages, with intervals and bands.

A normal interval takes an average for one of many alike. Where a few rows have most of the total, the average is
skewed, and the rows that would tell how much it varies are rare: of lognormal spending of 2,000 customers, 12 % of whom
bought, normal intervals of 95 % held in 75 %. Two numbers of the same rows mend both: their skewness bends the interval
towards the side from which rare rows are missing, and their kurtosis says how well the variance is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cbrt, inf, log, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.luck import Stream, normal
from evenhand.core.types import Floats, Ints
from evenhand.logs.clusters import Clusters
from evenhand.offline.events import Gap, Share

_STRAIGHT = 1e-9  # skewness of an average below which nothing bends
_FARTHEST, _HALVINGS = 38.0, 60  # of a search for a confidence
Z = 1.959963984540054  # standard errors to either side in a 95 % interval


STILL = np.zeros(())  # of policies that no fold moves, as they were not planned
BLOCKS = 4096  # sums of rows that share a multiplier
_DRAWS, _BATCH = 10_000, 1000
_MOST = 200  # budgets


def student(errors: float, degrees: float) -> float:
    """Return the quantile of Student's t with the confidence of so many standard errors of a normal distribution.

    >>> round(student(1.96, 9.0), 3), student(1.96, inf)
    (2.262, 1.96)
    """
    if degrees == inf:
        return errors
    from scipy.special import ndtr, stdtrit

    return -float(stdtrit(degrees, float(ndtr(-errors))))


def anytime(count: float, narrowest: float, error: float = 0.05) -> float:
    """Return the standard errors of an interval that holds at every size of a log at once, while it grows.

    Equation: sqrt((1 + 1 / s) (log(1 + s) + 2 log(1 / error))) with s = n r of n cases, which is a mixture of normal
    boundaries. It is about the narrowest at m cases with r = (2 log(1 / error) + log(1 + 2 log(1 / error))) / m.

    Source: Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024, "Time-uniform central limit theory and asymptotic
    confidence sequences", Theorem 2.2: for large n, as all standard errors are.

    Args:
        count: n, the cases or clusters that there are.
        narrowest: m.
        error: the chance that an interval ever fails to hold.

    >>> [round(anytime(n, 1000.0), 2) for n in (100, 1000, 10_000, 1_000_000)]  # 1.96 at a size that was fixed
    [3.86, 3.04, 3.24, 3.87]
    """
    twice = 2.0 * log(1.0 / error)
    s = count * (twice + log(1.0 + twice)) / narrowest
    return sqrt((1.0 + 1.0 / s) * (log(1.0 + s) + twice))


class Tails(NamedTuple):
    """The departure of an average's error from a normal one, by which its interval is bent and widened.

    Equation: let t be the error in standard errors and k its skewness. g(t) = t + k t^2 / 3 + k^2 t^3 / 27 + k / 6
    rises everywhere and is normal up to terms of 1 / n. The interval is {v: |g((average - v) / se)| <= z}, where z is a
    quantile of Student's t with 2 n / (K - 1) degrees of freedom, n - 1 at most: with the kurtosis K of n rows, their
    variance is known as well as that of so many normal numbers. The skewness of few rows falls short of that of many,
    by a part of K / n where one of them has all of it, and so much is added:
    k = (1 + K / n) sum_i psi_i^3 / (sum_i psi_i^2)^(3/2).

    Source: Hall 1992, "On the removal of skewness by transformation"; the degrees are those of Satterthwaite's rule,
    and what is added is what a jackknife adds to the skewness of one row. That they are used together is ours.

    Args:
        skew: k, of rows with the influence psi.
        degrees: of freedom, by the kurtosis.
    """

    skew: float = 0.0
    degrees: float = inf

    @staticmethod
    def of(rows: int, second: float, third: float, fourth: float) -> Tails:
        """Return the tails of an average, by the sums of powers of the influence of its rows.

        >>> Tails.of(100, 100.0, 0.0, 300.0)  # as of normal numbers
        Tails(skew=0.0, degrees=99.0)
        """
        if not second**2 > 0.0:
            return Tails(0.0, rows - 1.0)
        kurtosis = rows * fourth / second**2
        degrees = min(rows - 1.0, 2.0 * rows / (kurtosis - 1.0) if kurtosis > 1.0 else inf)
        return Tails((1.0 + kurtosis / rows) * third / second**1.5, degrees)

    def reach(self, errors: float, degrees: float = inf) -> tuple[float, float]:
        """Return how many standard errors the interval reaches downwards and upwards, with a normal one's confidence.

        >>> [round(z, 2) for z in Tails().reach(1.96)]
        [1.96, 1.96]
        >>> [round(z, 2) for z in Tails(0.5, 10.0).reach(1.96)]  # a few rows have most of the total
        [1.65, 9.23]
        """
        z = student(errors, min(degrees, self.degrees))
        return self._straight(z), -self._straight(-z)

    def negative(self) -> Tails:
        """The tails of the error times -1."""
        return self._replace(skew=-self.skew)

    def _straight(self, z: float) -> float:
        """The t of which g is z: (3 / k) ((1 + k (z - k / 6))^(1/3) - 1)."""
        k = self.skew
        return z if abs(k) < _STRAIGHT else (cbrt(1.0 + k * (z - k / 6.0)) - 1.0) * 3.0 / k


class Estimate(NamedTuple):
    """A value with its standard error, and the basis of its interval: events, or the tails of the error."""

    value: float
    se: float
    events: Share | Gap | None = None
    degrees: float = inf  # of freedom, of Student's t in place of the normal distribution; those of clusters
    tails: Tails = Tails()  # of the error of the value

    @property
    def pair(self) -> tuple[float, float]:
        """The value and its standard error."""
        return self.value, self.se

    @property
    def middle(self) -> float:
        """The value, between the ends of its range if it is a share."""
        return self.events.middle if isinstance(self.events, Share) else self.value

    @property
    def error(self) -> float:
        """The standard error, or of shares and sums of them that of a normal interval as wide as theirs."""
        if self.events is None:
            return self.se
        low, high = self.interval
        return (high - low) / (2.0 * Z)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval; NaN where no error is known."""
        return self.within(Z)

    def within(self, errors: float) -> tuple[float, float]:
        """The interval with the confidence of a number of standard errors of a normal one to either side."""
        z = student(errors, self.degrees)
        if isinstance(self.events, Share):
            return self.events.within(z)
        below, above = (reach * self.se for reach in self.tails.reach(errors, self.degrees))
        if self.events is not None:
            one, other = self.events.reach(errors, z)
            below, above = (one, other) if self.events.is_of_shares else (max(below, one), max(above, other))
        return self.value - below, self.value + above

    def below(self, bound: float) -> float:
        """Return the confidence that the value is at most a bound: that of the one-sided interval which ends there.

        >>> round(Estimate(0.0, 1.0).below(1.6449), 4)
        0.95
        """
        if np.isnan(self.se):
            return float("nan")
        low, high = -_FARTHEST, _FARTHEST
        for _ in range(_HALVINGS):
            z = 0.5 * (low + high)
            end = self.within(abs(z))[int(z > 0.0)]
            low, high = (z, high) if end < bound else (low, z)
        return NormalDist().cdf(0.5 * (low + high))

    def counted(self, cases: float, ends: tuple[float, float] | None) -> Estimate:
        """The estimate of an outcome that has one of two values, by a number of effective cases."""
        return (
            self
            if ends is None or ends[0] == ends[1] or np.isnan(self.se)
            else self._replace(events=Share(*self.pair, cases, *ends))
        )

    def negative(self) -> Estimate:
        """The estimate of the value times -1, where 0 stays 0: nothing is shown as -0."""
        events = None if self.events is None else self.events.negative()
        return self._replace(value=0.0 - self.value, events=events, tails=self.tails.negative())

    @staticmethod
    def of(influence: Floats, value: float, moves: Floats = STILL, degrees: float = inf) -> Estimate:
        """An estimate by its influence function, `(G)->`, and by how much folds move each other, `(K,K)`.

        Equation: se^2 = var(psi) / G + max(sum_jk d_jk d_kj, 0), with G - 1 in the variance; see `planned.moves`. The
        influence is that of clusters, as of `Clusters.sums`.
        """
        n = len(influence)
        if n < 2:
            return Estimate(value, float("nan"), degrees=degrees)
        z, mean = influence, float(influence.mean())
        if n * mean * mean > 1e-12 * float(z @ z):  # not of influence functions, whose mean is nearly 0
            z = z - mean
        square = z * z
        total = float(square.sum())
        se = float(np.sqrt(total / (n - 1) / n + max(float((moves * moves.T).sum()), 0.0)))
        if not total > 0.0:  # nothing varies, or no error is known
            return Estimate(value, se, degrees=degrees)
        return Estimate(value, se, degrees=degrees, tails=Tails.of(n, total, float(square @ z), float(square @ square)))


class Average(NamedTuple):
    """A number with the influence of every cluster on it: of every row, where each is one."""

    value: float
    psi: Floats  # (G,) of mean 0
    moves: Floats = STILL  # (K,K) of a policy that was planned fold by fold
    degrees: float = inf  # as of `Estimate`

    @staticmethod
    def of(terms: Floats, clusters: Clusters | None = None) -> Average:
        """The mean of terms, `(N)->`."""
        mean = float(terms.mean()) if clusters is None else clusters.mean(terms)
        return Average.by(mean, terms - mean, clusters)

    @staticmethod
    def by(value: float, influence: Floats, clusters: Clusters | None) -> Average:
        """A number with the influence of every row on it, `(N)`."""
        if clusters is None:
            return Average(value, influence)
        return Average(value, clusters.sums(influence), degrees=clusters.degrees)

    @property
    def estimate(self) -> Estimate:
        return Estimate.of(self.psi, self.value, self.moves, self.degrees)

    def counted(self, cases: float, ends: tuple[float, float] | None) -> Estimate:
        """The estimate of an average over effective cases, which is a share if the outcome has two values."""
        return self.estimate.counted(cases, ends)

    def beyond(self, own: Estimate, other: Average, others: Estimate) -> Estimate:
        """The difference to another number of the same rows, by the estimates of both.

        Where both are averages of amounts, it reaches as far to either side as the tails of its own rows do, too.
        """
        found = self.less(other).estimate
        if np.isnan(found.se):
            return found
        errors = 2.0 * own.se * others.se  # where nothing happened under one of them, they have nothing in common
        common = (own.se**2 + others.se**2 - found.se**2) / errors if errors > 0.0 else 0.0
        return found._replace(events=Gap(own, others, found.se, min(max(common, 0.0), 1.0)))

    def plus(self, other: Average) -> Average:
        """The sum with another number of the same rows."""
        return self._replace(value=self.value + other.value, psi=self.psi + other.psi, moves=self.moves + other.moves)

    def times(self, factor: float) -> Average:
        """The same number times a factor."""
        return self._replace(value=factor * self.value, psi=factor * self.psi, moves=factor * self.moves)

    def guess(self) -> Average:
        """The same number without an error, as for plays that were never logged."""
        return self._replace(psi=np.full(len(self.psi), np.nan), moves=STILL)

    def less(self, other: Average) -> Average:
        """The difference to another number of the same rows."""
        return self._replace(value=self.value - other.value, psi=self.psi - other.psi, moves=self.moves - other.moves)


def scores(predicted: Floats, actions: Ints, propensities: Floats, y: Floats) -> Floats:
    """Return a model's predictions, corrected by their weighted errors in the log, `(N,A),(N),(N),(N)->(N,A)`.

    Equation: g_ia = q_ia + 1{a = a_i} (y_i - q_ia) / p_i. The value of a policy pi is mean_i sum_a pi_ia g_ia.

    >>> scores(np.zeros((2, 2)), np.array([0, 1]), np.array([0.5, 0.25]), np.array([1.0, 1.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    found, i = predicted.copy(), np.arange(len(actions))
    found[i, actions] += (y - predicted[i, actions]) / propensities
    return found


def weights(policy: Floats, actions: Ints, propensities: Floats) -> Floats:
    """Return how many rows each row represents under a policy, `(N,A),(N),(N)->(N)`; 0 for an action of -1."""
    agree = policy[np.arange(len(actions)), np.maximum(actions, 0)]
    return np.asarray(np.where(actions >= 0, agree, 0.0) / propensities)


class Bands(NamedTuple):
    """The number of standard errors to either side that cover all numbers at once with probability 95 %."""

    value: float
    less: float  # of the differences to the first line or policy; that of this itself, whose differences are 0, is 0


def blocks(psi: Floats, rows: Ints) -> Floats:
    """Return sums of an influence function over blocks of rows, `(N),(N)->(K)`; up to 4,096 rows are a block each.

    A row is in the block of its number modulo K, so that time and sorting do not make blocks differ.

    Args:
        psi: of some order of the rows.
        rows: their numbers.

    >>> blocks(np.array([1.0, 2.0, 3.0]), np.array([0, 2, 1])).tolist()
    [1.0, 3.0, 2.0]
    >>> blocks(np.ones(10_000), np.arange(10_000)).sum()
    np.float64(10000.0)
    """
    found = np.zeros(min(len(psi), BLOCKS))
    _add(psi, rows, found)
    return found


def reach(sums: Sequence[Floats], seed: int, line: int) -> float:
    """Return the multiple of the standard errors within which several values are at once, `(K) each->`.

    Equation: the 95 % quantile of max_b |sum_k xi_k S_kb| / |S_b| over standard normal multipliers xi; S_kb is the
    sum of the influence function of value b over block k (the Gaussian multiplier bootstrap of Chernozhukov,
    Chetverikov and Kato 2013). Where a value has no error, it counts for nothing; 0 if none has. Of more than 200
    budgets an even choice of 200 is looked at, between which a curve hardly moves.

    Args:
        sums: by budget or policy, what `blocks` returns; NaN of a value without an error.
        seed, line: of the multipliers.

    >>> one = np.random.default_rng(0).standard_normal(500)
    >>> round(reach([one, 2.0 * one], 0, 0), 1)  # the same everywhere, so that it is that of one value
    2.0
    """
    chosen = np.unique(np.linspace(0, len(sums) - 1, min(len(sums), _MOST)).round().astype(int))
    s = np.stack([sums[b] - sums[b].mean() for b in chosen.tolist()], 1)
    size = np.nan_to_num(np.linalg.norm(s, axis=0))
    moves = size > 1e-9 * size.max(initial=0.0)
    if moves.sum() < 2:
        return Z if moves.any() else 0.0
    s = s[:, moves] / size[moves]
    root, most = _root(s.T @ s), np.empty((_DRAWS // _BATCH, _BATCH))
    for t in range(len(most)):
        xi = normal(seed, Stream.BOOTSTRAP, np.array([line]), np.array([t]), _BATCH * len(root))
        most[t] = np.abs(xi.reshape(_BATCH, -1) @ root.T).max(1)
    return max(float(np.quantile(most, 0.95)), Z)


def _root(covariance: Floats) -> Floats:
    """Return a matrix r with r r' the covariance, `(B,B)->(B,B)`: multipliers of blocks give such normal numbers."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


@kernel
def _add(psi: Floats, rows: Ints, found: Floats) -> None:
    for i in range(len(psi)):
        found[rows[i] % BLOCKS] += psi[i]
