"""Models of an outcome by action that have not seen one fold, or two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Floats, Ints
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


class FoldModels(Protocol):
    """Models of an outcome, each without some folds."""

    def of(self, fold: int, other: int | None = None) -> Floats:
        """Predict the rows of a fold by models without it, and without another one if it is named, `->(N_k,A')`.

        Where an action has fewer than two rows in the folds that are left, its predictions are 0 if two are left out.

        Raises:
            InvalidInput: there are fewer than two rows without one fold; or a model predicts no finite numbers.
        """


class Asked(NamedTuple):
    """The data that models are fitted to, and the outcomes."""

    x: Floats  # (N,n) features, of which the first is 1
    actions: Ints  # (N,) those that were logged
    y: Floats  # (N,) their outcomes
    members: Sequence[Ints]  # the rows of each fold
    model: Callable[[], Regressor]  # makes a model that is not fitted yet
    only: Ints  # (A',) the actions to predict


def fold_models(asked: Asked) -> FoldModels:
    """Return the models of an outcome, by sums over folds where these are enough; see `by_sums`."""
    return _BySums(asked) if by_sums(asked.model()) else _ByRows(asked)


class _ByRows:
    """Models that are fitted to rows; a pair of folds is predicted at once, and kept."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._found = dict[tuple[int, int], Floats]()

    def of(self, fold: int, other: int | None = None) -> Floats:
        if other is None:
            return self._without([fold])[0]
        if (fold, other) not in self._found:
            pair = self._without([fold, other])
            self._found[fold, other], self._found[other, fold] = pair
        return self._found[fold, other]

    def _without(self, folds: list[int]) -> list[Floats]:
        x, actions, y, members, model, only = self._asked
        out = np.concatenate([members[k] for k in folds])
        kept, cases, found = np.ones(len(y), bool), x[out], np.zeros((len(out), len(only)))
        kept[out] = False
        for i, a in enumerate(only.tolist()):
            seen = kept & (actions == a)
            rows = int(np.count_nonzero(seen))
            if _enough(rows, a, len(folds)):
                found[:, i] = predicted(model, x[seen], y[seen], cases)
        return np.split(found, [len(members[folds[0]])])[: len(folds)]


class _BySums:
    """Linear models that are fitted to sums over folds: every row is read once for all of them."""

    def __init__(self, asked: Asked) -> None:
        self._asked, self._model = asked, cast("Callable[[], BySums]", asked.model)
        self._known, self._last = dict[tuple[int, frozenset[int]], Floats](), (-1, asked.x[:0])

    def of(self, fold: int, other: int | None = None) -> Floats:
        out = frozenset([fold] if other is None else [fold, other])
        each = [self._coefficients(a, out) for a in self._asked.only.tolist()]
        cases = self._cases(fold)
        found = np.zeros((len(cases), len(each)))
        if each:
            _linear(cases, np.ascontiguousarray(np.stack(each, 1)), found)
        return finite(found, len(cases))

    def _cases(self, fold: int) -> Floats:
        """The features of a fold, of which the last ones are kept."""
        if self._last[0] != fold:
            self._last = fold, self._asked.x[self._asked.members[fold]]
        return self._last[1]

    @cached_property
    def _sums(self) -> list[dict[int, Sums]]:
        """By fold and action that was played there."""
        _, actions, outcome, members, _, only = self._asked
        found = []
        for k, rows in enumerate(members):
            x, y, played = self._cases(k), outcome[rows], actions[rows]
            each = ((a, played == a) for a in only.tolist())
            found.append({a: Sums.of(x[mine], y[mine]) for a, mine in each if mine.any()})
        return found

    def _coefficients(self, action: int, out: frozenset[int]) -> Floats:
        if (action, out) not in self._known:
            parts = [each[action] for k, each in enumerate(self._sums) if k not in out and action in each]
            found = np.zeros(self._asked.x.shape[1])
            if _enough(sum(part.rows for part in parts), action, len(out)):
                found = self._model().fit_sums(Sums.together(parts))
            self._known[action, out] = found
        return self._known[action, out]


def _enough(rows: int, action: int, out: int) -> bool:
    """Whether a model can be fitted; it has to be where only one fold is left out."""
    if rows < 2 and out == 1:
        expected = "at least two rows of every action outside each fold"
        raise InvalidInput("actions", expected, f"{rows} of action {action}")
    return rows >= 2


@kernel
def _linear(x: Floats, coefficients: Floats, out: Floats) -> None:
    """Add `x @ coefficients`, `(N,n),(n,C)->(N,C)`; rows that are alike get the same bits wherever they are."""
    for i in range(len(x)):
        for f in range(len(coefficients)):
            for c in range(coefficients.shape[1]):
                out[i, c] += x[i, f] * coefficients[f, c]
