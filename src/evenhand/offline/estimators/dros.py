"""The doubly robust estimator with weights that are shrunk, by as much as lowers its estimated error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.types import Floats
from evenhand.offline.estimators.base import Sample
from evenhand.offline.scores import Average


@named("X18", source="Su, Dimakopoulou, Krishnamurthy & Dudik 2020, optimistic shrinkage (DRos)")
@dataclass(frozen=True)
class DRos:
    """The doubly robust estimate with weights that are shrunk, the larger the more.

    Equation: mean_i [sum_a pi_ia q_ia + u(w_i) m_i] with m_i = y_i - q_i(a_i) and u(w) = k^2 w / (w^2 + k^2). The k is
    chosen, of a grid and infinity, for which b^2 + e^2 + se^2 is least. Here b is the mean of (u(w_i) - w_i) m_i, an
    unbiased estimate of the bias, e its standard error, and se that of the value, both by clusters.

    Source: Su, Dimakopoulou, Krishnamurthy and Dudik 2020, "Doubly robust off-policy evaluation with shrinkage",
    optimistic shrinkage, with k^2 for their lambda. The grid and the margin e are ours: without e, the error in eleven
    kinds of simulated logs was up to 22 % above that of no shrinkage, and with it 6 % at most. A margin of 1.96 e
    hardly shrank anything.

    Args:
        count: how many k are tried, evenly in logarithms from a tenth of the weight that 5 % are below to ten times
            that which 95 % are below, of those above 0.

    >>> letters, p, q = np.array([[0.0, 1.0]] * 3), np.array([0.5, 0.5, 0.001]), np.ones((3, 2))
    >>> sample = Sample.of(letters, np.array([1, 0, 1]), p, np.array([1.5, 1.0, 1.1]), q)
    >>> round(DRos().average(sample).value, 1)  # 34.7 by weights of 2, 0 and 1,000
    24.9
    """

    count: int = 30

    label: ClassVar[str] = "DRos"
    meaning: ClassVar[str] = "DRos is doubly robust, with large weights shrunk where that lowers its estimated error."
    unbiased: ClassVar[bool] = False
    corrects: ClassVar[bool] = True

    def average(self, sample: Sample) -> Average:
        w, missed, clusters = sample.weights, sample.missed, sample.clusters
        least, best = np.inf, Average.of(sample.model + w * missed, clusters)
        for shrunk in shrinkages(w, self.count):
            found, bias = (Average.of(z, clusters) for z in (sample.model + shrunk * missed, (shrunk - w) * missed))
            square = bias.value**2 + _variance(bias) + _variance(found)
            if square < least:
                least, best = square, found
        return best


def shrinkages(w: Floats, count: int) -> Iterator[Floats]:
    """Yield weights as they are, and then shrunk less and less, `(N)->(N)` each."""
    yield w
    low, high = np.quantile(w[w > 0.0], (0.05, 0.95)) if w.any() else (1.0, 1.0)
    for k in np.geomspace(0.1 * low, 10.0 * high, count).tolist():
        yield w / (1.0 + (w / k) ** 2)


def _variance(average: Average) -> float:
    """The squared standard error by the influence of clusters."""
    count = len(average.psi)
    return float(average.psi @ average.psi) / max(count - 1, 1) / count
