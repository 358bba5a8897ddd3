"""Bands that hold for several numbers at once: all budgets of a curve, or all policies of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.core.kernel import kernel
from evenhand.core.luck import Stream, normal
from evenhand.core.types import Floats, Ints
from evenhand.offline.scores import Z

BLOCKS = 4096  # sums of rows that share a multiplier
_DRAWS, _BATCH = 10_000, 1000
_MOST = 200  # budgets


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
