"""Predictions of outcomes by models that have not seen the row, for every action."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evenhand.core.extras import scikit_learn
from evenhand.core.luck import Stream, uniform
from evenhand.core.types import Floats, Ints
from evenhand.core.validate import whole
from evenhand.offline.fold_models import Asked, Regressor, fold_models, predicted
from evenhand.offline.sums import Sums

PENALTIES = np.logspace(-8, 3, 45)  # of ridge regressions, in units of the mean square of the features
_REAL = 1e-12  # of the largest sum of squares along a direction: what is less is rounding
_FREE = 1e-12  # rows less degrees of freedom, where there are none
_TIE = 1e-9  # relative, of errors


class RidgeByErrors:
    """A ridge regression whose penalty minimises the generalised cross-validation error.

    Equation: min |y - x t|^2 + k |t|^2 over t, where k minimises N |y - x t_k|^2 / (N - df_k)^2 among 45 values (Golub,
    Heath and Wahba 1979), the largest of those that tie. The first column is an intercept, which is not penalised.

    >>> x = np.column_stack([np.ones(200), np.linspace(-1, 1, 200)])
    >>> model = RidgeByErrors().fit(x, 1.0 + 2.0 * x[:, 1])
    >>> model.predict(np.array([[1.0, 0.5]])).round(3).tolist()
    [2.0]
    """

    def fit(self, x: Floats, y: Floats) -> RidgeByErrors:
        """Fit the coefficients, `(N,n),(N)->`."""
        self.fit_sums(Sums.of(x, y))
        return self

    def fit_sums(self, sums: Sums) -> Floats:
        """Fit the coefficients by sums over rows, and return them, `->(n)`."""
        count, mean, level = sums.rows, sums.mean, sums.level
        values, vectors = np.linalg.eigh(sums.squares)
        real = values > _REAL * values.max(initial=0.0)  # the others are rounding, as of more features than rows
        values, along = np.where(real, values, 0.0), np.where(real, vectors.T @ sums.products, 0.0)
        penalties = PENALTIES * (float(values.mean()) or 1.0 if len(values) else 1.0)
        explained, spare = along[real] ** 2 / values[real], max(count - 1 - int(real.sum()), 0)
        rest = max(sums.square - float(explained.sum()), 0.0) if spare else 0.0  # what no direction explains
        kept = penalties[:, None] / (values[real] + penalties[:, None])  # of what each direction explains
        left, free = rest + (explained * kept**2).sum(1), spare + kept.sum(1)
        errors = left / np.maximum(free, _FREE) ** 2
        best = self.penalty = float(penalties[np.flatnonzero(errors <= errors.min() * (1.0 + _TIE))[-1]])
        slopes = vectors @ (along / (values + best))
        self.coefficients = np.concatenate([[level - mean @ slopes], slopes])
        return self.coefficients

    def predict(self, x: Floats) -> Floats:
        """Predict outcomes, `(N,n)->(N)`."""
        return np.asarray(x @ self.coefficients)


def folds_of(rows: int, folds: int, seed: int) -> Ints:
    """Deal rows to folds at random, as evenly as possible, `->(N)`.

    >>> np.bincount(folds_of(11, 5, seed=0)).tolist()
    [3, 2, 2, 2, 2]
    """
    found = np.empty(rows, np.int64)
    for k, mine in enumerate(members_of(np.arange(rows), folds, seed)):
        found[mine] = k
    return found


def members_of(clusters: Ints, folds: int, seed: int) -> tuple[Ints, ...]:
    """Deal clusters to folds at random, and return the rows of each fold, `(N)->`.

    Those of a cluster follow each other. The order of clusters is random, so that ties do not depend on positions.
    Where each row is a cluster, folds are those of `folds_of`.
    """
    count = int(clusters.max(initial=-1)) + 1
    place = np.empty(count, np.int64)
    place[np.argsort(uniform(seed, Stream.ORDER, np.arange(1), np.arange(1), count)[0], kind="stable")] = range(count)
    at = place[clusters]
    order = np.argsort(at, kind="stable")
    return tuple(order[at[order] % folds == k] for k in range(folds))


def cross_fit(
    x: Floats,
    actions: Ints,
    y: Floats,
    n_actions: int,
    *,
    fold: Ints,
    model: Callable[[], Regressor] = RidgeByErrors,
    only: Ints | None = None,
) -> Floats:
    """Predict the outcome of every action in every row, by models of the other folds, `(N,n),(N),(N)->(N,A)`.

    Each action has a model of its own in each fold.

    Args:
        x: features, of which the first is 1.
        actions: those that were logged.
        y: their outcomes.
        n_actions: A.
        fold: of every row; see `folds_of`.
        model: makes a model that is not fitted yet.
        only: the actions to predict, by default all; the others have 0.

    Raises:
        InvalidInput: an action was logged outside a fold less than twice, or a model predicts no finite numbers.
    """
    whole("n_actions", n_actions, 1)
    columns = np.arange(n_actions) if only is None else only
    members = [np.flatnonzero(fold == k) for k in range(int(fold.max()) + 1)]
    models, found = fold_models(Asked(x, actions, y, members, model, columns)), np.zeros((len(y), n_actions))
    for k, rows in enumerate(members):
        found[rows[:, None], columns] = models.of(k)
    return found


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
