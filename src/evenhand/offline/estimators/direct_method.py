"""The direct method: a model of outcomes alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenhand.core.catalogue import named
from evenhand.offline.estimators.base import Sample
from evenhand.offline.scores import Average


@named("X18", source="Dudik, Langford & Li 2011, Section 2 (direct method)")
@dataclass(frozen=True)
class DirectMethod:
    """The model's prediction for the policy, without a correction.

    Equation: mean_i sum_a pi_ia q_ia. The bias is that of the model, which nothing in the estimate tells; its influence
    is that of the rows at fixed predictions.

    Source: Dudik, Langford and Li 2011, Section 2. Predictions are of models that have not seen the row, unlike theirs.

    >>> import numpy as np
    >>> policy, q = np.full((2, 2), 0.5), np.array([[0.0, 1.0], [0.0, 3.0]])
    >>> DirectMethod().average(Sample.of(policy, np.zeros(2, int), np.ones(2), np.zeros(2), q)).value
    1.0
    """

    label: ClassVar[str] = "the model alone"
    meaning: ClassVar[str] = "The model alone is what is predicted, and is not corrected."
    unbiased: ClassVar[bool] = False
    corrects: ClassVar[bool] = False

    def average(self, sample: Sample) -> Average:
        return Average.of(sample.model, sample.clusters)
