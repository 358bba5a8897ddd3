"""The switch estimator: doubly robust up to a weight, and the model alone beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.core.catalogue import named
from evenhand.offline.estimators.base import Sample
from evenhand.offline.scores import Average


@named("X18", source="Wang, Agarwal & Dudik 2017, Section 4 (SWITCH-DR)")
@dataclass(frozen=True)
class Switch:
    """The doubly robust estimate, but by the model alone where weights exceed a cap.

    Equation: mean_i [sum_a pi_ia q_ia + w_i 1{w_i <= cap} (y_i - q_i(a_i))]. The bias of the model remains beyond the
    cap.

    Source: Wang, Agarwal and Dudik 2017, Section 4. The cap is stated, in place of one that their bound chooses.

    Args:
        cap: the largest weight that is used.

    >>> import numpy as np
    >>> letters, p, q = np.array([[0.0, 1.0]] * 2), np.array([0.5, 0.01]), np.ones((2, 2))
    >>> Switch().average(Sample.of(letters, np.array([1, 1]), p, np.array([3.0, 9.0]), q)).value
    3.0
    """

    cap: float = 10.0

    label: ClassVar[str] = "switch"
    meaning: ClassVar[str] = "Switch is doubly robust, but the model alone where weights exceed 10."
    unbiased: ClassVar[bool] = False
    corrects: ClassVar[bool] = True

    def average(self, sample: Sample) -> Average:
        w = sample.weights
        return Average.of(sample.model + np.where(w <= self.cap, w, 0.0) * sample.missed, sample.clusters)
