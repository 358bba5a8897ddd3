"""The doubly robust estimator, whose weights are divided by their sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenhand.core.catalogue import named
from evenhand.offline.estimators.base import Sample
from evenhand.offline.estimators.snips import normalised
from evenhand.offline.scores import Average


@named("X18", source="Thomas & Brunskill 2016, the weighted doubly robust estimator, of one step")
@dataclass(frozen=True)
class SNDR:
    """The model's prediction for the policy, corrected by the weighted average of its errors in the log.

    Equation: mean_i sum_a pi_ia q_ia + sum_i w_i m_i / sum_i w_i with m_i = y_i - q_i(a_i). The influence function is
    that of the first term and w_i (m_i - c) / mean(w) for the second one, c. The bias is of order 1 / N. It varies less
    than the doubly robust estimate where weights vary and the model is off by a constant.

    Source: Thomas and Brunskill 2016, Section 5 (weighted doubly robust), of one step. Where a policy was planned fold
    by fold, its average weight is taken as 1 in what folds have in common.

    >>> import numpy as np
    >>> letters, half = np.array([[0.0, 1.0]] * 3), np.full(3, 0.5)
    >>> SNDR().average(Sample.of(letters, np.array([0, 1, 1]), half, np.array([0.0, 1.0, 2.0]), np.ones((3, 2)))).value
    1.5
    """

    label: ClassVar[str] = "SNDR"
    meaning: ClassVar[str] = "SNDR is doubly robust, with corrections that are divided by the sum of the weights."
    unbiased: ClassVar[bool] = True
    corrects: ClassVar[bool] = True

    def average(self, sample: Sample) -> Average:
        moves, missed = sample.moves, normalised(sample.weights, sample.missed, sample.clusters)
        found = Average.of(sample.model, sample.clusters).plus(missed)
        return found._replace(moves=moves.scored - missed.value * moves.weights)
