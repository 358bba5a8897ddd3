"""Inverse propensities that are clipped."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.offline.estimators.base import Sample
from evenhand.offline.scores import Average


@named("Z5", source="a test")
@dataclass(frozen=True)
class ClippedIPS:
    """The average of outcomes with inverse propensities, none of which exceeds a cap.

    Equation: mean_i min(w_i, cap) y_i.
    """

    cap: float = 10.0

    label: ClassVar[str] = "clipped IPS"
    meaning: ClassVar[str] = "Clipped IPS weights cases by inverse propensities of at most 10."
    unbiased: ClassVar[bool] = False
    corrects: ClassVar[bool] = True

    def average(self, sample: Sample) -> Average:
        return Average.of(np.minimum(sample.weights, self.cap) * sample.y, sample.clusters)
