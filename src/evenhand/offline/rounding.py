"""Draws of held out rows whose numbers are close to what their probabilities say."""

from __future__ import annotations

import numpy as np

from evenhand.core.luck import Stream, uniform
from evenhand.core.types import Floats, Ints

_STEP = 0.6180339887498949  # the golden ratio less 1: multiples of it fill [0, 1) evenly


def places(strata: Ints, seed: int, part: int = 0) -> Floats:
    """Return a number in [0, 1) per row, uniform for each row and even within each stratum, `(N)->(N)`.

    The rows of a stratum are put in a random order; the k-th has the fractional part of u + k times the golden ratio,
    with one uniform u per stratum. So of n rows, those below p are n p, up to a few, whatever p is. Each part of the
    rows has luck of its own.

    >>> z = places(np.zeros(1000, np.int64), seed=3)
    >>> int((z < 0.25).sum()) in range(248, 253)
    True
    """
    rows = len(strata)
    order = np.argsort(uniform(seed, Stream.ORDER, np.array([part]), np.arange(2, 3), rows)[0], kind="stable")
    order = order[np.argsort(strata[order], kind="stable")]
    here = strata[order]
    first = np.flatnonzero(np.r_[True, here[1:] != here[:-1]])
    rank = np.arange(rows) - np.repeat(first, np.diff(np.r_[first, rows]))
    start = uniform(seed, Stream.CHOICE, np.array([part]), np.arange(1), int(strata.max()) + 1)[0]
    found = np.empty(rows)
    found[order] = (start[here] + rank * _STEP) % 1.0
    return found


def drawn(planned: Ints, place: Floats, holdout: float, lottery: Floats) -> Ints:
    """Return the planned actions, and one of a lottery over actions where the random place is below the holdout.

    >>> drawn(np.array([2, 2, 2]), np.array([0.05, 0.16, 0.7]), 0.2, np.full(4, 0.25)).tolist()
    [1, 3, 2]
    >>> drawn(np.array([2, 2, 2]), np.array([0.0, 0.16, 0.7]), 0.2, np.array([0.0, 1.0, 0.0])).tolist()
    [1, 1, 2]
    """
    if not holdout:
        return planned
    last = int(np.flatnonzero(lottery)[-1])  # of a sum that is rounded below 1
    found = np.minimum(np.searchsorted(np.cumsum(lottery), place / holdout, side="right"), last)
    return np.where(place < holdout, found, planned)
