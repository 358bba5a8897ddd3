"""Generalised linear models by penalised maximum likelihood, at a cost and a memory that do not grow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.kernel import kernel
from evenhand.core.records import Decision
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import number
from evenhand.core.views import view_of
from evenhand.models._shared import ends, optimism, unit
from evenhand.models.base import ROUND, Gain, Lesson, Worth, flat
from evenhand.models.links import (
    Canonical,
    Linked,
    check_fit,
    check_link,
    check_range,
    linear_unit,
    mean_within,
    spread,
    turn,
)
from evenhand.models.observations import Arrays, Past, fold_older, lacks_room, no_past
from evenhand.models.widths import Fixed, Width
from evenhand.numerics.newton import fit
from evenhand.numerics.precision import absorb, blank, dot, fresh, quadratic


@dataclass
class GeneralizedLinearState:
    """The estimate, its precision, and the observations that are kept."""

    inverse: Floats  # (R, n, n) of V
    theta: Floats  # (R, n)
    log_det: Floats  # (R,) of V over its start
    count: Floats  # (R,) observations
    fitted: Floats  # (R,) observations at the last fit
    root: Floats  # (R, n, n) whose lower half is the Cholesky factor of the Hessian of the last fit
    past: Past
    low: Floats  # (1,)
    high: Floats  # (1,)


@kernel
def _predict(s: Any, x: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Mean worth and optimism at prices, `(A,n),(K,1|A,1)->(K,A),(K,A)`."""
    link, clipped, theta, inverse, radius, low, high = s
    mean = np.zeros((len(x), w.shape[1], x.shape[1]))
    bonus = np.zeros((len(x), w.shape[1], x.shape[1]))
    each, product = w.shape[2] > 1, np.empty(x.shape[2])
    least, most = ends(clipped, low[0], high[0])
    for r in range(len(x)):
        for a in range(x.shape[1]):
            if blank(x[r, a]):
                continue
            own = a if each else 0
            half = radius[r] * math.sqrt(quadratic(x[r, a], inverse[r], product)) if radius[r] > 0.0 else 0.0
            center = mean_within(link, dot(x[r, a], theta[r]), low[0], high[0])
            for k in range(w.shape[1]):
                mean[r, k, a] = w[r, k, own, 0] * center
                bonus[r, k, a] = optimism(center, half * unit(low[0], high[0]), least, most, w[r, k, own, 0])
    return mean, bonus


@kernel
def _value(
    link: int,
    clipped: bool,
    theta: Floats,
    inverse: Floats,
    radius: Floats,
    low: Floats,
    high: Floats,
    x: Floats,
    w: Floats,
) -> tuple[Floats, Floats]:
    """Mean worth and optimism at prices, `(A,n),(K,1|A,1)->(K,A),(K,A)`."""
    return _predict((link, clipped, theta, inverse, radius, low, high), x, w)


@kernel
def _absorb(s: Any, x: Floats, y: Floats, seen: Bools, rule: tuple[float, float, float, int]) -> None:
    """Absorb plays, and fit again where the data grew enough."""
    link, theta, inverse, log_det, count, fitted, root, past = s
    gain = np.empty(x.shape[2])
    past_x, past_y, kept, weight, anchor, slope, curve = past
    ridge, growth, tolerance, room = rule
    for r in range(len(x)):
        older = anchor[r], slope[r], curve[r]
        for p in range(x.shape[1]):
            if not seen[r, p, 0]:
                continue
            if kept[r] >= room:  # what is folded is folded at an estimate that knows it
                s = int(kept[r])
                fit(link, (past_x[r, :s], past_y[r, :s], weight[r, :s]), older, theta[r], root[r], ridge, tolerance)
                fitted[r] = count[r]
                fold_older(past, r, link, theta[r])
            log_det[r] += math.log1p(absorb(inverse[r], x[r, p], gain))
            s = int(kept[r])
            for i in range(x.shape[2]):
                past_x[r, s, i] = x[r, p, i]
            past_y[r, s] = y[r, p, 0]
            kept[r] += 1.0
            count[r] += 1.0
        if count[r] > fitted[r] and count[r] >= growth * fitted[r]:
            s = int(kept[r])
            fit(link, (past_x[r, :s], past_y[r, :s], weight[r, :s]), older, theta[r], root[r], ridge, tolerance)
            fitted[r] = count[r]


@kernel
def _update(
    link: int,
    theta: Floats,
    inverse: Floats,
    log_det: Floats,
    count: Floats,
    fitted: Floats,
    root: Floats,
    past: Arrays,
    x: Floats,
    y: Floats,
    seen: Bools,
    rule: tuple[float, float, float, int],
) -> None:
    """Absorb plays, and fit again where the data grew enough."""
    _absorb((link, theta, inverse, log_det, count, fitted, root, past), x, y, seen, rule)


