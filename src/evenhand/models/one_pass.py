"""One step of online mirror descent per round: a generalised linear model that keeps no observations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.core.catalogue import named
from evenhand.core.errors import InvalidInput
from evenhand.core.kernel import kernel
from evenhand.core.types import Bools, Floats
from evenhand.core.validate import number, positive
from evenhand.models._shared import check_sizes
from evenhand.models.base import ROUND, Lesson, Worth
from evenhand.models.links import Canonical, Linked, check_link, check_range, linear_unit, mean_within, spread
from evenhand.models.oracles import project
from evenhand.models.widths import Width
from evenhand.numerics.likelihood import add_losses
from evenhand.numerics.newton import cholesky, invert, solve
from evenhand.numerics.precision import blank, dot, fresh, quadratic

_STEEPEST = {"identity": 1.0, "logistic": 0.25, "exponential": math.inf}  # the largest slope of each link


@dataclass
class OnePassState:
    """The present iterate and its metric."""

    theta: Floats  # (R, n)
    metric: Floats  # (R, n, n) whose lower half is that of Q
    inverse: Floats  # (R, n, n) of Q
    log_det: Floats  # (R,) of Q / ridge
    count: Floats  # (R,) observations
    low: Floats  # (1,)
    high: Floats  # (1,)


@kernel
def _value(
    link: int,
    theta: Floats,
    inverse: Floats,
    radius: Floats,
    size: float,
    low: Floats,
    high: Floats,
    x: Floats,
    w: Floats,
) -> tuple[Floats, Floats]:
    mean = np.zeros((len(x), w.shape[1], x.shape[1]))
    bonus = np.zeros((len(x), w.shape[1], x.shape[1]))
    each, product = w.shape[2] > 1, np.empty(x.shape[2])
    for r in range(len(x)):
        for a in range(x.shape[1]):
            if blank(x[r, a]):
                continue
            own, u = a if each else 0, dot(x[r, a], theta[r])
            half = size * radius[r] * math.sqrt(quadratic(x[r, a], inverse[r], product)) if radius[r] > 0.0 else 0.0
            center = mean_within(link, u, low[0], high[0])
            for k in range(w.shape[1]):
                price = w[r, k, own, 0]
                mean[r, k, a] = price * center
                if half > 0.0 and price != 0.0:
                    end = mean_within(link, u + half if price > 0.0 else u - half, low[0], high[0])
                    bonus[r, k, a] = price * (end - center)
    return mean, bonus


@kernel
def _update(
    link: int,
    step: float,
    norm: float,
    ridge: float,
    theta: Floats,
    metric: Floats,
    inverse: Floats,
    log_det: Floats,
    count: Floats,
    x: Floats,
    y: Floats,
    seen: Bools,
) -> None:
    n = x.shape[2]
    past_x, past_y, nonzero = np.empty(x.shape[1:]), np.empty(x.shape[1]), np.empty(n, np.int64)
    gradient, far = np.empty(n), np.empty(n)
    for r in range(len(x)):
        size = 0
        for p in range(x.shape[1]):
            if seen[r, p, 0]:
                past_x[size] = x[r, p]
                past_y[size] = y[r, p, 0]
                size += 1
        if size == 0:
            continue
        now = past_x[:size], past_y[:size], past_y[:0]
        gradient[:] = 0.0
        surrogate = metric[r] / step
        add_losses(link, now, theta[r], 0.0, gradient, surrogate, nonzero)
        solve(surrogate, gradient, far)
        theta[r] -= far
        project(theta[r : r + 1], norm, False)
        add_losses(link, now, theta[r], 0.0, gradient, metric[r], nonzero)
        count[r] += size
        root = metric[r].copy()
        cholesky(root)
        invert(root, inverse[r])
        log_det[r] = 0.0
        for i in range(n):
            log_det[r] += 2.0 * math.log(root[i, i]) - math.log(ridge)


@named("A4", source="Zhang et al. 2025, as in Shibukawa et al. 2026, Appendix E (Algorithm 4) and F.2")
@dataclass(frozen=True, kw_only=True)
class OnePass(Linked):
    """A generalised linear model that takes one step of online mirror descent per round; cost and memory are constant.

    Equation: with g and H the gradient and Hessian of a round's likelihood at theta, the plays of the round taken as
    one batch, theta <- P(theta - (H + Q / step)^-1 g), P the Euclidean projection to |theta| <= D; then Q grows by
    the Hessian at the new theta. It starts at 0, Q at ridge I. Optimism is inside the link:
    bonus = mu(u + beta ||x||_{Q^-1}) - mu(u), u = x.theta, and with the other sign where a price is negative. By
    default beta^2 = 4 ridge D^2 + 2 step ln(1/delta) + n (6 step^2 + step) ln(1 + L N / ridge), N the observations
    so far and L the largest slope of mu: 1/4 for the logistic link, 1 for the identity.

    Under the identity link theta, the ball, beta and draws are in units of the outcome's range.

    The paper minimises over the ball in the metric of the step, and projects in its experiments, as here. Its guarantee
    asks for step = 1 + R D (R = 1 for logistic and exponential links) and a far larger ridge than the 5 of its
    experiments. Outcomes that arrive late take a step of their own.

    Args:
        link: logistic, exponential or identity; the last two as in `GeneralizedLinear`.
        ridge: where Q starts, above 0; the paper's lambda_op.
        step: eta, above 0.
        norm_bound: D, of the ball for theta, and in beta; `None` is sqrt(n).
        delta: the risk that the set misses the truth, in (0, 1); it is read by the default beta alone.
        width: another beta, in units of u; `Fixed(0)` means no optimism. The exponential link needs one, because its
            slope has no bound.

    Raises:
        InvalidInput: n_features below 1, an unknown link, a number out of its range, or no width for the exponential
            link; at the start, a range that the link cannot have.

    >>> model = OnePass(n_features=1, ridge=0.75)
    >>> state = model.start(1, np.zeros(1), np.ones(1), 100)
    >>> one, price, luck = np.ones((1, 1, 1)), np.ones((1, 1, 1, 1)), np.zeros((1, 0))
    >>> model.update(state, one, one, one > 0, price)
    >>> state.theta.item()  # the gradient is -1/2, the Hessian 1/4
    0.5
    """

    n_features: int
    link: Canonical = "logistic"
    ridge: float = 5.0
    step: float = 1.0
    norm_bound: float | None = None
    delta: float = 0.05
    width: Width | None = None

    def __post_init__(self) -> None:
        check_sizes("OnePass", self.n_features, 1, self.ridge)
        check_link("OnePass", self.link)
        positive("OnePass.step", self.step)
        number("OnePass.delta", self.delta, "a risk in (0, 1)", lambda x: 0 < x < 1)
        if self.norm_bound is not None:
            expected = "a finite number above 0, or None"
            number("OnePass.norm_bound", self.norm_bound, expected, lambda x: 0 < x < math.inf)
        if self.width is None and self.link == "exponential":
            raise InvalidInput("OnePass.width", "a width, because the slope of the exponential link has no bound", None)

    def start(self, n_replicas: int, low: Floats, high: Floats, horizon: int) -> OnePassState:
        check_range("OnePass", self.link, low, high)
        return OnePassState(
            theta=np.zeros((n_replicas, self.n_features)),
            metric=np.tile(self.ridge * np.eye(self.n_features), (n_replicas, 1, 1)),
            inverse=fresh(n_replicas, self.n_features, self.ridge),
            log_det=np.zeros(n_replicas),
            count=np.zeros(n_replicas),
            low=low,
            high=high,
        )

    def value(self, state: OnePassState, x: Floats, w: Floats, u: Floats) -> Worth:
        s, radius = state, self.radius(state)
        return Worth(*_value(self._link, s.theta, s.inverse, radius, self._size(s), s.low, s.high, x, w))

    def radius(self, state: OnePassState) -> Floats:
        """Compute beta, `->()`."""
        if self.width is not None:
            return self.width.radius(state.count, state.log_det, self.ridge)
        n, eta = self.n_features, self.step
        grown = np.log1p(_STEEPEST[self.link] * state.count / self.ridge)
        start = 4.0 * self.ridge * self._norm**2 + 2.0 * eta * math.log(1.0 / self.delta)
        return np.sqrt(start + n * (6.0 * eta**2 + eta) * grown)

    def update(self, state: OnePassState, x: Floats, y: Floats, seen: Bools, w: Floats, lesson: Lesson = ROUND) -> None:
        """Take a step for plays whose outcome was seen, `(P,n),(P,1),(P,1),(K,1|P,1)`; O(n^3 + P n^2)."""
        s, settings = state, (float(self.step), self._size(state) * self._norm, float(self.ridge))
        _update(self._link, *settings, s.theta, s.metric, s.inverse, s.log_det, s.count, x, y, seen)

    def deviations(self, state: OnePassState, z: Floats) -> Floats:
        """Compute deviations of parameters drawn from N(theta, unit^2 Q^-1), `(U,n)->(U,n)`; O(n^3)."""
        return spread(state.inverse, self._size(state) * z)

    def inside(self, state: OnePassState, z: Floats) -> Floats:
        """Compute deviations by unit root(Q^-1) z, as Q is the matrix of the widths as well, `(U,n)->(U,n)`."""
        return self.deviations(state, z)

    def _size(self, state: OnePassState) -> float:
        """Return the unit of u: that of the outcome under the identity link."""
        return linear_unit(self.link, state.low, state.high)

    @cached_property
    def _norm(self) -> float:
        return math.sqrt(self.n_features) if self.norm_bound is None else float(self.norm_bound)
