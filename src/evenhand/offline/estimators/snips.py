"""Self-normalised inverse propensities: the weights are divided by their sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.logs.clusters import Clusters
from evenhand.offline.estimators.base import Sample
from evenhand.offline.scores import Average


@named("X18", source="Swaminathan & Joachims 2015, the self-normalized estimator")
@dataclass(frozen=True)
class SNIPS:
    """The average of outcomes by weights that are divided by their sum.

    Equation: v = sum_i w_i y_i / sum_i w_i; the influence function is w_i (y_i - v) / mean(w). The bias is of order
    1 / N, as of every ratio.

    Source: Swaminathan and Joachims 2015, "The self-normalized estimator for counterfactual learning".

    >>> import numpy as np
    >>> letters, half, q = np.array([[0.0, 1.0]] * 3), np.full(3, 0.5), np.zeros((3, 2))
    >>> SNIPS().average(Sample.of(letters, np.array([0, 1, 1]), half, np.array([0.0, 1.0, 2.0]), q)).value
    1.5
    """

    label: ClassVar[str] = "SNIPS"
    meaning: ClassVar[str] = "SNIPS divides by the sum of the weights."
    unbiased: ClassVar[bool] = True
    corrects: ClassVar[bool] = True

    def average(self, sample: Sample) -> Average:
        w, moves = sample.weights, sample.moves
        found = normalised(w, sample.y, sample.clusters)
        mean = Average.of(w, sample.clusters).value
        return found._replace(moves=(moves.weighted - found.value * moves.weights) / mean)


def normalised(w: Floats, y: Floats, clusters: Clusters | None = None) -> Average:
    """Return an average with weights, `(N),(N)->`.

    Raises:
        InvalidInput: all weights are 0.
    """
    if not w.any():
        raise InvalidInput("policy", "one that plays what was logged in some row", "none that agrees")
    total = w if clusters is None else clusters.times(w)
    value = float((total * y).sum() / total.sum())
    return Average.by(value, w * (y - value) / total.mean(), clusters)