class FittedView(NamedTuple):
    """The kernels' view of a model that is fitted again."""

    link: int
    clipped: bool
    theta: Floats
    inverse: Floats
    log_det: Floats
    observations: Floats
    fitted: Floats
    root: Floats
    past: Arrays
    low: Floats
    high: Floats
    width: Any
    rule: tuple[float, float, float, int]

    @kernel
    def value(self, x: Floats, w: Floats) -> tuple[Floats, Floats]:
        radius = self.width.radius(self.observations, self.log_det)
        return _predict((self.link, self.clipped, self.theta, self.inverse, radius, self.low, self.high), x, w)

    @kernel
    def update(self, x: Floats, y: Floats, seen: Bools, w: Floats) -> None:
        books = self.theta, self.inverse, self.log_det, self.observations, self.fitted, self.root
        _absorb((self.link, *books, self.past), x, y, seen, self.rule)

    @kernel
    def grows(self, d: Decision) -> bool:
        return lacks_room(self.past, d.plays.shape[1], self.rule[3])


def fitted_view(model: Fitted, state: GeneralizedLinearState) -> FittedView | None:
    """Return the view of a model that is fitted again, None if its width has none."""
    s, width = state, view_of(model.width, model._start)
    if width is None:
        return None
    books = s.theta, s.inverse, s.log_det, s.count, s.fitted, s.root
    return FittedView(model._link, model.clipped, *books, s.past.arrays, s.low, s.high, width, model._rule)


class Fitted(Linked, Protocol):
    """A model that is fitted again each time the data have grown by a given factor, with widths and a posterior."""

    ridge: float
    width: Width
    growth: float
    tolerance: float
    buffer: int
    clipped: bool

    @property
    def _start(self) -> float:
        """The factor of the identity matrix with which V of the widths starts."""
        return self.ridge

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> GeneralizedLinearState:
        check_range(type(self).__name__, self.link, low, high)
        return GeneralizedLinearState(
            inverse=fresh(n_replicas, self.n_features, self._start),
            theta=np.zeros((n_replicas, self.n_features)),
            log_det=np.zeros(n_replicas),
            count=np.zeros(n_replicas),
            fitted=np.zeros(n_replicas),
            root=np.tile(math.sqrt(self.ridge) * np.eye(self.n_features), (n_replicas, 1, 1)),
            past=no_past(n_replicas, self.n_features, self.buffer),
            low=low,
            high=high,
        )

    def value(self, state: GeneralizedLinearState, x: Floats, w: Floats, u: Floats) -> Worth:
        s, radius = state, self.width.radius(state.count, state.log_det, self._start)
        return Worth(*_value(self._link, self.clipped, s.theta, s.inverse, radius, s.low, s.high, x, w))

    def update(
        self, state: GeneralizedLinearState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND
    ) -> None:
        """Append plays whose outcome was seen; refit if the data grew enough, `(P,n),(P,1),(P,1),(K,1|P,1)`."""
        s = state
        s.past.make_room(x.shape[1], self.buffer)
        books = s.theta, s.inverse, s.log_det, s.count, s.fitted, s.root
        _update(self._link, *books, s.past.arrays, x, y, seen, self._rule)

    def gains(self, state: GeneralizedLinearState, x: Floats) -> Iterator[Gain]:
        yield Gain(state, x, flat)

    def deviations(self, state: GeneralizedLinearState, z: Floats) -> Floats:
        """Compute deviations of draws from N(theta, unit^2 H^-1), `(U,n)->(U,n)`; unit is 1 unless links are linear.

        H = ridge I + sum mu' x x^T, is the Hessian of the objective at the last Newton step of the last fit, over the
        observations of that fit (Laplace's approximation: Chapelle & Li 2011); what was folded counts as it was folded.
        The V of the widths lacks the factor mu', at most 1/4 for the logistic link: once data outweigh the ridge, its
        draws would be at most about half as wide.
        """
        return turn(state.root, linear_unit(self.link, state.low, state.high) * z)

    def inside(self, state: GeneralizedLinearState, z: Floats) -> Floats:
        """Compute deviations of parameters by unit root(V^-1) z, `(U,n)->(U,n)`; O(n^3)."""
        return spread(state.inverse, linear_unit(self.link, state.low, state.high) * z)

    @property
    def _rule(self) -> tuple[float, float, float, int]:
        """The settings of fits."""
        return float(self.ridge), float(self.growth), float(self.tolerance), self.buffer


