"""Estimates of the rate at which a quantity falls with the length of a run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.types import Floats


class Rate(NamedTuple):
    """An exponent with its standard error; NaN if a mean was not above 0."""

    exponent: float
    se: float


def rate(rounds: Floats, values: Floats) -> Rate:
    """Estimate x of value ~ T^-x by the slope of the means' logarithms, with a jackknife over replicas, `(G),(G,R)->`.

    >>> rate(np.array([100.0, 400.0, 1600.0]), np.array([[0.4, 0.6], [0.2, 0.3], [0.1, 0.15]]))
    Rate(exponent=0.5, se=0.0)
    """
    replicas = values.shape[1]
    whole = _slope(rounds, values.mean(1))
    if replicas < 2 or np.isnan(whole):
        return Rate(whole, float("nan"))
    without = np.array([_slope(rounds, np.delete(values, r, 1).mean(1)) for r in range(replicas)])
    se = float(np.sqrt((replicas - 1) / replicas * ((without - without.mean()) ** 2).sum()))
    return Rate(round(whole, 12), round(se, 12))


def _slope(rounds: Floats, means: Floats) -> float:
    if len(rounds) < 2 or not (means > 0).all():
        return float("nan")
    x, y = np.log(rounds), np.log(means)
    x = x - x.mean()
    return float(-(x @ y) / (x @ x))
