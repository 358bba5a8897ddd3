"""The doubly robust estimator: a model of outcomes, corrected by its weighted errors in the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenhand.core.catalogue import named
from evenhand.offline.estimators.base import Sample
from evenhand.offline.scores import Average


@named("X18", source="Robins, Rotnitzky & Zhao 1994; Dudik, Langford & Li 2011, Equation 1")
@dataclass(frozen=True)
class DoublyRobust:
    """The model's prediction for the policy, corrected by its weighted errors in the log.

    Equation: mean_i [sum_a pi_ia q_ia + w_i (y_i - q_i(a_i))], by `scores`. Unbiased with known propensities, whatever
    the model predicts, if it has not seen the row.

    Source: Robins, Rotnitzky and Zhao 1994; Dudik, Langford and Li 2011, Equation 1, for lotteries in place of actions;
    cross-fitting is that of Chernozhukov et al. 2018, Definition 3.2.

    >>> import numpy as np
    >>> letters, half = np.array([[0.0, 1.0]] * 2), np.full(2, 0.5)
    >>> DoublyRobust().average(Sample.of(letters, np.array([0, 1]), half, np.array([0.0, 2.0]), np.ones((2, 2)))).value
    2.0
    """

    label: ClassVar[str] = "doubly robust"
    meaning: ClassVar[str] = "Doubly robust is the value of the first table, as of an outcome that is no share."
    unbiased: ClassVar[bool] = True
    corrects: ClassVar[bool] = True

    def average(self, sample: Sample) -> Average:
        return Average.of(sample.scored, sample.clusters)._replace(moves=sample.moves.scored)