@named("A8", source="Li, Lu & Zhou 2017 and Filippi et al. 2010, as in Shibukawa et al. 2026, Section 4.1")
@dataclass(frozen=True, kw_only=True)
class GeneralizedLinear(Fitted):
    """A generalised linear model of one outcome, refitted each time the data have grown by a given factor.

    Equation: theta minimises sum [m(u) - y u] + ridge/2 |theta|^2, u = x.theta, m' = mu the link's mean; interval
    mu(u) +- unit radius ||x||_{V^-1}, V = width_ridge I + sum x x^T; unit is the length of the outcome's range, or 1 if
    that is infinite. Links: logistic for an outcome in [0, 1], exponential for counts (Poisson), identity (normal).

    The latest observations are kept. Whenever there are `buffer` of them, the model is fitted, and the older half is
    replaced by the second-order expansion of its likelihood at that estimate. Fits are exact until then; afterwards
    the time and the memory of a fit stay the same.

    The paper's theory asks for sub-Gaussian noise, so it does not cover the exponential link with Poisson counts; means
    of that link are kept within the declared range, because it extrapolates steeply. Means of the identity link may be
    negative, where an allocation by concave utilities needs means of at least 0.

    Args:
        link: logistic, exponential or identity.
        ridge: the penalty, above 0.
        width: the radius, in units of the outcome's range; `Fixed(0)` (the default) means no optimism.
        growth: refit when there are at least this many times as many observations; 1 refits every time.
        tolerance: squared Newton decrement below which a fit takes its last step.
        buffer: the most observations that are kept, at least 2.
        clipped: whether intervals end at the outcome's range; if not, the bonus is the radius times ||x||_{V^-1}.
        width_ridge: V starts at this times I; `None` is the ridge. The paper's V starts at lambda_0 I, and its ridge is
            kappa lambda_0, kappa the least slope of the link.

    Raises:
        InvalidInput: n_features below 1, an unknown link, a ridge or tolerance that is not positive, a growth below 1,
            or a buffer below 2; at the start, a range that the link cannot have.

    >>> model = GeneralizedLinear(n_features=1, link="exponential", ridge=0.1)
    >>> state = model.start(1, np.zeros(1), np.full(1, np.inf), 100)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> for count in (3.0, 4.0, 5.0):
    ...     model.update(state, one, np.full((1, 1, 1), count), one > 0, price)
    >>> round(model.value(state, one, price, luck).mean.item(), 2)  # the average, drawn to exp(0) = 1 by the ridge
    3.95
    """

    n_features: int
    link: Canonical
    ridge: float = 1.0
    width: Width = field(default_factory=Fixed)
    growth: float = 1.1
    tolerance: float = 1e-4
    buffer: int = 2000
    clipped: bool = True
    width_ridge: float | None = None

    def __post_init__(self) -> None:
        check_fit("GeneralizedLinear", self.n_features, self.ridge, self.growth, self.tolerance, self.buffer)
        check_link("GeneralizedLinear", self.link)
        if self.width_ridge is not None:
            expected = "a finite number above 0, or None"
            number("GeneralizedLinear.width_ridge", self.width_ridge, expected, lambda x: 0 < x < math.inf)

    def view(self, state: GeneralizedLinearState) -> FittedView | None:
        return fitted_view(self, state)

    @cached_property
    def _start(self) -> float:
        return self.ridge if self.width_ridge is None else self.width_ridge


@named("K6", source="Li & Stoltz 2022 and Faury et al. 2020 (Logistic-UCB1), as in Chzhen et al. 2023, Appendix G.1")
@dataclass(frozen=True, kw_only=True)
class Logistic(Fitted):
    """Logistic regression of one outcome in [0, 1], refitted each time the history has grown by a given factor.

    Equation: theta minimises sum [log(1 + exp(u)) - y u] + ridge/2 |theta|^2, u = x.theta; interval
    sigmoid(u) +- unit radius ||x||_{V^-1}, V = ridge I + sum x x^T, clipped to the outcome's range; unit is its length.
    Deviations: the paper prints sigmoid as 1/(1 + e^u) and omits a logarithm in the likelihood (typos). It uses
    ridge 0, for which the estimate need not exist; use a tiny ridge instead. It refits every round, as `growth=1` does,
    and to all observations, as this model does until there are more than `buffer` of them: see `GeneralizedLinear`, of
    which this is the logistic case.

    Args:
        ridge, width, growth, tolerance, buffer, clipped: as for `GeneralizedLinear`.

    >>> import numpy as np
    >>> model = Logistic(n_features=1)
    >>> state = model.start(1, np.zeros(1), np.ones(1), 100)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> model.update(state, one, one, one > 0, price)
    >>> round(model.value(state, one, price, luck).mean.item(), 4)  # solves 1 - sigmoid(theta) = theta
    0.5989
    """

    n_features: int
    ridge: float = 1.0
    width: Width = field(default_factory=Fixed)
    growth: float = 1.1
    tolerance: float = 1e-4
    buffer: int = 2000
    clipped: bool = True
    link: Canonical = field(default="logistic", init=False, repr=False)

    def __post_init__(self) -> None:
        check_fit("Logistic", self.n_features, self.ridge, self.growth, self.tolerance, self.buffer)

    def view(self, state: GeneralizedLinearState) -> FittedView | None:
        return fitted_view(self, state)
