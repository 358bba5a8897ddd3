"""Known links of generalised linear models: mean = link(x . theta)."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import inlined, kernel
from evenhand.core.types import Floats
from evenhand.numerics.likelihood import EXPONENTIAL
from evenhand.numerics.newton import sigmoid
from evenhand.numerics.precision import blank

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
def bounded(link: int, u: float, low: float, high: float) -> float:
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
def priced(link: int, theta: Floats, x: Floats, w: Floats) -> tuple[Floats, Floats]:
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
