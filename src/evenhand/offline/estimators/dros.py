"""The doubly robust estimator with weights that are shrunk, by as much as a bound on its error allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.offline.estimators.base import Sample
from evenhand.offline.scores import Average, Z


@named("X18", source="Su, Dimakopoulou, Krishnamurthy & Dudik 2020, optimistic shrinkage (DRos)")
@dataclass(frozen=True)
class DRos:
    """The doubly robust estimate with weights that are shrunk, the larger the more.

    Equation: mean_i [sum_a pi_ia q_ia + u(w_i) (y_i - q_i(a_i))] with u(w) = k w / (w^2 + k). Of a grid of k and the
    weights themselves, the one is chosen whose bound on the squared error, (|b| + 1.96 se(b))^2 + se^2, is least. Here
    b is the mean of (u(w_i) - w_i) (y_i - q_i(a_i)), an estimate of the bias, and se the standard error of the value.

    Source: Su, Dimakopoulou, Krishnamurthy and Dudik 2020, "Doubly robust off-policy evaluation with shrinkage", the
    optimistic kind. Their bound on the bias has Bernstein's inequality in place of a normal interval, and no clusters.

    Args:
        count: how many k are tried, spread evenly in logarithms from .01 to 100 times squares of the weights that 5 %
            and 95 % of those above 0 are below.

    >>> import numpy as np
    >>> letters, p, q = np.array([[0.0, 1.0]] * 3), np.array([0.5, 0.5, 0.001]), np.ones((3, 2))
    >>> sample = Sample.of(letters, np.array([1, 0, 1]), p, np.array([1.5, 1.0, 1.1]), q)
    >>> bool(1.0 < DRos().average(sample).value < 1.1)  # 34.7 by weights of 2, 0 and 1,000
    True
    """

    count: int = 30

    label: ClassVar[str] = "DRos"
    meaning: ClassVar[str] = "DRos is doubly robust, with large weights shrunk by as much as an error bound allows."
    unbiased: ClassVar[bool] = False
    corrects: ClassVar[bool] = True

    def average(self, sample: Sample) -> Average:
        w, missed = sample.weights, sample.missed
        best, least = Average.of(sample.model + w * missed, sample.clusters), np.inf
        if not w.any():
            return best
        low, high = np.quantile(w[w > 0.0], (0.05, 0.95))
        for k in (np.inf, *np.geomspace(0.01 * low**2, 100.0 * high**2, self.count).tolist()):
            shrunk = w / (1.0 + w * w / k)
            bias = Average.of((shrunk - w) * missed, sample.clusters)
            found = Average.of(sample.model + shrunk * missed, sample.clusters)
            bound = (abs(bias.value) + Z * _error(bias)) ** 2 + _error(found) ** 2
            if bound < least:
                best, least = found, bound
        return best


def _error(average: Average) -> float:
    """The standard error by the influence of clusters."""
    count = len(average.psi)
    return float(np.sqrt(average.psi @ average.psi / max(count - 1, 1) / count))
