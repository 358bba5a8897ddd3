"""Inverse propensities: a row counts by the policy's probability of its action over the logged one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenhand.core.catalogue import named
from evenhand.offline.estimators.base import Sample
from evenhand.offline.scores import Average


@named("X18", source="Horvitz & Thompson 1952, Equation 7")
@dataclass(frozen=True)
class IPS:
    """The average of outcomes, weighted by inverse propensities where the policy plays the logged action.

    Equation: mean_i w_i y_i with w_i = pi_i(a_i) / p_i. Unbiased where every action that the policy plays could be
    logged. A constant that is added to outcomes is added times the average weight, which is 1 on average alone.

    Source: Horvitz and Thompson 1952; for policies Dudik, Langford and Li 2011, Section 2.

    >>> import numpy as np
    >>> letters, half, q = np.array([[0.0, 1.0]] * 4), np.full(4, 0.5), np.zeros((4, 2))
    >>> IPS().average(Sample.of(letters, np.array([0, 1, 1, 0]), half, np.array([0.0, 1.0, 1.0, 0.0]), q)).value
    1.0
    """

    label: ClassVar[str] = "IPS"
    meaning: ClassVar[str] = "IPS weights cases by inverse propensities, and needs no model of outcomes."
    unbiased: ClassVar[bool] = True
    corrects: ClassVar[bool] = True

    def average(self, sample: Sample) -> Average:
        return Average.of(sample.weights * sample.y, sample.clusters)._replace(moves=sample.moves.weighted)
