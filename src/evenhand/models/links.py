"""Known links of generalised linear models: mean = link(x . theta)."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Floats
from evenhand.core.validate import number, whole
from evenhand.models._shared import check_binary, check_sizes, unit
from evenhand.models.base import WithoutLuck
from evenhand.numerics.likelihood import EXPONENTIAL
from evenhand.numerics.newton import cholesky, sigmoid
from evenhand.numerics.precision import blank, dot

Link = Literal["identity", "logistic", "probit", "exponential"]
LINKS: tuple[Link, ...] = ("identity", "logistic", "probit", "exponential")
Canonical = Literal["identity", "logistic", "exponential"]
CANONICAL: tuple[Canonical, ...] = ("identity", "logistic", "exponential")


def code(link: Link) -> int:
    """Return the number that stands for a link in kernels.

    Raises:
        InvalidInput: an unknown link.

    >>> code("logistic")
    1
    """
    if link not in LINKS:
        raise InvalidInput("link", f"one of {LINKS}", link)
    return LINKS.index(link)


@kernel
def mean_of(link: int, u: float) -> float:
    """The mean at linear predictor u."""
    if link == 1:
        return sigmoid(u)
    if link == 2:
        return 0.5 * math.erfc(-u / math.sqrt(2.0))
    if link == 3:
        return math.exp(min(u, 30.0))
    return u


@kernel
def mean_within(link: int, u: float, low: float, high: float) -> float:
    """The mean at linear predictor u; that of the exponential link, which extrapolates steeply, within [low, high]."""
    center = mean_of(link, u)
    return min(max(center, low), high) if link == EXPONENTIAL else center


@inlined
def predict(link: int, theta: Floats, x: Floats, out: Floats) -> None:
    """Means of every outcome for one candidate, `(M,n),(n)->(M)`; zeros of x are skipped, and no features mean 0."""
    out[:] = 0.0
    for i in range(len(x)):
        if x[i] != 0.0:
            for m in range(len(out)):
                out[m] += theta[m, i] * x[i]
    if link != 0 and not blank(x):
        for m in range(len(out)):
            out[m] = mean_of(link, out[m])


@kernel
def mean_worth(link: int, theta: Floats, x: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Mean worth at prices w, and no optimism, `(M,n),(A,n),(K,1|A,M)->(K,A),(K,A)`."""
    mean = np.zeros((len(x), w.shape[1], x.shape[1]))
    y = np.empty(theta.shape[1])
    each = w.shape[2] > 1
    for r in range(len(x)):
        for a in range(x.shape[1]):
            own = a if each else 0
            predict(link, theta[r], x[r, a], y)
            for k in range(w.shape[1]):
                for m in range(len(y)):
                    mean[r, k, a] += w[r, k, own, m] * y[m]
    return mean, np.zeros(mean.shape)


@kernel
def turn(root: Floats, z: Floats) -> Floats:
    """L^-T z, whose covariance is (L L^T)^-1 if that of z is I, `(n,n),(U,n)->(U,n)`; L is the lower half of root."""
    n, out = z.shape[2], np.empty(z.shape)
    for r in range(len(z)):
        for k in range(z.shape[1]):
            for i in range(n - 1, -1, -1):
                out[r, k, i] = z[r, k, i]
                for j in range(i + 1, n):
                    out[r, k, i] -= root[r, j, i] * out[r, k, j]
                out[r, k, i] /= root[r, i, i]
    return out


@kernel
def spread(inverse: Floats, z: Floats) -> Floats:
    """C z, where C C^T is the inverse, `(n,n),(U,n)->(U,n)`: the ball |z| <= 1 becomes the ellipsoid of V."""
    n, out = z.shape[2], np.zeros(z.shape)
    for r in range(len(z)):
        root = inverse[r].copy()
        cholesky(root)
        for k in range(z.shape[1]):
            for i in range(n):
                for j in range(i + 1):
                    out[r, k, i] += root[i, j] * z[r, k, j]
    return out


@kernel
def worth_at(link: int, theta: Floats, d: Floats, low: Floats, high: Floats, x: Floats, w: Floats) -> Floats:
    """Worth under theta + d, one d per block of candidates, `(),(n),(U,n),(1),(1),(A,n),(K,1|A,1)->(K,A)`."""
    worth, there = np.zeros((len(x), w.shape[1], x.shape[1])), np.empty(x.shape[2])
    each, size = w.shape[2] > 1, x.shape[1] // d.shape[1]
    for r in range(len(x)):
        for a in range(x.shape[1]):
            if a % size == 0:
                for i in range(len(there)):
                    there[i] = theta[r, i] + d[r, a // size, i]
            if blank(x[r, a]):
                continue
            center = mean_within(link, dot(x[r, a], there), low[0], high[0])
            own = a if each else 0
            for k in range(w.shape[1]):
                worth[r, k, a] = w[r, k, own, 0] * center
    return worth


class Linked(WithoutLuck, Protocol):
    """A model of one outcome with mean mu(x.theta); several outcomes take several of them (`Stacked`)."""

    n_features: int
    link: Canonical

    @property
    def n_outcomes(self) -> int:
        return 1

    @property
    def n_parameters(self) -> int:
        return self.n_features

    def deviations(self, state: Any, z: Floats) -> Floats: ...

    def at(self, state: Any, x: Floats, w: Floats, d: Floats) -> Floats:
        return worth_at(self._link, state.theta, d, state.low, state.high, x, w)

    def sample(self, state: Any, x: Floats, w: Floats, z: Floats) -> Floats:
        return self.at(state, x, w, self.deviations(state, z))

    @cached_property
    def _link(self) -> int:
        return code(self.link)


def linear_unit(link: str, low: Floats, high: Floats) -> float:
    """Return the unit of x.theta: the length of the outcome's range under the identity link, else 1, `(1),(1)->`."""
    return float(unit(low[0], high[0])) if link == "identity" else 1.0


def check_fit(name: str, n_features: int, ridge: float, growth: float, tolerance: float, buffer: int) -> None:
    """Refuse settings of a fit that are out of their range."""
    check_sizes(name, n_features, 1, ridge)
    number(f"{name}.growth", growth, "a factor of at least 1", lambda x: 1 <= x < math.inf)
    number(f"{name}.tolerance", tolerance, "a number in (0, 1)", lambda x: 0 < x < 1)
    whole(f"{name}.buffer", buffer, 2)


def check_link(name: str, link: str) -> None:
    """Refuse a link that is not canonical, for which the likelihood need not be concave."""
    if link not in CANONICAL:
        raise InvalidInput(f"{name}.link", f"one of {CANONICAL}", link)


def check_range(name: str, link: str, low: Floats, high: Floats) -> None:
    """Refuse an outcome whose range the link's means cannot have, `(1),(1)`."""
    if link == "logistic":
        check_binary(name, low, high)
    if link == "exponential" and low[0] < 0.0:
        raise InvalidInput(name, "an outcome of at least 0, for the exponential link", (float(low[0]), float(high[0])))


@kernel
def logistic_curvature(theta: Floats, z: Floats) -> Floats:
    """Compute p (1 - p) of some cases, of the logistic link, `(A,n),(A,n)->(A)`."""
    found = np.empty(len(z))
    for row in range(len(z)):
        center = sigmoid(dot(z[row], theta[row]))
        found[row] = center * (1.0 - center)
    return found
