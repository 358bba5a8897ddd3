"""Draws of one action per row whose numbers are close to what their probabilities say."""

from __future__ import annotations

import numpy as np

from evenhand.core.luck import Stream, uniform
from evenhand.core.types import Floats, Ints

_STEP = 0.6180339887498949  # the golden ratio less 1: multiples of it fill [0, 1) evenly


def places(strata: Ints, seed: int) -> Floats:
    """Return a number in [0, 1) per row, uniform for each row and even within each stratum, `(N)->(N)`.

    The rows of a stratum are put in a random order; the k-th has the fractional part of u + k times the golden ratio,
    with one uniform u per stratum. So of n rows, those below p are n p, up to a few, whatever p is.

    >>> z = places(np.zeros(1000, np.int64), seed=3)
    >>> int((z < 0.25).sum()) in range(248, 253)
    True
    """
    rows = len(strata)
    order = np.argsort(uniform(seed, Stream.ORDER, np.arange(1), np.arange(2, 3), rows)[0], kind="stable")
    order = order[np.argsort(strata[order], kind="stable")]
    here = strata[order]
    first = np.flatnonzero(np.r_[True, here[1:] != here[:-1]])
    rank = np.arange(rows) - np.repeat(first, np.diff(np.r_[first, rows]))
    start = uniform(seed, Stream.CHOICE, np.arange(1), np.arange(1), int(strata.max()) + 1)[0]
    found = np.empty(rows)
    found[order] = (start[here] + rank * _STEP) % 1.0
    return found


def drawn(lottery: Floats, place: Floats) -> Ints:
    """Return the action of each row whose part of [0, 1) has its place, `(N,A),(N)->(N)`."""
    last = lottery.shape[1] - 1 - np.argmax(lottery[:, ::-1] > 0.0, axis=1)  # rounding must not draw what has no chance
    return np.asarray(np.minimum((place[:, None] >= lottery.cumsum(1)).sum(1), last))
