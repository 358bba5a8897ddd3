"""Predictions of outcomes by models that have not seen the row, for every action."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.luck import Stream, uniform
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import whole
from evenhand.offline.outcome_models import Regressor, predicted

PENALTIES = np.logspace(-8, 3, 45)  # of ridge regressions, in units of the mean square of the features


class RidgeByErrors:
    """A ridge regression whose penalty is the one of the least generalised cross-validation error.

    Equation: min |y - x t|^2 + k |t|^2 over t, where k minimises N |y - x t_k|^2 / (N - df_k)^2 among 45 values (Golub,
    Heath and Wahba 1979). The first column is an intercept, which is not penalised.

    >>> x = np.column_stack([np.ones(200), np.linspace(-1, 1, 200)])
    >>> model = RidgeByErrors().fit(x, 1.0 + 2.0 * x[:, 1])
    >>> model.predict(np.array([[1.0, 0.5]])).round(3).tolist()
    [2.0]
    """

    def fit(self, x: Floats, y: Floats) -> RidgeByErrors:
        """Fit the coefficients, `(N,n),(N)->`."""
        count, mean, level = len(y), x[:, 1:].mean(0), float(y.mean())
        z, centred = x[:, 1:] - mean, y - level
        values, vectors = np.linalg.eigh(z.T @ z)
        values = np.maximum(values, 0.0)
        along = vectors.T @ (z.T @ centred)
        penalties = PENALTIES * (float(values.mean()) or 1.0 if len(values) else 1.0)
        explained = along * along  # by direction, as |y - z t|^2 = |y|^2 - sum_j (along_j)^2 (v_j + 2 k) / (v_j + k)^2
        shrunk = values + penalties[:, None]
        left = centred @ centred - (explained * (values + 2.0 * penalties[:, None]) / shrunk**2).sum(1)
        free = count - 1.0 - (values / shrunk).sum(1)
        errors = np.where(free > 0.0, np.maximum(left, 0.0) / np.maximum(free, 1e-300) ** 2, np.inf)
        best = self.penalty = float(penalties[int(errors.argmin())])
        slopes = vectors @ (along / (values + best))
        self.coefficients = np.concatenate([[level - mean @ slopes], slopes])
        return self

    def predict(self, x: Floats) -> Floats:
        """Predict outcomes, `(N,n)->(N)`."""
        return np.asarray(x @ self.coefficients)


def folds_of(rows: int, folds: int, seed: int) -> Ints:
    """Deal rows to folds at random, as evenly as possible, `->(N)`.

    >>> np.bincount(folds_of(11, 5, seed=0)).tolist()
    [3, 2, 2, 2, 2]
    """
    found = np.empty(rows, np.int64)
    for k, mine in enumerate(members_of(rows, folds, seed)):
        found[mine] = k
    return found


def members_of(rows: int, folds: int, seed: int) -> tuple[Ints, ...]:
    """Return the rows of each fold of `folds_of`, in an order by chance, so that ties are no matter of places."""
    order = np.argsort(uniform(seed, Stream.ORDER, np.arange(1), np.arange(1), rows)[0], kind="stable")
    return tuple(order[k::folds] for k in range(folds))


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
        InvalidInput: an action was logged outside of a fold less than twice, or a model predicts no finite numbers.
    """
    whole("n_actions", n_actions, 1)
    found = np.zeros((len(y), n_actions))
    for k in range(int(fold.max()) + 1):
        out = fold == k
        for a in range(n_actions) if only is None else only.tolist():
            q, rows = _outside(out, x, actions == a, y, model)
            if q is None:
                expected = "at least two rows of every action outside of each fold"
                raise InvalidInput("actions", expected, f"{rows} of action {a}")
            found[out, a] = q
    return found


def cross_fit_without(
    x: Floats,
    actions: Ints,
    y: Floats,
    n_actions: int,
    *,
    fold: Ints,
    model: Callable[[], Regressor] = RidgeByErrors,
    only: Ints | None = None,
) -> Floats:
    """Predict as `cross_fit` does, by models that have not seen one more fold either, `(N,n),(N),(N)->(K,N,A)`.

    The k-th table is without fold k, whose own rows have 0, as have actions with less than two rows in all others.
    """
    count = int(fold.max()) + 1
    found = np.zeros((count, len(y), n_actions))
    for pair in combinations(range(count), 2):
        out = np.isin(fold, pair)
        for a in range(n_actions) if only is None else only.tolist():
            q, _ = _outside(out, x, actions == a, y, model)
            if q is not None:
                for k in pair:
                    found[k, out, a] = np.where(fold[out] == k, 0.0, q)
    return found


def _outside(
    out: Bools, x: Floats, played: Bools, y: Floats, model: Callable[[], Regressor]
) -> tuple[Floats | None, int]:
    """Predict some rows by a model of those others that played an action, None where these are less than two.

    The number of these rows comes with it.
    """
    seen = ~out & played
    rows = int(np.count_nonzero(seen))
    return (predicted(model, x[seen], y[seen], x[out]) if rows >= 2 else None), rows
