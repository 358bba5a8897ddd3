"""Logistic regressions of outcomes that are 0 or 1, where predictions have to stay between them."""

from __future__ import annotations

import numpy as np

from evenhand.core.extras import scikit_learn
from evenhand.core.types import Floats
from evenhand.offline.cross_fitting import RidgeByErrors
from evenhand.offline.outcome_models import Regressor, predicted

_STEPS = 1000


class Logistic:
    """A logistic regression of scikit-learn for outcomes that are 0 or 1, and `RidgeByErrors` for others.

    Equation: max sum_i log P(y_i | x_i) - |t|^2 / 2 over t, with P(1 | x) = 1 / (1 + exp(-b - x t)). The first column
    is an intercept, which is not penalised.

    Raises:
        MissingExtra: scikit-learn is not installed.

    >>> x = np.column_stack([np.ones(200), np.tile([0.0, 1.0], 100)])
    >>> y = np.where(np.arange(200) % 4 == 3, 1.0, 0.0)
    >>> Logistic().fit(x, y).predict(np.array([[1.0, 0.0], [1.0, 1.0]])).round(1).tolist()
    [0.0, 0.5]
    """

    def __init__(self) -> None:
        self._regressions = scikit_learn("linear_model", "logistic models of outcomes")

    def fit(self, x: Floats, y: Floats) -> Logistic:
        """Keep the rows, `(N,n),(N)->`; they are fitted when cases are known."""
        self._rows = x, y
        return self

    def predict(self, x: Floats) -> Floats:
        """Predict means of outcomes, `(N,n)->(N)`."""
        rows, y = self._rows
        if np.isin(y, (0.0, 1.0)).all() and rows.shape[1] > 1:
            return predicted(self._made, rows[:, 1:], y, x[:, 1:])
        return predicted(RidgeByErrors, rows, y, x)

    def _made(self) -> Regressor:
        made: Regressor = self._regressions.LogisticRegression(max_iter=_STEPS)
        return made
