"""Any scikit-learn regressor or classifier as a model."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.extras import data_frame, scikit_learn
from evenhand.core.signatures import accept, value_text
from evenhand.core.types import Bools, Floats, Ints
from evenhand.core.validate import number
from evenhand.models._shared import check_sizes
from evenhand.models.base import ROUND, Lesson, Model, WithoutLuck, Worth
from evenhand.problem.features import Categorical, Feature, decode

FAR = 10.0  # in widths of the declared range: predictions further outside are refused, others clipped
_BITS = 2.0**40  # of outcomes in units of their ranges: the others depend on the unit in which they were stated


class _Fit(NamedTuple):
    """Estimators of one replica, or constants while a classifier has seen one class, and their observations."""

    seen: int
    predictors: list[Any]


@dataclass
class SklearnState:
    """The buffers, which determine the fits; fits are cached and never saved."""

    x: Floats  # (R, room, n) the observations of the last fit, then those since
    y: Floats  # (R, room, M)
    count: Ints  # (R,) observations
    fitted: Ints  # (R,) observations at the last fit
    low: Floats  # (M,)
    high: Floats  # (M,)

    def __post_init__(self) -> None:
        self.fits: list[_Fit | None] = [None] * len(self.count)
        self.unsaveable = ""


@named("S3", source="any regression oracle, as Han et al. 2022 allow; buffer and schedule are evenhand's own")
@dataclass(frozen=True, kw_only=True)
class Sklearn(WithoutLuck):
    """Predict with any scikit-learn regressor, or a classifier's P(y = 1), cloned for every replica.

    "refit" fits a fresh clone to the latest `buffer` observations each time the number of observations has grown by the
    factor `growth`, and at the latest when the whole buffer is new. "partial_fit" passes every observation on once, on
    arrival; its states cannot be saved. Estimators see outcomes in units of their ranges, to 12 digits, so that
    a tree finds the same splits in any units, and features as they are: put a `StandardScaler` before an estimator
    that depends on theirs. Predictions are clipped to the declared range; those more than 10 ranges outside it are
    refused. Before the first fit the prediction is 0, clipped to the declared range. While a refitted
    classifier has seen only one value, it predicts that value. A `random_state` of None is set to 0 in all replicas,
    because models have no luck of their own; replicas differ by their data.

    Args:
        estimator: with `fit` (or `partial_fit`) and `predict`, or `predict_proba` for a classifier.
        n_features: n; 0 for as many as contexts have.
        mode: "refit" or "partial_fit".
        growth: the factor between the numbers of observations at two fits, at least 1; 1 refits after every one.
        buffer: how many observations are kept for fits, at least 1.
        min_observations: how many observations the first fit waits for, at most `buffer`.
        per_outcome: whether each outcome has its own estimator; otherwise one estimator predicts all of them.
        features: those of a problem, for an estimator that selects columns by name, such as a `ColumnTransformer`: in
            `PerAction`, it gets a data frame of the values of cases: numbers within their ranges and to 12 digits, and
            texts as categories.

    Raises:
        InvalidInput: sizes out of range or an estimator without the methods; later, from `value`, predictions that are
            no numbers, of the wrong shape or far outside the range, with the estimator's name and its observations.
        MissingExtra: scikit-learn is not installed; or pandas, where features are stated.

    >>> from sklearn.linear_model import LinearRegression
    >>> model = Sklearn(estimator=LinearRegression(), n_features=1, min_observations=2)
    >>> state = model.start(1, np.zeros(1), np.ones(1), 100)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> for x in (0.0, 1.0):
    ...     model.update(state, x * one, x / 2 * one, one > 0, price)
    >>> round(model.value(state, 0.5 * one, price, luck).mean.item(), 6)
    0.25
    """

    estimator: Any
    n_features: int = 0
    n_outcomes: int = 1
    mode: Literal["refit", "partial_fit"] = "refit"
    growth: float = 1.5
    buffer: int = 2000
    min_observations: int = 10
    per_outcome: bool = True
    features: tuple[Feature, ...] = field(default=(), metadata={"new": True})

    def __post_init__(self) -> None:
        check_sizes("Sklearn", 1 if self.n_features == 0 else self.n_features, self.n_outcomes)
        if self.mode not in ("refit", "partial_fit"):
            raise InvalidInput("Sklearn.mode", "'refit' or 'partial_fit'", self.mode)
        number("Sklearn.growth", self.growth, "a factor of at least 1", lambda x: 1 <= x < math.inf)
        if not 1 <= self.min_observations <= self.buffer:
            got = (self.min_observations, self.buffer)
            raise InvalidInput("Sklearn.min_observations, buffer", "1 <= min_observations <= buffer", got)
        object.__setattr__(self, "features", tuple(self.features))
        width = 1 + sum(len(feature.units) for feature in self.features)
        if self.features and self.n_features not in (0, width):
            raise InvalidInput("Sklearn.n_features", f"{width}, as features= has numbers", self.n_features)
        tagged = hasattr(self.estimator, "__sklearn_tags__") and not isinstance(self.estimator, type)  # as CatBoost's
        if not isinstance(self.estimator, _base().BaseEstimator) and not tagged:
            expected = "an instance of a scikit-learn estimator"
            raise InvalidInput("Sklearn.estimator", expected, value_text(self.estimator))
        if selects_by_name(self.estimator) and not self.features:
            expected = "one that reads arrays; features=problem.features hands over values by name"
            raise InvalidInput("Sklearn.estimator", expected, "one that selects columns by name")
        fit = "partial_fit" if self.mode == "partial_fit" else "fit"
        needed = (fit, "predict_proba" if self._classifies else "predict")
        if not all(hasattr(self.estimator, name) for name in needed):
            raise InvalidInput("Sklearn.estimator", f"one with {' and '.join(needed)}", self.estimator)
        if self.mode == "partial_fit" and self._classifies and len(self._targets) < self.n_outcomes:
            raise InvalidInput("Sklearn.per_outcome", "True for classifiers that learn by partial_fit", False)

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> SklearnState:
        """Return the state before any data, `(M),(M)->state`; classifiers need ranges within [0, 1]."""
        if self._classifies and (low.min() < 0.0 or high.max() > 1.0):
            raise InvalidInput(self._name, "outcomes with a range within [0, 1]", (low, high))
        room = min(256, 2 * self.buffer) if self.mode == "refit" else 0
        x, y = np.zeros((n_replicas, room, self.n_features)), np.zeros((n_replicas, room, self.n_outcomes))
        state = SklearnState(x, y, np.zeros(n_replicas, np.int64), np.zeros(n_replicas, np.int64), low, high)
        if self.mode == "partial_fit":
            state.unsaveable = f"{self._name} learns by partial_fit and cannot be saved: use mode='refit'"
        return state

    def value(self, state: SklearnState, x: Floats, w: Floats, u: Floats) -> Worth:
        """Compute the mean worth, and no optimism, `(A,n),(K,1|A,M),()->(K,A),(K,A)`; fits where a fit is due."""
        self._check_width(state, x)
        mean = np.stack([self._predict(state, r, x[r]) for r in range(len(x))])
        worth = (w * mean[:, None]).sum(3)
        return Worth(worth, np.zeros(worth.shape))

    def update(self, state: SklearnState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND) -> None:
        """Learn from plays whose outcomes are all seen, `(P,n),(P,M),(P,M),(K,1|P,M)`."""
        self._check_width(state, x)
        if state.x.shape[2] != x.shape[2]:  # the first observations say how many features there are
            state.x = np.zeros((*state.x.shape[:2], x.shape[2]))
        full = np.asarray(seen.all(2))
        if self._classifies and not np.isin(y[full], (0.0, 1.0)).all():
            raise InvalidInput(self._name, "outcomes of 0 or 1, as it is a classifier", y[full])
        for r in np.flatnonzero(full.any(1)).tolist():
            if self.mode == "partial_fit":
                self._pass_on(state, r, x[r, full[r]], y[r, full[r]])
            else:
                for xs, ys in zip(x[r, full[r]], y[r, full[r]], strict=True):
                    self._keep(state, r, xs, ys)

    def _keep(self, state: SklearnState, r: int, x: Floats, y: Floats) -> None:
        """Append an observation; if a fit is due, move its observations to the front."""
        fitted = int(state.fitted[r])
        end = min(fitted, self.buffer) + int(state.count[r]) - fitted
        if end == state.x.shape[1]:
            state.x = np.concatenate([state.x, np.zeros_like(state.x)], 1)[:, : 2 * self.buffer]
            state.y = np.concatenate([state.y, np.zeros_like(state.y)], 1)[:, : 2 * self.buffer]
        state.x[r, end], state.y[r, end] = x, y
        state.count[r] += 1
        count = int(state.count[r])
        if count >= self.min_observations and (count >= self.growth * fitted or count - fitted >= self.buffer):
            kept = min(count, self.buffer)
            for z in (state.x, state.y):
                z[r, :kept] = z[r, end + 1 - kept : end + 1].copy()
            state.fitted[r] = count

    def _check_width(self, state: SklearnState, x: Floats) -> None:
        """Refuse another number of features than observations had, or than stated features have."""
        width = 1 + sum(len(feature.units) for feature in self.features)
        if self.features and x.shape[2] != width:
            expected = f"{width}, as PerAction.of(problem, partial(Sklearn, ..., features=problem.features)) has"
            raise InvalidInput(f"{self._name}: features", expected, x.shape[2])
        if state.x.shape[2] != x.shape[2] and (self.n_features or state.count.any()):
            raise InvalidInput(f"{self._name}: features", f"{state.x.shape[2]} of them, as before", x.shape[2])

    def _columns(self, x: Floats) -> Any:
        """Return what estimators read of some rows: numbers as they are, or values of cases in a data frame."""
        if not self.features:
            return x
        levels = {f.name: f.levels for f in self.features if isinstance(f, Categorical)}
        return data_frame(decode(self.features, x), levels=levels)

    def _units(self, state: SklearnState) -> Floats:
        """Return the lengths of the ranges, 1 where infinite and for classifiers, `->(M)`."""
        size = state.high - state.low
        return np.where(np.isfinite(size) & (size > 0.0) & (not self._classifies), size, 1.0)

    def _pass_on(self, state: SklearnState, r: int, x: Floats, y: Floats) -> None:
        y = _round(y / self._units(state))
        fit = state.fits[r] or _Fit(0, [self._fresh() for _ in self._targets])
        for estimator, target in zip(fit.predictors, self._targets, strict=True):
            if self._classifies:
                estimator.partial_fit(self._columns(x), y[:, target], classes=[0.0, 1.0])
            else:
                estimator.partial_fit(self._columns(x), y[:, target])
        state.count[r] += len(x)
        state.fits[r] = _Fit(int(state.count[r]), fit.predictors)

    def _predict(self, state: SklearnState, r: int, x: Floats) -> Floats:
        """Outcomes of the candidates of one replica, `(A,n)->(A,M)`."""
        fit = state.fits[r] if self.mode == "partial_fit" else self._latest_fit(state, r)
        if fit is None:
            return np.tile(np.clip(0.0, state.low, state.high), (len(x), 1))
        parts = [p if isinstance(p, float) else self._ask(p, x) for p in fit.predictors]
        shape = (len(x), 1 if self.per_outcome else self.n_outcomes)
        place = f"{self._name} after {fit.seen} observations"
        for i, part in enumerate(parts):
            if isinstance(part, float):
                parts[i] = np.full(shape, part)
            elif part.shape == shape or (shape[1] == 1 and part.shape == shape[:1]):
                parts[i] = part.reshape(shape)
            else:
                raise InvalidInput(place, f"predictions of shape {shape}", part.shape)
        mean = np.concatenate(parts, 1) * self._units(state)
        far = FAR * (state.high - state.low)
        if not (np.isfinite(mean) & (mean >= state.low - far) & (mean <= state.high + far)).all():
            expected = f"finite predictions, at most {FAR:g} ranges outside {state.low} to {state.high}"
            raise InvalidInput(place, expected, mean)
        return np.clip(mean, state.low, state.high)

    def _latest_fit(self, state: SklearnState, r: int) -> _Fit | None:
        """Return the estimators of the last due fit, fitted now unless cached; a pure function of the buffer."""
        count = int(state.fitted[r])
        fit = state.fits[r]
        if count == 0 or (fit is not None and fit.seen == count):
            return fit if count else None
        used = min(count, self.buffer)
        x, y = state.x[r, :used], _round(state.y[r, :used] / self._units(state))
        predictors = list[Any]()
        for target in self._targets:
            z = y[:, target]
            alone = needs_two_values(self.estimator) and z.ndim == 1 and (z == z[0]).all()
            predictors.append(float(z[0]) if alone else self._fresh().fit(self._columns(x), z))
        state.fits[r] = _Fit(count, predictors)
        return state.fits[r]

    def _ask(self, estimator: Any, cases: Floats) -> Floats:
        x = self._columns(cases)
        if not self._classifies:
            return np.asarray(estimator.predict(x), float)
        chances, classes = estimator.predict_proba(x), estimator.classes_
        if not isinstance(chances, list):
            chances, classes = [chances], [classes]
        # The column of class 1; a multi-output classifier may not have seen it yet.
        columns = [np.asarray(p, float)[:, np.asarray(c) == 1.0].sum(1) for p, c in zip(chances, classes, strict=True)]
        return np.stack(columns, 1)

    def _fresh(self) -> Any:
        fresh = _base().clone(self.estimator)
        names = [n for n, v in fresh.get_params().items() if n.split("__")[-1] == "random_state" and v is None]
        return fresh.set_params(**dict.fromkeys(names, 0))

    @property
    def _targets(self) -> list[Any]:
        """The columns of y that each estimator predicts."""
        return list(range(self.n_outcomes)) if self.per_outcome or self.n_outcomes == 1 else [slice(None)]

    @property
    def _name(self) -> str:
        return f"Sklearn({type(self.estimator).__name__})"

    @cached_property
    def _classifies(self) -> bool:
        return bool(_base().is_classifier(self.estimator))


def _round(y: Floats) -> Floats:
    """Round numbers to 12 significant digits, by bits."""
    part, exponent = np.frexp(y)
    return np.asarray(np.ldexp(np.round(part * _BITS) / _BITS, exponent))


def as_model(model: Model, n_outcomes: int) -> Model:
    """Return a model unchanged, or a scikit-learn estimator as a model.

    >>> from sklearn.linear_model import LinearRegression
    >>> type(as_model(LinearRegression(), 1)).__name__
    'Sklearn'
    """
    return Sklearn(estimator=model, n_outcomes=n_outcomes) if is_estimator(model) else model


def is_estimator(value: object) -> bool:
    """Return whether a value is an estimator of scikit-learn, which need not be installed to say so."""
    return hasattr(value, "get_params") and hasattr(value, "fit") and not isinstance(value, type)


def needs_two_values(estimator: object) -> bool:
    """Return whether an estimator may refuse targets that are all equal, as classifiers and CatBoost do."""
    base = _base()
    return bool(base.is_classifier(estimator)) or not isinstance(estimator, base.BaseEstimator)


def selects_by_name(estimator: object) -> bool:
    """Return whether some part of an estimator selects columns of a data frame, by their names or their kinds.

    >>> from sklearn.compose import ColumnTransformer
    >>> selects_by_name(ColumnTransformer([("as they are", "passthrough", ["age"])]))
    True
    """
    compose: Any = sys.modules.get("sklearn.compose")  # without which no estimator has such a part
    if compose is None or not is_estimator(estimator):
        return False
    each = (estimator, *cast("Any", estimator).get_params().values())
    found = [c for z in each if isinstance(z, compose.ColumnTransformer) for *_, c in z.transformers]
    by_kind = any(isinstance(c, compose.make_column_selector) for c in found)
    return by_kind or any(isinstance(c, str) or (isinstance(c, list) and isinstance(c[0], str)) for c in found if c)


accept(Model, is_estimator)


def _base() -> Any:
    return scikit_learn("base", "scikit-learn models")
