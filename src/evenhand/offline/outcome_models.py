"""Models of an outcome by action that are fitted without one fold, or two, and their predictions of every action."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from inspect import signature
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.extras import scikit_learn
from evenhand.core.kernel import kernel
from evenhand.core.luck import Stream, uniform
from evenhand.core.types import Floats, Ints
from evenhand.logs.units import Features
from evenhand.models.sklearn import needs_two_values
from evenhand.offline.sparse_rows import SparseRows, is_sparse, readable, sparse_ridge

_OF_SUMS = ("fit", "predict", "fit_sums")
PENALTIES = np.logspace(-8, 3, 45)  # of ridge regressions, in units of the mean square of the features
_REAL = 1e-12  # of the largest sum of squares along a direction: what is less is rounding
_FREE = 1e-12  # rows less degrees of freedom, where there are none
_TIE = 1e-9  # relative, of errors
_SUMMED = 2**17  # rows that are summed at once: what larger logs have is rounded by it
_AT_ONCE = 2**14  # rows that are predicted at once, on which no bit depends
_PREDICTED = 2**17  # the same of a model that is not linear, or of a list


class Sums(NamedTuple):
    """The sums over rows to which a linear model is fitted; features are without the first one, which is 1.

    >>> x, y = np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 4.0]]), np.array([1.0, 1.0, 4.0])
    >>> Sums.of(x, y).squares.tolist(), Sums.together([Sums.of(x[:1], y[:1]), Sums.of(x[1:], y[1:])]).squares.tolist()
    ([[8.0]], [[8.0]])
    """

    rows: int
    mean: Floats  # (n-1,) of features
    level: float  # the mean outcome
    squares: Floats  # (n-1,n-1) sums of products of features, around their means
    products: Floats  # (n-1,) sums of products of features and outcome, around their means
    square: float  # the sum of squares of the outcome around its mean
    weight: float  # the sum of the weights of rows, which are rows where all count alike

    @staticmethod
    def of(x: Floats, y: Floats, weights: Floats | None = None) -> Sums:
        """Sum over at least one row, by weights if there are any, `(N,n),(N),(N)->`."""
        first = x[0, 1:]  # a feature that is the same in all rows has exactly that mean
        if weights is None:
            mean, level = first + (x[:, 1:] - first).mean(0), float(y.mean())
            z, centred = x[:, 1:] - mean, y - level
            return Sums(len(y), mean, level, z.T @ z, z.T @ centred, float(centred @ centred), float(len(y)))
        total = float(weights.sum())
        mean, level = first + weights @ (x[:, 1:] - first) / total, float(weights @ y) / total
        z, centred = x[:, 1:] - mean, y - level
        along = weights * centred
        return Sums(len(y), mean, level, (weights * z.T) @ z, z.T @ along, float(along @ centred), total)

    @staticmethod
    def together(parts: Sequence[Sums]) -> Sums:
        """Return the sums over all rows of at least one part.

        Equation: sum_i (x_i - m)(x_i - m)' = sum_p [S_p + N_p (m_p - m)(m_p - m)'] (Chan, Golub and LeVeque 1979),
        with weights of N_p in all.
        No squares of means are subtracted, so that errors are of the rounding of values, and not of their squares. A
        feature that is the same in all rows has products that are exactly 0.
        """
        shares = np.array([part.weight for part in parts])
        means, levels = np.stack([part.mean for part in parts]), np.array([part.level for part in parts])
        mean = means[0] + shares @ (means - means[0]) / shares.sum()  # exactly that of all parts where they are equal
        level = float(shares @ levels / shares.sum())
        apart, off = means - mean, levels - level
        return Sums(
            sum(part.rows for part in parts),
            mean,
            level,
            np.asarray(sum(part.squares for part in parts) + (shares * apart.T) @ apart),
            np.asarray(sum(part.products for part in parts) + (shares * off) @ apart),
            float(sum(part.square for part in parts) + shares @ off**2),
            float(shares.sum()),
        )


class Regressor(Protocol):
    """The interface of a model of outcomes, which estimators of scikit-learn have."""

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


def predicted(
    model: Callable[[], Regressor], x: Floats, y: Floats, cases: Floats | Features, weights: Floats | None = None
) -> Floats:
    """Fit a model to rows, by weights if there are any, and predict outcomes of cases, `(N,n),(N),(N',n),(N)->(N')`.

    Equation: of a classifier, sum_k P(class k | case) class_k, as the labels that it predicts are not means.

    Raises:
        InvalidInput: it predicts something other than a finite number per case, or is a classifier whose classes are
            not the values of the outcome or that has no probabilities; or its `fit` takes no weights, and there are.

    >>> from sklearn.linear_model import LogisticRegression
    >>> x = np.ones((4, 1))
    >>> predicted(LogisticRegression, x, np.array([0.0, 0.0, 0.0, 1.0]), x[:1]).round(2).tolist()
    [0.25]
    """
    made, count = model(), cases.shape[0]
    regresses = _regresses(made)
    if regresses and needs_two_values(made) and (y == y[0]).all():
        return np.full(count, float(y[0]))
    if isinstance(made, Classifier) and not regresses:
        return _expected(made, x, y, cases[:], weights)
    fitted = _fitted(made, x, y, weights)
    if not regresses and len(getattr(fitted, "classes_", ())):
        raise InvalidInput("model", "a regressor, or a classifier with predict_proba", type(made).__name__)
    each = []
    for part in parts_of(count, _PREDICTED):
        some = cases[part]
        each.append(np.asarray(fitted.predict(some)))
        if each[-1].shape != (some.shape[0],):
            raise InvalidInput("model", _expected_of(some.shape[0]), f"shape {each[-1].shape}")
    return finite(np.concatenate(each), count)


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


def _fitted(model: Any, x: Floats, y: Floats, weights: Floats | None) -> Any:
    if is_sparse(x) and type(model).fit not in (RidgeByErrors.fit, Logistic.fit):
        return _fitted_sparse(model, x, y, weights)
    if weights is None:
        return model.fit(x, y)
    if "sample_weight" not in signature(model.fit).parameters:
        expected = "one whose fit takes sample_weight, as the rows of the log have weights"
        raise InvalidInput("model", expected, type(model).__name__)
    return model.fit(x, y, sample_weight=weights)


def _fitted_sparse(model: Any, x: Any, y: Floats, weights: Floats | None) -> Any:
    """Fit a model of a library to sparse rows.

    Raises:
        InvalidInput: it refuses such rows.
    """
    try:
        return model.fit(x, y) if weights is None else model.fit(x, y, sample_weight=weights)
    except (TypeError, ValueError, InvalidInput) as error:
        expected = "ridge, logistic, or an estimator that takes sparse rows, as features are hashed"
        raise InvalidInput("model", expected, f"{type(model).__name__}: {error}") from error


def _expected(model: Any, x: Floats, y: Floats, cases: Floats, weights: Floats | None) -> Floats:
    """Fit a classifier, and return the mean of its predicted outcome."""
    broken = y[y != np.round(y)]
    if len(broken):
        raise InvalidInput("model", "a regressor, as the outcome is not always a whole number", float(broken[0]))
    values = np.unique(y)
    if len(values) == 1:  # many classifiers refuse to be fitted to a single class
        return np.full(cases.shape[0], values[0])
    fitted = _fitted(model, x, y, weights)
    classes = np.asarray(fitted.classes_)
    if classes.dtype.kind not in "fiub" or not np.array_equal(np.unique(classes), values):
        raise InvalidInput("model", "classes that are the values of the outcome", classes.tolist())
    shares, shape = np.asarray(fitted.predict_proba(cases)), (cases.shape[0], len(classes))
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

    x: Floats | Features | SparseRows  # (N,n) features, of which the first is 1
    actions: Ints  # (N,) those that were logged
    y: Floats  # (N,) their outcomes
    members: Sequence[Ints]  # the rows of each fold
    model: Callable[[], Regressor]  # makes a model that is not fitted yet
    only: Ints  # (A',) the actions to predict
    weights: Floats | None = None  # (N,) of rows


def fold_models(asked: Asked) -> FoldModels:
    """Return the models of an outcome, by sums over folds where these are enough; see `by_sums`."""
    return _BySums(asked) if by_sums(asked.model()) and not isinstance(asked.x, SparseRows) else _ByRows(asked)


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
        x, actions, y, members, model, only, weights = self._asked
        out = np.concatenate([members[k] for k in folds])
        x = readable(model(), x)
        kept, cases, found = np.ones(len(y), bool), x[out], np.zeros((len(out), len(only)))
        kept[out] = False
        for i, a in enumerate(only.tolist()):
            seen = kept & (actions == a)
            rows = int(np.count_nonzero(seen))
            if _enough(rows, a, len(folds)):
                own = None if weights is None else weights[seen]
                found[:, i] = predicted(model, x[seen], y[seen], cases, own)
        return np.split(found, [len(members[folds[0]])])[: len(folds)]


class _BySums:
    """Linear models that are fitted to sums over folds: every row is read once for all of them."""

    def __init__(self, asked: Asked) -> None:
        self._asked, self._model = asked, cast("Callable[[], BySums]", asked.model)
        self._known = dict[tuple[int, frozenset[int]], Floats]()

    def of(self, fold: int, other: int | None = None) -> Floats:
        out = frozenset([fold] if other is None else [fold, other])
        each = [self._coefficients(a, out) for a in self._asked.only.tolist()]
        rows = self._asked.members[fold]
        found = np.zeros((len(rows), len(each)))
        if each:
            coefficients = np.ascontiguousarray(np.stack(each, 1))
            for part in parts_of(len(rows), _AT_ONCE):
                _linear(self._asked.x[rows[part]], coefficients, found[part])
        return finite(found, len(rows))

    @cached_property
    def _sums(self) -> list[dict[int, Sums]]:
        """The sums by fold and by the action that was played."""
        _, actions, _, members, _, only, _ = self._asked
        found = []
        for rows in members:
            each = ((a, rows[actions[rows] == a]) for a in only.tolist())
            found.append({a: self._summed(mine) for a, mine in each if len(mine)})
        return found

    def _summed(self, rows: Ints) -> Sums:
        """The sums over some rows."""
        x, _, outcome, _, _, _, weights = self._asked
        each = [rows[part] for part in parts_of(len(rows), _SUMMED)]
        sums = [Sums.of(x[some], outcome[some], None if weights is None else weights[some]) for some in each]
        return sums[0] if len(sums) == 1 else Sums.together(sums)

    def _coefficients(self, action: int, out: frozenset[int]) -> Floats:
        if (action, out) not in self._known:
            parts = [each[action] for k, each in enumerate(self._sums) if k not in out and action in each]
            found = np.zeros(self._asked.x.shape[1])
            if _enough(sum(part.rows for part in parts), action, len(out)):
                found = self._model().fit_sums(Sums.together(parts))
            self._known[action, out] = found
        return self._known[action, out]


def parts_of(count: int, size: int) -> list[slice]:
    """Return the rows in parts of a size, in their order.

    >>> parts_of(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 6, None)]
    """
    return [slice(start, start + size) for start in range(0, count, size)]


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


class RidgeByErrors:
    """A ridge regression whose penalty minimises the generalised cross-validation error.

    Equation: min |y - x t|^2 + k |t|^2 over t, where k minimises N |y - x t_k|^2 / (N - df_k)^2 among 45 values (Golub,
    Heath and Wahba 1979), the largest of those that tie. The first column is an intercept, which is not penalised.

    >>> x = np.column_stack([np.ones(200), np.linspace(-1, 1, 200)])
    >>> model = RidgeByErrors().fit(x, 1.0 + 2.0 * x[:, 1])
    >>> model.predict(np.array([[1.0, 0.5]])).round(3).tolist()
    [2.0]
    """

    def fit(self, x: Floats, y: Floats, sample_weight: Floats | None = None) -> RidgeByErrors:
        """Fit the coefficients, by weights of rows if there are any, `(N,n),(N),(N)->`; rows may be sparse."""
        if is_sparse(x):
            self.coefficients, self.penalty = sparse_ridge(x, y, sample_weight)
        else:
            self.fit_sums(Sums.of(x, y, sample_weight))
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


def members_of(clusters: Ints, folds: int, seed: int) -> tuple[Ints, ...]:
    """Deal clusters to folds at random, and return the rows of each fold, `(N)->`.

    Those of a cluster follow each other. The order of clusters is random, so that ties do not depend on positions.
    """
    count = int(clusters.max(initial=-1)) + 1
    place = np.empty(count, np.int64)
    place[np.argsort(uniform(seed, Stream.ORDER, np.arange(1), np.arange(1), count)[0], kind="stable")] = range(count)
    at = place[clusters]
    order = np.argsort(at, kind="stable")
    return tuple(order[at[order] % folds == k] for k in range(folds))


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

    def fit(self, x: Floats, y: Floats, sample_weight: Floats | None = None) -> Logistic:
        """Keep the rows, with weights if there are any, `(N,n),(N),(N)->`; they are fitted when cases are known."""
        self._rows = x, y, sample_weight
        return self

    def predict(self, x: Floats) -> Floats:
        """Predict means of outcomes, `(N,n)->(N)`."""
        rows, y, weights = self._rows
        if np.isin(y, (0.0, 1.0)).all() and rows.shape[1] > 1:
            return predicted(self._made, rows[:, 1:], y, x[:, 1:], weights)
        return predicted(RidgeByErrors, rows, y, x, weights)

    def _made(self) -> Regressor:
        made: Regressor = self._regressions.LogisticRegression(max_iter=_STEPS)
        return made
