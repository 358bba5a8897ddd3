"""What models of outcomes predict: regressors a number, classifiers the mean of their probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.types import Floats
from evenhand.offline.sums import Sums

_OF_SUMS = ("fit", "predict", "fit_sums")


class Regressor(Protocol):
    """What a model of outcomes has to have; estimators of scikit-learn have it."""

    def fit(self, x: Floats, y: Floats) -> Any: ...

    def predict(self, x: Floats) -> Floats: ...


@runtime_checkable
class Classifier(Protocol):
    """A model of the probability of every value of an outcome; once it is fitted, `classes_` are these values."""

    def predict_proba(self, x: Floats) -> Floats: ...


class BySums(Protocol):
    """A linear model that is fitted to sums over rows; `fit` is then not called."""

    def fit_sums(self, sums: Sums) -> Floats:
        """Fit the coefficients, and return them, `->(n)`; the first is that of the intercept."""


def by_sums(model: object) -> bool:
    """Whether sums over rows are enough for a model: one class has `fit`, `predict` and `fit_sums`.

    A subclass that has a `fit` or a `predict` of its own does something else with rows than `fit_sums` says.

    >>> from evenhand.offline import RidgeByErrors
    >>> class Rounded(RidgeByErrors):
    ...     def predict(self, x):
    ...         return super().predict(x).round()
    >>> by_sums(RidgeByErrors()), by_sums(Rounded())
    (True, False)
    """
    owners = {next((c for c in type(model).__mro__ if name in vars(c)), None) for name in _OF_SUMS}
    return len(owners) == 1 and None not in owners


def predicted(model: Callable[[], Regressor], x: Floats, y: Floats, cases: Floats) -> Floats:
    """Fit a model to rows, and predict the outcomes of cases, `(N,n),(N),(N',n)->(N')`.

    Equation: of a classifier, sum_k P(class k | case) class_k, as the labels that it predicts are not means.

    Raises:
        InvalidInput: it predicts something other than a finite number per case, or is a classifier whose classes are
            not the values of the outcome or that has no probabilities.

    >>> from sklearn.linear_model import LogisticRegression
    >>> x = np.ones((4, 1))
    >>> predicted(LogisticRegression, x, np.array([0.0, 0.0, 0.0, 1.0]), x[:1]).round(2).tolist()
    [0.25]
    """
    made = model()
    regresses = _regresses(made)
    if isinstance(made, Classifier) and not regresses:
        return _expected(made, x, y, cases)
    fitted = made.fit(x, y)
    if not regresses and len(getattr(fitted, "classes_", ())):
        raise InvalidInput("model", "a regressor, or a classifier with predict_proba", type(made).__name__)
    found = np.asarray(fitted.predict(cases))
    if found.shape != (len(cases),):
        raise InvalidInput("model", _expected_of(len(cases)), f"shape {found.shape}")
    return finite(found, len(cases))


def _regresses(model: object) -> bool:
    """Whether scikit-learn takes a model for a regressor, whatever attributes it has; False if it is unknown there."""
    if not hasattr(model, "__sklearn_tags__"):
        return False
    from sklearn.base import is_regressor  # installed, as the model has its tags

    return bool(is_regressor(model))


def finite(found: Floats, rows: int) -> Floats:
    """Return predictions as they are.

    Raises:
        InvalidInput: some are not finite numbers.
    """
    if found.dtype.kind not in "fiu" or not np.isfinite(found).all():
        raise InvalidInput("model", _expected_of(rows), "NaN, an infinite number or no number")
    return found


def _expected_of(rows: int) -> str:
    return f"a finite prediction for each of {rows:,} rows"


def _expected(model: Any, x: Floats, y: Floats, cases: Floats) -> Floats:
    """Fit a classifier, and return the mean of what it predicts."""
    broken = y[y != np.round(y)]
    if len(broken):
        raise InvalidInput("model", "a regressor, as the outcome is not always a whole number", float(broken[0]))
    values = np.unique(y)
    if len(values) == 1:  # many classifiers refuse to be fitted to a single class
        return np.full(len(cases), values[0])
    fitted = model.fit(x, y)
    classes = np.asarray(fitted.classes_)
    if classes.dtype.kind not in "fiub" or not np.array_equal(np.unique(classes), values):
        raise InvalidInput("model", "classes that are the values of the outcome", classes.tolist())
    shares, shape = np.asarray(fitted.predict_proba(cases)), (len(cases), len(classes))
    if shares.shape != shape:
        raise InvalidInput("model", f"probabilities of shape {shape}", f"shape {shares.shape}")
    if not ((shares >= 0.0).all() and np.allclose(shares.sum(1), 1.0, rtol=0.0, atol=1e-6)):
        raise InvalidInput("model", "probabilities of at least 0 that add up to 1", "others")
    return np.asarray(shares @ classes.astype(float))
